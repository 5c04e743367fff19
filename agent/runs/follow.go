package runs

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"fawn/agent"
	"fawn/store"
)

// readBytes bounds one read of stored rows.
const readBytes = 1 << 20

// Reader follows one run from any cursor: stored rows first, the live log after. It
// belongs to one goroutine; closing it is not needed.
type Reader struct {
	m   *Manager
	run store.Run
	log *Log // nil when the run had ended
}

// Follow opens a run for reading, live or not.
func (m *Manager) Follow(ctx context.Context, run string) (*Reader, error) {
	log := m.log(run)
	r, err := m.db.Run(ctx, run)
	if errors.Is(err, store.ErrNotFound) {
		return nil, fmt.Errorf("run %s: %w", run, ErrNotFound)
	}
	if err != nil {
		return nil, err
	}
	return &Reader{m: m, run: r, log: log}, nil
}

// FollowRow is Follow for a caller who has read the row, or got it from Start.
func (m *Manager) FollowRow(ctx context.Context, run store.Run) (*Reader, error) {
	log := m.log(run.ID)
	if log == nil { // it is over, and its row says how by now
		return m.Follow(ctx, run.ID)
	}
	return &Reader{m: m, run: run, log: log}, nil
}

// Run is the run's row as it was when the reader was opened.
func (r *Reader) Run() store.Run { return r.run }

// Next returns the events past cursor after, blocking until there are some. It returns
// nil, nil once the terminal event is behind the cursor. A cursor before the run (0, -1)
// means from its first event.
func (r *Reader) Next(ctx context.Context, after int64) ([]Event, error) {
	after = max(after, 0)
	if r.log == nil {
		if r.run.LastSeq == 0 { // ended before it began
			return nil, nil
		}
		return r.stored(ctx, max(after, r.run.FirstSeq-1), r.run.LastSeq)
	}
	evs, until, ended, err := r.log.next(ctx, after)
	switch {
	case err != nil || ended:
		return nil, err
	case len(evs) > 0:
		return evs, nil
	}
	return r.dropped(ctx, after, until)
}

// Ready is Next without waiting: an empty list means that there is nothing past the cursor
// yet, or never will be. Call it until then to read everything stored so far.
func (r *Reader) Ready(ctx context.Context, after int64) ([]Event, error) {
	if r.log == nil {
		return r.Next(ctx, after)
	}
	after = max(after, 0)
	evs, until, ended, wake := r.log.take(after, false)
	if len(evs) > 0 || ended || wake != nil {
		return evs, nil
	}
	return r.dropped(ctx, after, until)
}

// Step finds the run's last step that lies whole at or before a cursor, and its last number:
// where a reader starts that needs to know what the open step is about. Messages and fields
// are not filled in. Without such a step the number is 0, before the run.
func (r *Reader) Step(ctx context.Context, after int64) (step StepData, to int64, err error) {
	if after <= 0 {
		return step, 0, nil
	}
	if r.log == nil { // behind its end are other runs
		after = min(after, r.run.LastSeq)
	}
	err = r.m.db.EventsBack(ctx, r.run.ThreadID, after, func(row store.Event) (bool, error) {
		if row.Run != r.run.ID {
			return false, nil
		}
		if row.Kind != rowStep {
			return true, nil
		}
		var s stepRow
		if err := json.NewDecoder(bytes.NewReader(row.Data)).Decode(&s); err != nil {
			return false, fmt.Errorf("%w: %v", errFrame, err)
		}
		step, to = s.StepData, row.To
		return false, nil
	})
	return step, to, err
}

// dropped reads what a live run has stored and no longer holds in memory.
func (r *Reader) dropped(ctx context.Context, after, until int64) ([]Event, error) {
	first, err := r.firstSeq(ctx)
	if err != nil {
		return nil, err
	}
	return r.stored(ctx, max(after, first-1), until)
}

// firstSeq is the number of the run's first event; a live run's row learns it late.
func (r *Reader) firstSeq(ctx context.Context) (int64, error) {
	if r.run.FirstSeq == 0 {
		run, err := r.m.db.Run(ctx, r.run.ID)
		if err != nil {
			return 0, err
		}
		r.run = run
	}
	return r.run.FirstSeq, nil
}

