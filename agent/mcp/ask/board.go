package ask

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"time"

	"fawn/agent/clusterstate"
)

const (
	lookEvery = time.Second      // polling interval for answers with a lost wake-up
	noteTime  = 5 * time.Second  // limit of storing a question or answer
	told      = 10 * time.Minute // how long repeated answers get the first result
)

// Board holds the open questions of all servers. It is safe for concurrent use.
type Board struct {
	notes clusterstate.Notes
	log   *slog.Logger

	mu   sync.Mutex
	open map[string]int // questions of calls of this server, by thread
}

// NewBoard returns a Board of notes.
func NewBoard(notes clusterstate.Notes, log *slog.Logger) *Board {
	return &Board{notes: notes, log: log, open: map[string]int{}}
}

// Now returns the time by the clock that questions count by.
func (b *Board) Now() time.Time { return b.notes.Now() }

// note is a question as the servers share it.
type note struct {
	Question
	Asked time.Time `json:"asked"`
	Node  int64     `json:"node"` // the server with the call
}

// questions returns the name prefix of a thread's questions. Clients choose thread ids freely.
func questions(thread string) string {
	sum := sha256.Sum256([]byte(thread))
	return "mcp/question/" + hex.EncodeToString(sum[:16]) + "/"
}

func (q *Question) note() string   { return questions(q.Thread) + q.ID }
func (q *Question) answer() string { return answers(q.Thread) + q.ID }

// answers returns the name prefix of answers. Consumed answers are null.
func answers(thread string) string {
	return strings.Replace(questions(thread), "question", "answer", 1)
}

// Open returns the questions of a thread that wait for an answer, the oldest first.
func (b *Board) Open(ctx context.Context, thread string) ([]*Question, error) {
	list, err := b.notes.Notes(ctx, questions(thread))
	if err != nil || len(list) == 0 {
		return []*Question{}, err
	}
	here, err := b.notes.Servers(ctx)
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
		return b.over(ctx, thread, id)
	}
	q := open[i]
	if r, err = q.fit(r); err != nil {
		return err
	}
	body, err := json.Marshal(r)
	if err != nil || len(body) > maxContent {
		return fmt.Errorf("%w: it is too large", ErrContent)
	}
	err = b.notes.Swap(ctx, []string{q.note()},
		clusterstate.Note{Name: q.answer(), Body: body, Until: q.Until.Add(told)})
	if errors.Is(err, clusterstate.ErrChanged) {
		return b.over(ctx, thread, id)
	}
	return err
}

// over returns the reason why a question can't be answered.
func (b *Board) over(ctx context.Context, thread, id string) error {
	list, err := b.notes.Notes(ctx, answers(thread))
	if err != nil {
		return err
	}
	if slices.ContainsFunc(list, func(n clusterstate.Note) bool { return n.Name == answers(thread)+id }) {
		return ErrAnswered
	}
	return ErrNoQuestion
}

// Ask waits until a question is answered, on any server. After a timeout, or when ctx ends, it is withdrawn. It is
// stored before show is called.
func (b *Board) Ask(ctx context.Context, q *Question, show func()) (Reply, error) {
	if !b.enter(q.Thread) {
		return Reply{}, ErrMany
	}
	defer b.leave(q.Thread)
	hint := make(chan struct{}, 1)
	defer b.notes.HearNotes(func() {
		select {
		case hint <- struct{}{}:
		default:
		}
	})()
	body, err := json.Marshal(note{Question: *q, Asked: b.notes.Now().UTC(), Node: b.notes.Self()})
	if err != nil {
		return Reply{}, err
	}
	leave := clusterstate.Note{Name: q.note(), Body: body, Until: q.Until.Add(noteTime)}
	if err := b.notes.Swap(ctx, nil, leave); err != nil {
		return b.withdraw(ctx, q), fmt.Errorf("leave a question: %w", err)
	}
	show()
	timer := time.NewTimer(q.Until.Sub(b.notes.Now()))
	defer timer.Stop()
	look := time.NewTicker(lookEvery)
	defer look.Stop()
	for {
		select {
		case <-hint:
		case <-look.C:
		case <-timer.C:
			return b.withdraw(ctx, q), nil
		case <-ctx.Done():
			return b.withdraw(ctx, q), nil
		}
		if r, ok := b.take(ctx, q); ok {
			return r, nil
		}
	}
}

func (b *Board) enter(thread string) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.open[thread] >= maxQuestions {
		return false
	}
	b.open[thread]++
	return true
}

func (b *Board) leave(thread string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.open[thread]--; b.open[thread] == 0 {
		delete(b.open, thread)
	}
}

// take removes the answer, if there is one, and returns it. That it was taken is remembered for a while.
func (b *Board) take(ctx context.Context, q *Question) (r Reply, ok bool) {
	list, err := b.notes.Notes(ctx, q.answer())
	if err != nil || len(list) == 0 { // checked again later
		return r, false
	}
	if err := json.Unmarshal(list[0].Body, &r); err != nil {
		b.log.Error("couldn't read the answer to an MCP server's question", "thread", q.Thread, "err", err)
		return Reply{Action: Cancel}, true
	}
	err = b.notes.Swap(ctx, nil, clusterstate.Note{Name: q.answer(), Body: []byte("null"), Until: list[0].Until, Over: true})
	if err != nil && ctx.Err() == nil {
		b.log.Warn("couldn't delete the answer to an MCP server's question", "thread", q.Thread, "err", err)
	}
	return r, true
}

// withdraw removes a question, unless it was answered at the last moment.
func (b *Board) withdraw(ctx context.Context, q *Question) Reply {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), noteTime)
	defer cancel()
	err := b.notes.Swap(ctx, []string{q.note()})
	if errors.Is(err, clusterstate.ErrChanged) {
		if r, ok := b.take(ctx, q); ok {
			return r
		}
	} else if err != nil {
		b.log.Warn("couldn't withdraw an MCP server's question", "thread", q.Thread, "err", err)
	}
	return Reply{Action: Cancel}
}
