package recorder

import (
	"context"
	"fmt"

	"fawn/agent"
	"fawn/agent/runs/eventlog"
	"fawn/agent/runs/runevent"
	"fawn/store"
)

// End describes the end of a run.
type End struct {
	Run     store.Run // with its status
	Failure *runevent.Failure
	Thread  string     // status of the thread when no other run is in line
	Halt    []string   // where an incomplete run stopped
	Keep    []store.KV // values stored with its end
	More    *bool      // becomes true when another run of the thread is next; may be nil
}

// EndsWell reports whether runs queued behind a run may start.
func EndsWell(run store.Run, thread string) bool { return run.Status == "success" && thread == "idle" }

// Finish stores the end of the run in one batch: a held last step or else the open frames, the failure if any, the
// terminal event and the statuses.
func (r *Recorder) Finish(ctx context.Context, end End) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.over = true
	before := r.mark()
	b, err := r.lastBatch(end)
	if err == nil {
		err = r.commit(ctx, b)
	}
	if err != nil {
		r.undo(before)
		return err
	}
	r.held = nil
	r.closeStep()
	return nil
}

func (r *Recorder) lastBatch(end End) (b store.Batch, err error) {
	run := end.Run
	switch {
	case r.held != nil:
		if b, err = r.step(*r.held); err != nil {
			return b, err
		}
		r.moveTo(*b.Patch.Head)
	case r.frames.Len() > 0:
		b.Events = append(b.Events, r.cutOff())
	}
	add := func(kind runevent.Kind, row string, v any, frames int64) error {
		data, err := agent.Encode(v)
		if err != nil {
			return err
		}
		from := r.seq + 1
		r.seq += frames
		b.Events = append(b.Events, store.Event{Thread: r.thread, Seq: from, To: r.seq, Run: r.run, Kind: row,
			Data: data})
		r.log.Add(&runevent.Event{Seq: from, To: r.seq, Kind: kind, Data: data})
		return nil
	}
	if end.Failure != nil {
		if err := add(runevent.KindError, eventlog.RowError, end.Failure, 1); err != nil {
			return b, err
		}
	}
	if len(end.Halt) > 0 {
		halt := runevent.Halt{Checkpoint: r.at.Head, Next: end.Halt}
		if err := add(runevent.KindHalt, eventlog.RowHalt, halt, runevent.HaltFrames); err != nil {
			return b, err
		}
	}
	terminal := runevent.End{Status: run.Status, StopReason: run.StopReason}
	if err := add(runevent.KindEnd, eventlog.RowEnd, terminal, 1); err != nil {
		return b, err
	}
	if r.first == 0 { // nothing was shown before
		r.first = r.seq
	}
	run.FirstSeq, run.LastSeq, run.UpdatedAt = r.first, r.seq, r.db.Now()
	if run.Usage, err = agent.Encode(r.usage); err != nil {
		return b, err
	}
	if b.Patch == nil {
		b.Patch = &store.ThreadPatch{}
	}
	b.Patch.Touch = true
	b.Run, b.KV = &run, end.Keep
	b.Line = &store.Line{Rest: end.Thread, Promote: EndsWell(run, end.Thread), More: end.More}
	return b, nil
}

// TakeBack commits the batch that reverts the run, with all its events from first to last, the number
// of its end event. Readers get that event; nothing of the run stays stored.
func (r *Recorder) TakeBack(ctx context.Context, end runevent.End,
	batch func(first, last int64) (store.Batch, error)) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	last := r.seq + 1
	b, err := batch(r.first, last)
	if err != nil {
		return err
	}
	data, err := agent.Encode(end)
	if err != nil {
		return err
	}
	if err := r.lane.Commit(ctx, b); err != nil {
		return fmt.Errorf("%w: roll back run %s: %w", ErrStorage, r.run, err)
	}
	r.log.Add(&runevent.Event{Seq: last, To: last, Kind: runevent.KindEnd, Data: data})
	r.log.Mark(last)
	return nil
}