// stored reads rows past after. It never returns an empty list without an error unless
// there are no rows left.
func (r *Reader) stored(ctx context.Context, after, until int64) ([]Event, error) {
	if after >= until {
		return nil, nil
	}
	rows, err := r.m.db.Events(ctx, r.run.ThreadID, after, until, readBytes)
	if err != nil {
		return nil, err
	}
	var out []Event
	size := 0
	for _, row := range rows {
		if size > readBytes { // rows refer to bodies much longer than they are
			break
		}
		evs, err := r.m.expand(ctx, row)
		if err != nil {
			return nil, fmt.Errorf("event %d of thread %s: %w", row.Seq, row.Thread, err)
		}
		for _, ev := range evs {
			if ev.To > after {
				out = append(out, ev)
				size += eventSize(ev)
			}
		}
	}
	return out, nil
}

// expand turns a stored row into events.
func (m *Manager) expand(ctx context.Context, row store.Event) ([]Event, error) {
	one := func(k Kind) []Event { return []Event{{Seq: row.Seq, To: row.To, Kind: k, Data: row.Data}} }
	switch row.Kind {
	case rowMeta:
		return one(KindMeta), nil
	case rowError:
		return one(KindError), nil
	case rowEnd:
		return one(KindEnd), nil
	case rowWithdraw:
		var w Withdrawal
		if err := json.Unmarshal(row.Data, &w); err != nil {
			return nil, fmt.Errorf("%w: %v", errFrame, err)
		}
		return []Event{{Seq: row.Seq, To: row.To, Kind: KindWithdraw, NS: w.NS, Data: row.Data}}, nil
	case rowHalt:
		return one(KindHalt), nil
	case rowFold:
		return m.unfold(ctx, row, row.Data)
	case rowStep:
		return m.expandStep(ctx, row)
	}
	return nil, fmt.Errorf("%w: row kind %q", errFrame, row.Kind)
}

// unfold reads the deltas in data, which start at the row's first number.
func (m *Manager) unfold(ctx context.Context, row store.Event, data []byte) ([]Event, error) {
	return unfold(data, row.Seq, func(n int64) ([]byte, error) {
		msg, err := m.db.Message(ctx, row.Thread, n)
		return msg.Body, err
	})
}

// expandStep reads a step's row: the deltas that led to it, if any, and the step.
func (m *Manager) expandStep(ctx context.Context, row store.Event) ([]Event, error) {
	var s stepRow
	d := json.NewDecoder(bytes.NewReader(row.Data))
	if err := d.Decode(&s); err != nil {
		return nil, fmt.Errorf("%w: %v", errFrame, err)
	}
	var evs []Event
	first := row.Seq
	if deltas := row.Data[d.InputOffset():]; len(deltas) > 0 {
		var err error
		if evs, err = m.unfold(ctx, row, deltas); err != nil {
			return nil, err
		}
		if len(evs) > 0 {
			first = evs[len(evs)-1].To + 1
		}
	}
	step, err := m.stepData(ctx, row.Thread, s)
	if err != nil {
		return nil, err
	}
	return append(evs, Event{Seq: first, To: row.To, Kind: KindStep, Step: step}), nil
}

// stepData loads what a step's row refers to.
func (m *Manager) stepData(ctx context.Context, thread string, s stepRow) (*StepData, error) {
	step := s.StepData
	step.Whole = make([]bool, len(s.Rows))
	for _, i := range s.Whole {
		if i < len(step.Whole) {
			step.Whole[i] = true
		}
	}
	removed := s.Removed
	for _, n := range s.Rows {
		if n == 0 {
			if len(removed) == 0 {
				return nil, fmt.Errorf("%w: removal without an id", errFrame)
			}
			body, err := agent.Encode(&agent.Message{ID: removed[0], Type: agent.TypeRemove})
			if err != nil {
				return nil, err
			}
			step.Messages, removed = append(step.Messages, body), removed[1:]
			continue
		}
		msg, err := m.db.Message(ctx, thread, n)
		if err != nil {
			return nil, err
		}
		step.Messages = append(step.Messages, msg.Body)
	}
	step.Fields = s.Patch
	for name, version := range s.Version {
		body, err := m.db.Field(ctx, thread, name, version)
		if err != nil {
			return nil, err
		}
		if step.Fields == nil {
			step.Fields = map[string]json.RawMessage{}
		}
		step.Fields[name] = body
	}
	return &step, nil
}
