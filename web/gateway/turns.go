package gateway

import (
	"context"
	"encoding/json"
	"errors"
	"math"
	"net/http"
	"slices"
	"sort"
	"time"

	"github.com/labstack/echo/v4"

	"fawn/agent"
	"fawn/agent/runs"
	"fawn/store"
	"fawn/web/api"
	"fawn/web/httpx"
	"fawn/web/principal"
	"fawn/web/route"
)

const (
	turnsPage = 50
	maxTurns  = 200
)

// turnJSON is a message with where it came from, as DeerFlow's gateway lists them. Seq is
// its place in the conversation, from 1.
type turnJSON struct {
	Thread    string          `json:"thread_id"`
	Run       *string         `json:"run_id"`
	Seq       int             `json:"seq"`
	Type      string          `json:"event_type"`
	Category  string          `json:"category"`
	Content   json.RawMessage `json:"content"`
	Metadata  map[string]any  `json:"metadata"`
	CreatedAt *string         `json:"created_at"`
	Feedback  *feedbackJSON   `json:"feedback"`
}

// origin is which step wrote the messages of a thread up to a number.
type origin struct {
	upTo int64
	run  string
	at   time.Time
}

// origins returns, for each message of a thread, the checkpoint that first had it.
func (g *Gateway) origins(ctx context.Context, thread string) (func(n int64) origin, error) {
	list, err := g.DB.Checkpoints(ctx, thread, "", "", 0, nil)
	if err != nil {
		return nil, err
	}
	var known []origin
	high := int64(0)
	for _, cp := range slices.Backward(list) { // the oldest first
		top := int64(0)
		for _, r := range cp.Card.Messages {
			top = max(top, r.To)
		}
		if top > high {
			high, known = top, append(known, origin{top, cp.Run, cp.At})
		}
	}
	return func(n int64) origin {
		if i := sort.Search(len(known), func(i int) bool { return known[i].upTo >= n }); i < len(known) {
			return known[i]
		}
		return origin{}
	}, nil
}

func turnType(typ string) string {
	switch typ {
	case agent.TypeHuman:
		return "llm.human.input"
	case agent.TypeTool:
		return "llm.tool.result"
	case agent.TypeSystem:
		return "llm.system"
	}
	return "llm.ai.response"
}

// turns returns the messages of a state. Opinions on a run are shown at its last AI message.
func (g *Gateway) turns(c echo.Context, t store.Thread, snap store.Snapshot) ([]turnJSON, error) {
	ctx := c.Request().Context()
	from, err := g.origins(ctx, t.ID)
	if err != nil {
		return nil, err
	}
	opinions, err := g.DB.Feedback(ctx, g.Owner(c), t.ID, "")
	if err != nil {
		return nil, err
	}
	out := make([]turnJSON, len(snap.Messages))
	lastAI := map[string]int{}
	for i, row := range snap.Messages {
		var head struct {
			ID   string `json:"id"`
			Type string `json:"type"`
		}
		if err := json.Unmarshal(row.Body, &head); err != nil {
			return nil, err
		}
		o := from(row.N)
		out[i] = turnJSON{Thread: t.ID, Run: route.TextOrNull(o.run), Seq: i + 1, Type: turnType(head.Type),
			Category: "message", Content: row.Body,
			Metadata: map[string]any{"caller": "lead_agent"}, CreatedAt: route.StampOrNull(o.at)}
		if head.Type == agent.TypeAI {
			lastAI[o.run] = i
		}
		for _, f := range opinions {
			if f.Message == head.ID && f.Message != "" {
				one := feedbackOf(f)
				out[i].Feedback = &one
			}
		}
	}
	for _, f := range opinions {
		if i, ok := lastAI[f.Run]; ok && f.Message == "" {
			one := feedbackOf(f)
			out[i].Feedback = &one
		}
	}
	return out, nil
}

// addDurations writes into the last answer of each ended run on a page how many seconds the
// run took.
func (g *Gateway) addDurations(ctx context.Context, all, page []turnJSON) error {
	last := map[string]int{}
	for _, t := range all {
		if t.Run != nil && t.Type == "llm.ai.response" {
			last[*t.Run] = t.Seq
		}
	}
	for i, t := range page {
		if t.Run == nil || last[*t.Run] != t.Seq {
			continue
		}
		run, err := g.DB.Run(ctx, *t.Run)
		if errors.Is(err, store.ErrNotFound) || err == nil && !runs.Done(run.Status) {
			continue
		}
		if err != nil {
			return err
		}
		seconds := math.Round(run.UpdatedAt.Sub(run.CreatedAt).Seconds())
		if page[i].Content, err = api.WithKwarg(t.Content, "turn_duration", int(max(0, seconds))); err != nil {
			return err
		}
	}
	return nil
}

