package resume

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"fawn/agent"
	"fawn/agent/runs/eventlog"
	"fawn/agent/runs/recorder"
	"fawn/agent/runs/request"
	"fawn/agent/runs/runevent"
	"fawn/store"
)

// Run is a run's state according to its stored rows.
type Run struct {
	Steps int    // number of model and tool steps
	Last  string // node of the last step, "" before the first
	Next  []string
	Final bool // the last step said that none of Next runs
	Ended bool // a tool of it ended the run
	Usage recorder.Usage
	Row   int64            // least message row that its steps wrote, 0 when none
	Open  []runevent.Event // after the last step, over all attempts
}

// Read reads a run's stored state.
func Read(ctx context.Context, db *store.DB, run store.Run) (Run, error) {
	var p Run
	var rows []store.Event // the newest first
	err := db.LastEvents(ctx, run.ThreadID, func(e store.Event) (bool, error) {
		if e.To < run.FirstSeq || run.FirstSeq == 0 {
			return false, nil
		}
		if e.Run == run.ID {
			rows = append(rows, e)
		}
		return true, nil
	})
	if err != nil {
		return p, err
	}
	for _, row := range slices.Backward(rows) {
		if row.Kind == eventlog.RowStep {
			if err := p.step(ctx, db, row); err != nil {
				return p, fmt.Errorf("event %d of thread %s: %w", row.Seq, row.Thread, err)
			}
		}
	}
	last := slices.IndexFunc(rows, func(e store.Event) bool { return e.Kind == eventlog.RowStep })
	if last >= 0 {
		evs, err := eventlog.Expand(ctx, db, rows[last])
		if err != nil {
			return p, fmt.Errorf("event %d of thread %s: %w", rows[last].Seq, run.ThreadID, err)
		}
		p.Ended = slices.ContainsFunc(evs, runevent.EndsRun)
		rows = rows[:last]
	}
	for _, row := range slices.Backward(rows) {
		evs, err := eventlog.Expand(ctx, db, row)
		if err != nil {
			return p, fmt.Errorf("event %d of thread %s: %w", row.Seq, row.Thread, err)
		}
		p.Open = append(p.Open, evs...)
	}
	return p, nil
}

// step adds up one stored step.
func (p *Run) step(ctx context.Context, db *store.DB, row store.Event) error {
	var s eventlog.StepRow
	if err := json.NewDecoder(bytes.NewReader(row.Data)).Decode(&s); err != nil {
		return fmt.Errorf("%w: %v", runevent.ErrDamaged, err)
	}
	p.Next, p.Final = s.Next, s.Last
	if p.Last = s.Node; s.Node == agent.NodeModel || s.Node == agent.NodeTools {
		p.Steps++
	}
	for _, n := range s.Rows {
		if n == 0 {
			p.Usage.Messages++
			continue
		}
		if p.Row == 0 || n < p.Row {
			p.Row = n
		}
		stored, err := db.Message(ctx, row.Thread, n)
		if errors.Is(err, store.ErrNotFound) { // it can't be counted any more
			continue
		}
		if err != nil {
			return err
		}
		msg, err := agent.ParseMessage(stored.Body)
		if err != nil {
			return fmt.Errorf("%w: message %d: %v", runevent.ErrDamaged, n, err)
		}
		p.Usage.Count(msg, s.Node)
	}
	return nil
}

// AtBreakpoint reports whether a breakpoint ended the run after its last step.
func (p *Run) AtBreakpoint(r *request.Request) bool {
	return p.Final && recorder.RunsNext(p.Next) && !p.Ended &&
		(agent.Stops(r.InterruptAfter, p.Last) || agent.Stops(r.InterruptBefore, p.Next[0]))
}

// Ending reports whether the run was about to end in disorder: cancelled, or failed.
func (p *Run) Ending(r *request.Request) bool {
	return p.Final && recorder.RunsNext(p.Next) && !p.Ended && !p.AtBreakpoint(r)
}
