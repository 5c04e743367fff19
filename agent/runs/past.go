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
	usage usage
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
		p.usage.count(msg, s.Node)
	}
	return nil
}

// unfinished is what the events behind a run's last step left open.
type unfinished struct {
	said    []*partialMessage // answers that were shown, never stored and not withdrawn
	started map[string]bool   // ids of calls whose tool began
	results map[string]runevent.ToolEnd
}

// gather puts the open events of a namespace together: "" is that of the run itself.
func gather(evs []runevent.Event, ns string) (unfinished, error) {
	u := unfinished{started: map[string]bool{}, results: map[string]runevent.ToolEnd{}}
	for _, ev := range evs {
		if ev.NS != ns {
			continue
		}
		switch ev.Kind {
		case runevent.KindMessage:
			u.said = append(u.said, &partialMessage{id: ev.Msg.ID, ns: ns})
		case runevent.KindText:
			u.add(ev.Msg.ID, agent.Chunk{Text: ev.Text})
		case runevent.KindReasoning:
			u.add(ev.Msg.ID, agent.Chunk{Reasoning: ev.Text})
		case runevent.KindWithdraw:
			id := runevent.Withdrawn(ev)
			u.said = slices.DeleteFunc(u.said, func(p *partialMessage) bool { return p.id == id })
		case runevent.KindToolStart:
			var c agent.ToolCall
			if err := json.Unmarshal(ev.Data, &c); err != nil {
				return u, fmt.Errorf("%w: %v", runevent.ErrDamaged, err)
			}
			u.started[c.ID] = true
		case runevent.KindToolResult:
			var t runevent.ToolEnd
			if err := json.Unmarshal(ev.Data, &t); err != nil {
				return u, fmt.Errorf("%w: %v", runevent.ErrDamaged, err)
			}
			u.results[t.ID] = t
		}
	}
	return u, nil
}

func (u *unfinished) add(id string, k agent.Chunk) {
	for _, p := range u.said {
		if p.id == id {
			p.c.Add(k)
		}
	}
}

// answered are the results of calls that a run which goes on does not make again: those
// that were recorded, and for tools that began and did not end that they were cut off.
func (u *unfinished) answered() (map[string]agent.Result, error) {
	out := make(map[string]agent.Result, len(u.started))
	for id := range u.started {
		r := agent.ErrorResult(agent.InterruptedResult)
		r.MessageID, r.Cut = newMessageID(), true
		out[id] = r
	}
	for id, t := range u.results {
		r, err := t.Result()
		if err != nil {
			return nil, err
		}
		out[id] = r
	}
	return out, nil
}