// window reads the cursors of a list of turns.
type window struct{ limit, before, after int }

func readWindow(c echo.Context) (w window, err error) {
	q := c.QueryParams()
	if w.limit, err = httpx.Int(q, "limit", turnsPage, 1, maxTurns); err != nil {
		return w, err
	}
	if w.before, err = httpx.Int(q, "before_seq", 0, 0, 1<<31-1); err != nil {
		return w, err
	}
	w.after, err = httpx.Int(q, "after_seq", 0, 0, 1<<31-1)
	return w, err
}

// of cuts a list: the first ones behind after, else the last ones before before.
func (w window) of(list []turnJSON) (page []turnJSON, more bool) {
	page = []turnJSON{}
	for _, t := range list {
		if t.Seq > w.after && (w.before == 0 || t.Seq < w.before) {
			page = append(page, t)
		}
	}
	if len(page) <= w.limit {
		return page, false
	}
	if w.after > 0 {
		return page[:w.limit], true
	}
	return page[len(page)-w.limit:], true
}

// threadTurns returns the current conversation.
func (g *Gateway) threadTurns(c echo.Context, t store.Thread) ([]turnJSON, error) {
	snap, err := g.Checkpoint(c.Request().Context(), t, "")
	if err != nil {
		return nil, err
	}
	return g.turns(c, t, snap)
}

func (g *Gateway) messages(c echo.Context, t store.Thread) error {
	w, err := readWindow(c)
	if err != nil {
		return err
	}
	list, err := g.threadTurns(c, t)
	if err != nil {
		return err
	}
	page, _ := w.of(list)
	return httpx.JSON(c, http.StatusOK, page)
}

// turnPage is a part of a conversation.
type turnPage struct {
	Data []turnJSON `json:"data"`
	More bool       `json:"has_more"`
}

// pageBefore is a part of a conversation, and where the one before it ends.
type pageBefore struct {
	turnPage
	Next *int `json:"next_before_seq"`
}

// messagesPage responds with an earlier page of the conversation.
func (g *Gateway) messagesPage(c echo.Context, t store.Thread) error {
	w, err := readWindow(c)
	if err != nil {
		return err
	}
	if c.QueryParams().Has("after_seq") {
		return httpx.Invalid("query", "after_seq", "this list goes backward only; use before_seq")
	}
	list, err := g.threadTurns(c, t)
	if err != nil {
		return err
	}
	page, more := w.of(list)
	if err := g.addDurations(c.Request().Context(), list, page); err != nil {
		return err
	}
	var next *int
	if more {
		next = &page[0].Seq
	}
	return httpx.JSON(c, http.StatusOK, pageBefore{turnPage{page, more}, next})
}

// runMessages responds with the messages that a run wrote, even if the conversation has taken another
// way since.
func (g *Gateway) runMessages(c echo.Context, r store.Run) error {
	w, err := readWindow(c)
	if err != nil {
		return err
	}
	ctx := c.Request().Context()
	page, more := []turnJSON{}, false
	last, err := g.DB.Checkpoints(ctx, r.ThreadID, "", "", 1, func(cp store.Checkpoint) bool { return cp.Run == r.ID })
	if err != nil {
		return err
	}
	if len(last) > 0 {
		t, err := g.DB.ThreadOf(ctx, principal.Owner(ctx), r.ThreadID)
		if err != nil {
			return err
		}
		snap, err := g.DB.SnapshotOf(ctx, last[0])
		if errors.Is(err, store.ErrNotFound) { // pruned
			snap, err = store.Snapshot{}, nil
		}
		if err != nil {
			return err
		}
		list, err := g.turns(c, t, snap)
		if err != nil {
			return err
		}
		page, more = w.of(slices.DeleteFunc(list, func(t turnJSON) bool { return t.Run == nil || *t.Run != r.ID }))
	}
	return httpx.JSON(c, http.StatusOK, turnPage{page, more})
}
