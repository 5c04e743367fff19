package recorder

import (
	"context"
	"fmt"

	"fawn/agent"
	"fawn/agent/runs/eventlog"
	"fawn/agent/runs/runevent"
	"fawn/store"
)

// Adopt takes over the frames of the step that was open at the crash, and returns their events. With an error it
// includes those before the damage.
func (r *Recorder) Adopt(frames []store.Delta) ([]runevent.Event, error) {
	d := &runevent.Decoder{}
	var out []runevent.Event
	for i, f := range frames {
		ev, n, err := d.Decode(f.Data)
		if err != nil {
			return out, err
		}
		first := f.Seq - ev.Width() + 1
		if i > 0 && first != frames[i-1].Seq+1 {
			return out, fmt.Errorf("%w: %d follows %d", runevent.ErrDamaged, first, frames[i-1].Seq)
		}
		if i == 0 {
			r.opened = first
		}
		r.frames.Add(f.Data)
		r.seq = max(r.seq, f.Seq)
		if ev.Kind == runevent.KindMessage {
			r.slots[ev.Msg.ID] = &slot{n: n, msg: ev.Msg}
			r.streamed[ev.Msg.ID] = true
		}
		out = append(out, ev)
	}
	return out, nil
}

// Again stores the beginning of a further attempt.
func (r *Recorder) Again(ctx context.Context, run store.Run, said []*runevent.Partial) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	var b store.Batch
	if r.frames.Len() > 0 {
		b.Events = append(b.Events, r.cutOff())
	}
	add := func(kind string, v any) error {
		data, err := agent.Encode(v)
		if err != nil {
			return err
		}
		r.seq++
		b.Events = append(b.Events, store.Event{Thread: r.thread, Seq: r.seq, To: r.seq, Run: r.run, Kind: kind,
			Data: data})
		return nil
	}
	if err := add(eventlog.RowMeta, metaOf(run)); err != nil {
		return err
	}
	for _, p := range said {
		if err := add(eventlog.RowWithdraw, runevent.Withdrawal{ID: p.ID, NS: p.NS}); err != nil {
			return err
		}
	}
	run.LastSeq, run.UpdatedAt = r.seq, r.db.Now()
	b.Run = &run
	return r.commit(ctx, b)
}

// Seq returns the number of the last event.
func (r *Recorder) Seq() int64 {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.seq
}

// GoOn continues a run with its event number and usage so far.
func (r *Recorder) GoOn(first int64, used Usage) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.first, r.stored, r.usage, r.goesOn = first, r.seq, used, true
}

// KeepNumbers stores adopted events of an ended run up to last: readers may have seen their numbers. The next run may
// be active already, with later numbers.
func (r *Recorder) KeepNumbers(ctx context.Context, last int64) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.frames.Len() == 0 {
		return nil
	}
	row := r.cutOff()
	row.To = last
	return r.commit(ctx, store.Batch{Events: []store.Event{row}})
}

// metaOf returns the body of the event an attempt begins with.
func metaOf(run store.Run) map[string]any {
	return map[string]any{"run_id": run.ID, "thread_id": run.ThreadID, "attempt": run.Attempt}
}
