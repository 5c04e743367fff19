package ui

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"maps"
	"slices"

	"fawn/agent/runs"
	"fawn/store"
	"fawn/views"
	"fawn/web/ui/input"
	"fawn/web/ui/turns"
)

// settleTurns looks up which runs made the turns.
func (u *UI) settleTurns(ctx context.Context, v *conversation, snap store.Snapshot, spans []turns.Span, all bool) error {
	limit := pageRuns
	if all {
		limit = 0
	}
	list, err := u.DB.Runs(ctx, v.thread.ID, "", limit, 0)
	if err != nil {
		return err
	}
	byTurn, forks := map[string][]store.Run{}, map[string]bool{}
	for i := len(list) - 1; i >= 0; i-- { // oldest first
		r := list[i]
		if r.ID == v.run.ID || !runs.Done(r.Status) {
			continue
		}
		if runs.From(r) != "" && r.BaseCheckpoint != "" {
			forks[r.BaseCheckpoint] = true
		}
		in := input.Of(r)
		turn := turns.TurnOf(in, -1, spans)
		if turn == "" {
			n, err := u.messagesBefore(ctx, r, snap)
			if err != nil {
				return err
			}
			turn = turns.TurnOf(in, n, spans)
		}
		byTurn[turn] = append(byTurn[turn], r)
	}
	for i := range v.turns.Turns {
		t := &v.turns.Turns[i]
		turns.Settle(t, byTurn[t.ID])
		if n := len(byTurn[t.ID]); n > 0 {
			t.Run = byTurn[t.ID][n-1].ID
		}
		if err := u.touched(ctx, v.turns, t, byTurn[t.ID]); err != nil {
			return err
		}
		if t.Failure != nil {
			u.cure(t.Failure, byTurn[t.ID])
			t.Failure.Others = len(u.Config.Current().UsableModels()) > 1
		}
	}
	if err := u.ratings(ctx, v.thread.ID, v.turns.Turns); err != nil {
		return err
	}
	return u.versions(ctx, v, snap, slices.Collect(maps.Keys(forks)))
}

// messagesBefore is how many messages of snap there were when a run began, -1 when that is
// not known any more or the run went on from something else.
func (u *UI) messagesBefore(ctx context.Context, r store.Run, snap store.Snapshot) (int, error) {
	if r.BaseCheckpoint == "" {
		if r.FirstSeq == 0 { // it never began
			return -1, nil
		}
		return 0, nil
	}
	cp, err := u.DB.Checkpoint(ctx, r.ThreadID, "", r.BaseCheckpoint)
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

// cure names the model whose settings may mend a failure of the last of these runs.
func (u *UI) cure(f *views.Failure, list []store.Run) {
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
	name, snap := cmp.Or(req.Context.Model, req.Config.Configurable.Model), u.Config.Current()
	if usable := snap.UsableModels(); name == "" && len(usable) > 0 {
		name = usable[0].Name
	}
	if _, known := snap.Model(name); known {
		f.Model = name
	}
}
