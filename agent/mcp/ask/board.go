package ask

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"time"

	"fawn/agent/clusterstate"
)

// Board holds the open questions of all servers. It is safe for concurrent use.
type Board struct {
	exchange *clusterstate.Exchange
	log      *slog.Logger
}

// NewBoard returns a Board of notes.
func NewBoard(notes clusterstate.Notes, log *slog.Logger) *Board {
	return &Board{log: log, exchange: &clusterstate.Exchange{Notes: notes, Log: log, What: "an MCP server's question",
		Requests: "mcp/question/", Replies: "mcp/answer/", Most: maxQuestions, Many: ErrMany, None: ErrNoQuestion, Replied: ErrAnswered}}
}

// Now returns the time by the clock that questions count by.
func (b *Board) Now() time.Time { return b.exchange.Notes.Now() }

// note is a question as the servers share it.
type note struct {
	Question
	Asked time.Time `json:"asked"`
	Node  int64     `json:"node"` // the server with the call
}

// Open returns the questions of a thread that wait for an answer, the oldest first.
func (b *Board) Open(ctx context.Context, thread string) ([]*Question, error) {
	prefix, _ := b.exchange.Names(thread, "")
	list, err := b.exchange.Notes.Notes(ctx, prefix)
	if err != nil || len(list) == 0 {
		return []*Question{}, err
	}
	here, err := b.exchange.Notes.Servers(ctx)
	if err != nil {
		return nil, err
	}
	found := make([]note, 0, len(list))
	for _, n := range list {
		var q note
		if err := json.Unmarshal(n.Body, &q); err != nil {
			return nil, fmt.Errorf("read a question: %w", err)
		}
		if slices.Contains(here, q.Node) { // otherwise its call is gone
			found = append(found, q)
		}
	}
	slices.SortStableFunc(found, func(a, b note) int { return a.Asked.Compare(b.Asked) })
	out := make([]*Question, len(found))
	for i := range found {
		out[i] = &found[i].Question
		if err := out[i].read(); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// Answer answers a question, and the call continues. Content that doesn't fit leaves it open.
func (b *Board) Answer(ctx context.Context, thread, id string, r Reply) error {
	open, err := b.Open(ctx, thread)
	if err != nil {
		return err
	}
	i := slices.IndexFunc(open, func(q *Question) bool { return q.ID == id })
	if i < 0 {
		return b.exchange.Missing(ctx, thread, id)
	}
	q := open[i]
	if r, err = q.fit(r); err != nil {
		return err
	}
	body, err := json.Marshal(r)
	if err != nil || len(body) > maxContent {
		return fmt.Errorf("%w: it is too large", ErrContent)
	}
	return b.exchange.Reply(ctx, thread, id, body, q.Until)
}

// Ask waits until a question is answered, on any server. After a timeout, or when ctx ends, it is withdrawn and the
// reply is Cancel. It is stored before show is called.
func (b *Board) Ask(ctx context.Context, q *Question, show func()) (Reply, error) {
	body, err := json.Marshal(note{Question: *q, Asked: b.Now().UTC(), Node: b.exchange.Notes.Self()})
	if err != nil {
		return Reply{}, err
	}
	body, err = b.exchange.Ask(ctx, q.Thread, q.ID, body, q.Until, show)
	if errors.Is(err, clusterstate.ErrLate) || err != nil && ctx.Err() != nil {
		return Reply{Action: Cancel}, nil
	}
	if err != nil {
		return Reply{Action: Cancel}, err
	}
	var r Reply
	if err := json.Unmarshal(body, &r); err != nil {
		b.log.Error("couldn't read the answer to an MCP server's question", "thread", q.Thread, "err", err)
		return Reply{Action: Cancel}, nil
	}
	return r, nil
}
