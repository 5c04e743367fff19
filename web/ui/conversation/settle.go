package conversation

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"maps"
	"slices"

	"fawn/agent"
	"fawn/agent/middleware"
	"fawn/agent/runs"
	"fawn/agent/runs/request"
	"fawn/store"
	"fawn/views"
	"fawn/web/principal"
	"fawn/web/ui/turns"
)

// settleTurns looks up which runs made the turns.
func (h *Handlers) settleTurns(ctx context.Context, v *View, snap store.Snapshot, spans []turns.Span, all bool) error {
	limit := pageRuns
	if all {
		limit = 0
	}
	list, err := h.DB.Runs(ctx, v.Thread.ID, "", limit, 0)
	if err != nil {
		return err
	}
	byTurn, forks := map[string][]store.Run{}, map[string]bool{}
	for i := len(list) - 1; i >= 0; i-- { // oldest first
		r := list[i]
		if r.ID == v.run.ID || !runs.Done(r.Status) {
			continue
		}
		if request.From(r.Kwargs, r.ThreadID) != "" && r.BaseCheckpoint != "" {
			forks[r.BaseCheckpoint] = true
		}
		in := request.StartOf(r)
		turn := turns.TurnOf(in, -1, spans)
		if turn == "" {
			n, err := h.messagesBefore(ctx, r, snap)
			if err != nil {
				return err
			}
			turn = turns.TurnOf(in, n, spans)
		}
		byTurn[turn] = append(byTurn[turn], r)
	}
	for i := range v.Turns.Turns {
		t := &v.Turns.Turns[i]
		turns.Settle(t, byTurn[t.ID])
		if n := len(byTurn[t.ID]); n > 0 {
			t.Run = byTurn[t.ID][n-1].ID
		}
		if err := h.touched(ctx, v.Turns, t, byTurn[t.ID]); err != nil {
			return err
		}
		if t.Failure != nil {
			h.cure(t.Failure, byTurn[t.ID])
			t.Failure.Others = len(h.Config.Current().UsableModels()) > 1
		}
	}
	if err := h.ratings(ctx, v.Thread.ID, v.Turns.Turns); err != nil {
		return err
	}
	return h.versions(ctx, v, snap, slices.Collect(maps.Keys(forks)))
}

// messagesBefore returns the number of messages of snap when a run began, -1 if unknown or if the run continued from
// something else.
func (h *Handlers) messagesBefore(ctx context.Context, r store.Run, snap store.Snapshot) (int, error) {
	if r.BaseCheckpoint == "" {
		if r.FirstSeq == 0 { // it never began
			return -1, nil
		}
		return 0, nil
	}
	cp, err := h.DB.Checkpoint(ctx, r.ThreadID, "", r.BaseCheckpoint)
	if errors.Is(err, store.ErrNotFound) {
		return -1, nil
	}
	last := cp.Card.Last()
	if last > 0 && !slices.ContainsFunc(snap.Messages, func(row store.MessageRow) bool { return row.N == last }) {
		return -1, nil
	}
	n := 0
	for _, rows := range cp.Card.Messages {
		n += int(rows.To - rows.From + 1)
	}
	return n, err
}

// cure names the model whose settings may fix the last run's failure.
func (h *Handlers) cure(f *views.Failure, list []store.Run) {
	if f.Kind != views.FailureAuth && f.Kind != views.FailureUnreachable || len(list) == 0 {
		return
	}
	var req struct {
		Context struct {
			Model string `json:"model_name"`
		} `json:"context"`
		Config struct {
			Configurable struct {
				Model string `json:"model_name"`
			} `json:"configurable"`
		} `json:"config"`
	}
	if json.Unmarshal(list[len(list)-1].Kwargs, &req) != nil {
		return
	}
	name, snap := cmp.Or(req.Context.Model, req.Config.Configurable.Model), h.Config.Current()
	if usable := snap.UsableModels(); name == "" && len(usable) > 0 {
		name = usable[0].Name
	}
	if _, known := snap.Model(name); known {
		f.Model = name
	}
}

// ratings adds the reader's ratings to turns. Ratings of a whole run count for its answer.
func (h *Handlers) ratings(ctx context.Context, thread string, turns []views.Turn) error {
	list, err := h.DB.Feedback(ctx, principal.Owner(ctx), thread, "")
	if err != nil {
		return err
	}
	for i := range turns {
		t := &turns[i]
		for _, f := range list {
			if t.Answer != nil && f.Run == t.Run && (f.Message == "" || f.Message == t.Answer.ID) {
				t.Rating = f.Rating
			}
		}
	}
	return nil
}

// relieve brings the gauge up to date when the conversation was shortened by hand after the
// last answer: by about as much as the next request has less.
func (h *Handlers) relieve(ctx context.Context, v *View, snap store.Snapshot) error {
	const steps = 8 // made by hand since the last run
	cp, before := snap.Checkpoint, ""
	for i := 0; i < steps && cp.Run == "" && cp.Parent != ""; i++ {
		parent, err := h.DB.Checkpoint(ctx, v.Thread.ID, "", cp.Parent)
		if isGone(err) {
			break
		}
		if err != nil {
			return err
		}
		if parent.Card.Fields["view"] != cp.Card.Fields["view"] {
			before = parent.ID
		}
		cp = parent
	}
	if before == "" || !v.Turns.Gauge.Known() {
		return nil
	}
	old, err := h.DB.Snapshot(ctx, v.Thread.ID, before)
	if isGone(err) {
		return nil
	}
	if err != nil {
		return err
	}
	var s agent.State
	for _, row := range snap.Messages {
		m, err := agent.ParseMessage(row.Body)
		if err != nil {
			return err
		}
		s.Messages = append(s.Messages, m)
	}
	size := func(of store.Snapshot) (int, error) {
		s.View = nil
		err := DecodeField(of, "view", &s.View)
		return middleware.Tokens(&s), err
	}
	was, err := size(old)
	if err != nil {
		return err
	}
	now, err := size(snap)
	if err != nil {
		return err
	}
	g := &v.Turns.Gauge
	g.Tokens, g.About = max(1, g.Tokens-max(0, was-now)), true
	return nil
}

// versions numbers turns with several versions. bases are the checkpoints from which some run restarted.
func (h *Handlers) versions(ctx context.Context, v *View, snap store.Snapshot, bases []string) error {
	if len(bases) == 0 {
		return nil
	}
	next, err := h.DB.Children(ctx, v.Thread.ID, bases)
	if err != nil {
		return err
	}
	for base, list := range next {
		cp, err := h.DB.Checkpoint(ctx, v.Thread.ID, "", base)
		if errors.Is(err, store.ErrNotFound) {
			continue
		}
		if err != nil {
			return err
		}
		// A checkpoint without its own message only renamed the thread.
		list = slices.DeleteFunc(list, func(c store.Checkpoint) bool { return c.Card.Last() <= cp.Card.Last() })
		for i, c := range list {
			row := slices.IndexFunc(snap.Messages, func(r store.MessageRow) bool { return r.N == c.Card.Last() })
			if row < 0 || len(list) < 2 {
				continue
			}
			if t := v.Turns.Find(snap.Messages[row].ID); t != nil {
				t.Version = views.Version{N: i + 1, Of: len(list)}
				if i > 0 {
					t.Version.Prev = list[i-1].ID
				}
				if i+1 < len(list) {
					t.Version.Next = list[i+1].ID
				}
			}
		}
	}
	return nil
}
