package channels

import (
	"context"
	"errors"
	"time"

	"fawn/agent/runs"
	"fawn/agent/runs/eventlog"
)

// reads follows the run's log.
func (d *delivery) reads(ctx context.Context, fresh bool) {
	err := error(nil)
	if d.to.Whole {
		err = d.awaitRun(ctx)
	}
	if err == nil {
		err = d.follow(ctx, fresh)
	}
	d.mu.Lock()
	d.done, d.endedAt = err, time.Now()
	d.mu.Unlock()
	close(d.read)
	d.tell()
}

// follow reads the run until its end. A reader opened just as the run becomes active, or after the server began to
// stop, sees nothing; another one is opened then. For a run that doesn't exist yet, it waits for begun.
func (d *delivery) follow(ctx context.Context, fresh bool) error {
	wait, err := lookAgain, errNotBegun
	if !fresh {
		err = d.poll(ctx)
	}
	for {
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case errors.Is(err, errEnded), errors.Is(err, errRemoved), errors.Is(err, runs.ErrClosed):
			return err
		case errors.Is(err, errNotBegun):
			wait = notBegun
		case err != nil:
			d.b.h.cfg.Log.Warn("couldn't read the run of an answer; retrying", "channel", d.b.provider,
				"run", d.run, "err", err)
		}
		t := time.NewTimer(wait)
		select {
		case <-d.begun:
			wait = lookAgain
		case <-t.C:
			wait = min(2*wait, time.Second)
		case <-ctx.Done():
		}
		t.Stop()
		err = d.poll(ctx)
	}
}

// Poll intervals: for a run that hasn't resumed yet, and for one that doesn't exist.
const (
	lookAgain = 20 * time.Millisecond
	notBegun  = 5 * time.Second
)

// poll reads available events of the run. nil means that there may be more.
func (d *delivery) poll(ctx context.Context) error {
	r, err := d.b.h.cfg.Runs.Follow(ctx, d.run)
	if errors.Is(err, runs.ErrNotFound) {
		return d.removed(ctx)
	}
	if err != nil {
		return err
	}
	if err := d.readTo(ctx, r); err != nil {
		return err
	}
	return d.ended(ctx)
}

// removed returns errRemoved if the run is gone and errNotBegun if it hasn't started. A run is stored after its
// answer's row and before its messages are marked as handled; checking in this order misses no run that starts and
// ends in between.
func (d *delivery) removed(ctx context.Context) error {
	open, err := d.b.h.cfg.DB.RunInbound(ctx, d.run)
	if err == nil && len(open) > 0 {
		err = errNotBegun
	}
	if err != nil {
		return err
	}
	if _, err := d.b.h.cfg.DB.Run(ctx, d.run); !missing(err) {
		return err
	}
	return errRemoved
}

// begun signals an answer that its run exists.
func (b *bot) begun(run string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if d := b.answers[run]; d != nil {
		select {
		case d.begun <- struct{}{}:
		default:
		}
	}
}

// waits shows in an answer that its run waits for others, or no longer does.
func (b *bot) waits(run string, yes bool) {
	b.mu.Lock()
	d := b.answers[run]
	b.mu.Unlock()
	if d == nil {
		return
	}
	d.mu.Lock()
	if yes {
		d.ans.doing = d.words().queued
	} else if d.ans.doing == d.words().queued {
		d.ans.doing = ""
	}
	d.mu.Unlock()
	d.tell()
}

// readTo applies a reader's events.
func (d *delivery) readTo(ctx context.Context, r *eventlog.Reader) error {
	for {
		evs, err := r.Next(ctx, d.ans.cursor)
		if err != nil || evs == nil {
			return err
		}
		d.mu.Lock()
		for _, ev := range evs {
			d.ans.take(ev)
		}
		d.mu.Unlock()
		d.tell()
	}
}

// ended returns errEnded when the run has ended and was read completely, and nil if there is more to come.
func (d *delivery) ended(ctx context.Context) error {
	d.mu.Lock()
	status, cursor := d.ans.status, d.ans.cursor
	d.mu.Unlock()
	if status != "" {
		return errEnded
	}
	run, err := d.b.h.cfg.DB.Run(ctx, d.run)
	switch {
	case missing(err):
		return errRemoved
	case err != nil:
		return err
	case !runs.Done(run.Status) || run.LastSeq > cursor:
		return nil
	}
	d.mu.Lock()
	d.ans.status, d.ans.failed = run.Status, run.Error
	d.mu.Unlock()
	return errEnded
}
