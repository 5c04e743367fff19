package ui

import (
	"context"
	"errors"
	"maps"
	"slices"

	"fawn/agent/runs"
	"fawn/store"
	"fawn/web/ui/input"
)

// settleTurns looks up which runs made the turns.
func (u *UI) settleTurns(ctx context.Context, v *conversation, snap store.Snapshot, spans []span, all bool) error {
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
		turn := turnOf(in, -1, spans)
		if turn == "" {
			n, err := u.messagesBefore(ctx, r, snap)
			if err != nil {
				return err
			}
			turn = turnOf(in, n, spans)
		}
		byTurn[turn] = append(byTurn[turn], r)
	}
	for i := range v.turns.turns {
		t := &v.turns.turns[i]
		settle(t, byTurn[t.ID])
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
	if err := u.ratings(ctx, v.thread.ID, v.turns.turns); err != nil {
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
