package eventlog

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"fawn/agent/runs/runevent"
	"fawn/store"
)

// ReadBytes limits one read of stored rows.
const ReadBytes = 1 << 20

// Reader follows one run from any cursor: stored rows first, the live log after. It
// belongs to one goroutine; closing it is not needed.
type Reader struct {
	db  *store.DB
	run store.Run
	log *Log // nil when the run had ended
	// reopens a closed log; nil if the log is never closed
	open Opener
	over bool          // the end was returned
	wake chan struct{} // gets a token when the log has more; nil before the first wait
}

// Opener returns a run's row and its live log, nil if the run has ended.
type Opener func(ctx context.Context, run string) (store.Run, *Log, error)

// NewReader opens a run for reading; log is nil if the run has ended.
func NewReader(db *store.DB, run store.Run, log *Log) *Reader {
	return &Reader{db: db, run: run, log: log}
}

// NewOpener is NewReader for a log that may be closed as unread.
func NewOpener(db *store.DB, run store.Run, log *Log, open Opener) *Reader {
	return &Reader{db: db, run: run, log: log, open: open}
}

// reopen switches to the run's current log.
func (r *Reader) reopen(ctx context.Context) (err error) {
	r.run, r.log, err = r.open(ctx, r.run.ID)
	return err
}

// Run returns the run's row as of opening the reader.
func (r *Reader) Run() store.Run { return r.run }

// Next returns the events past cursor after, blocking until there are some. It returns nil, nil once the cursor is past
// the terminal event. A cursor before the run (0, -1) means from its first event. Errors: ErrClosed.
func (r *Reader) Next(ctx context.Context, after int64) ([]runevent.Event, error) {
	for after = max(after, 0); ; {
		if r.log == nil {
			if r.run.LastSeq == 0 { // ended before it began
				return nil, nil
			}
			evs, err := r.stored(ctx, max(after, r.run.FirstSeq-1), r.run.LastSeq)
			if err != nil {
				return nil, err
			}
			if len(evs) == 0 {
				return r.missingEnd(ctx)
			}
			r.over = r.over || evs[len(evs)-1].Kind == runevent.KindEnd
			return evs, nil
		}
		if r.wake == nil {
			r.wake = make(chan struct{}, 1)
		}
		evs, until, ended, err := r.log.next(ctx, after, r.wake)
		switch {
		case errors.Is(err, errAway):
			if err := r.reopen(ctx); err != nil {
				return nil, err
			}
			continue
		case err != nil || ended:
			return nil, err
		case len(evs) > 0:
			return evs, nil
		}
		evs, err = r.dropped(ctx, after, until)
		if err != nil || len(evs) > 0 || r.open == nil {
			return evs, err
		}
		after = until // the run has no earlier events
	}
}

// missingEnd returns the end of a run without a stored one, because only its status could be stored: otherwise readers
// would retry forever. It has the number of the last stored event.
func (r *Reader) missingEnd(ctx context.Context) ([]runevent.Event, error) {
	if r.over {
		return nil, nil
	}
	r.over = true
	last := r.run.LastSeq
	rows, err := r.db.Events(ctx, r.run.ThreadID, last-1, last, ReadBytes)
	if err != nil || len(rows) > 0 && rows[len(rows)-1].Kind == RowEnd {
		return nil, err
	}
	var out []runevent.Event
	add := func(kind runevent.Kind, v any) {
		data, err := json.Marshal(v) // strings always encode
		if err == nil {
			out = append(out, runevent.Event{Seq: last, To: last, Kind: kind, Data: data})
		}
	}
	if r.run.Error != "" {
		const name = "RunError"
		add(runevent.KindError, runevent.Failure{Error: name, Name: name, Message: r.run.Error})
	}
	add(runevent.KindEnd, runevent.End{Status: r.run.Status, StopReason: r.run.StopReason})
	return out, nil
}

// Ready is Next without waiting: an empty list means that there is nothing past the cursor
// yet, or never will be. Call it until then to read everything stored so far.
func (r *Reader) Ready(ctx context.Context, after int64) ([]runevent.Event, error) {
	if r.log == nil {
		return r.Next(ctx, after)
	}
	after = max(after, 0)
	evs, until, ended, empty, gone := r.log.take(after, nil)
	switch {
	case len(evs) > 0 || ended || empty || errors.Is(gone, ErrClosed):
		return evs, nil
	case gone != nil:
		if err := r.reopen(ctx); err != nil {
			return nil, err
		}
		return r.Ready(ctx, after)
	}
	if evs, err := r.dropped(ctx, after, until); err != nil || len(evs) > 0 || r.open == nil {
		return evs, err
	}
	return r.Ready(ctx, until)
}

// Step returns the run's last complete step at or before a cursor, and its last number: the start for readers that need
// the context of the open step. Messages and fields are empty. Without such a step the number is 0, before the run.
func (r *Reader) Step(ctx context.Context, after int64) (step runevent.StepData, to int64, err error) {
	if after <= 0 {
		return step, 0, nil
	}
	if r.log == nil { // other runs follow its end
		after = min(after, r.run.LastSeq)
	}
	err = r.db.EventsBack(ctx, r.run.ThreadID, after, func(row store.Event) (bool, error) {
		if row.Run != r.run.ID {
			return false, nil
		}
		if row.Kind != RowStep {
			return true, nil
		}
		var s StepRow
		if err := json.NewDecoder(bytes.NewReader(row.Data)).Decode(&s); err != nil {
			return false, fmt.Errorf("%w: %v", runevent.ErrDamaged, err)
		}
		step, to = s.StepData, row.To
		return false, nil
	})
	return step, to, err
}

// dropped reads stored events of a live run that are no longer in memory.
func (r *Reader) dropped(ctx context.Context, after, until int64) ([]runevent.Event, error) {
	first, err := r.firstSeq(ctx)
	if err != nil || first == 0 { // then it has not begun
		return nil, err
	}
	return r.stored(ctx, max(after, first-1), until)
}

// firstSeq returns the number of the run's first event; a live run's row learns it late.
func (r *Reader) firstSeq(ctx context.Context) (int64, error) {
	if r.run.FirstSeq == 0 {
		run, err := r.db.Run(ctx, r.run.ID)
		if err != nil {
			return 0, err
		}
		r.run = run
	}
	return r.run.FirstSeq, nil
}

// stored reads rows past after. It never returns an empty list without an error unless
// there are no rows left.
func (r *Reader) stored(ctx context.Context, after, until int64) ([]runevent.Event, error) {
	if after >= until {
		return nil, nil
	}
	rows, err := r.db.Events(ctx, r.run.ThreadID, after, until, ReadBytes)
	if err != nil {
		return nil, err
	}
	var out []runevent.Event
	size := 0
	for _, row := range rows {
		if size > ReadBytes { // rows refer to bodies much longer than they are
			break
		}
		evs, err := Expand(ctx, r.db, row)
		if err != nil {
			return nil, fmt.Errorf("event %d of thread %s: %w", row.Seq, row.Thread, err)
		}
		for i := range evs {
			if ev := &evs[i]; ev.To > after {
				out = append(out, *ev)
				size += eventSize(ev)
			}
		}
	}
	return out, nil
}
