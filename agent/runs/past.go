package runs

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
	"fawn/agent/runs/runevent"
	"fawn/store"
)

// past is what the stored rows of a run tell about it.
type past struct {
	steps int    // of the model and of tools
	last  string // node of the last step, "" before the first
	next  []string
	final bool // the last step said that none of next runs
	ended bool // a tool of it ended the run
	usage recorder.Usage
	row   int64            // least message row that its steps wrote, 0 when none
	open  []runevent.Event // behind the last step, over all attempts
}

// past reads back what a run has stored.
func (m *Manager) past(ctx context.Context, run store.Run) (past, error) {
	var p past
	var rows []store.Event // the newest first
	err := m.db.LastEvents(ctx, run.ThreadID, func(e store.Event) (bool, error) {
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
			if err := m.pastStep(ctx, &p, row); err != nil {
				return p, fmt.Errorf("event %d of thread %s: %w", row.Seq, row.Thread, err)
			}
		}
	}
	last := slices.IndexFunc(rows, func(e store.Event) bool { return e.Kind == eventlog.RowStep })
	if last >= 0 {
		evs, err := eventlog.Expand(ctx, m.db, rows[last])
		if err != nil {
			return p, fmt.Errorf("event %d of thread %s: %w", rows[last].Seq, run.ThreadID, err)
		}
		p.ended = slices.ContainsFunc(evs, runevent.EndsRun)
		rows = rows[:last]
	}
	for _, row := range slices.Backward(rows) {
		evs, err := eventlog.Expand(ctx, m.db, row)
		if err != nil {
			return p, fmt.Errorf("event %d of thread %s: %w", row.Seq, row.Thread, err)
		}
		p.open = append(p.open, evs...)
	}
	return p, nil
}

// pastStep adds up one stored step.
func (m *Manager) pastStep(ctx context.Context, p *past, row store.Event) error {
	var s eventlog.StepRow
	if err := json.NewDecoder(bytes.NewReader(row.Data)).Decode(&s); err != nil {
		return fmt.Errorf("%w: %v", runevent.ErrDamaged, err)
	}
	p.next, p.final = s.Next, s.Last
	if p.last = s.Node; s.Node == agent.NodeModel || s.Node == agent.NodeTools {
		p.steps++
	}
	for _, n := range s.Rows {
		if n == 0 {
			p.usage.Messages++
			continue
		}
		if p.row == 0 || n < p.row {
			p.row = n
		}
		stored, err := m.db.Message(ctx, row.Thread, n)
		if errors.Is(err, store.ErrNotFound) { // nobody can count it any more
			continue
		}
		if err != nil {
			return err
		}
		msg, err := agent.ParseMessage(stored.Body)
		if err != nil {
			return fmt.Errorf("%w: message %d: %v", runevent.ErrDamaged, n, err)
		}
		p.usage.Count(msg, s.Node)
	}
	return nil
}
