package runs

import (
	"context"
	"fmt"

	"fawn/agent"
	"fawn/store"
)

// startAtOnce starts a run on a thread where nothing else is under way: one commit has its thread, its row, its place in
// line and its input. Whatever prevents that, ok is false, nothing is stored, and the entry can't be used again.
func (m *Manager) startAtOnce(ctx context.Context, e *entry, told []store.Outbound) (row store.Run, ok bool) {
	row = e.run
	l, work := m.claim(e)
	if l == nil {
		return row, false
	}
	d := &drive{m: m, e: e, kept: context.WithoutCancel(ctx)}
	if _, err := caught(func() (struct{}, error) { return struct{}{}, d.create(work, told) }); err != nil {
		if d.rec != nil {
			d.rec.Close()
		}
		m.unclaim(l, e)
		m.logger.Debug("couldn't start a run at once; going step by step", "thread", row.ThreadID, "run", row.ID, "err", err)
		return row, false
	}
	e.begun, e.fresh = d, true
	close(e.stored)
	m.mu.Lock()
	m.announce(row.ThreadID)
	m.mu.Unlock()
	go func() {
		defer m.wg.Done()
		m.work(work, l, e)
	}()
	return row, true
}

// claim makes a run that isn't stored yet the active one of its thread, unless anything else is under way there. It
// returns the context of the run. Either [Manager.unclaim] or the end of the run gives the thread back.
func (m *Manager) claim(e *entry) (*threadWork, context.Context) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.closed || m.runs[e.run.ID] != nil {
		return nil, nil
	}
	l := m.line(e.run.ThreadID)
	if l.active != nil || l.write != nil || l.unstored != nil || l.starting {
		return nil, nil
	}
	e.become(stageWorking)
	m.rested.take(e.run.ThreadID)
	m.runs[e.run.ID] = e
	l.active, l.changed = e, false
	m.wg.Add(1)
	ctx, cancel := context.WithCancelCause(m.ctx)
	e.cancel = cancel
	return l, ctx
}

// unclaim gives a thread back whose run could not be stored, and starts a run that came meanwhile.
func (m *Manager) unclaim(l *threadWork, e *entry) {
	defer m.wg.Done()
	e.cancel(nil)
	m.mu.Lock()
	l.active = nil
	changed := l.changed
	m.mu.Unlock()
	m.discard(e)
	if changed {
		m.startNext(e.run.ThreadID)
		return
	}
	m.mu.Lock()
	m.tidy(e.run.ThreadID)
	m.mu.Unlock()
}

// create stores a run with its input, and prepares its turn. The agent of a stored thread is built meanwhile, if there
// is room for that.
func (d *drive) create(ctx context.Context, told []store.Outbound) error {
	m, e := d.m, d.e
	at, err := m.db.Opening(d.kept, e.req.Thread, e.run.Owner)
	if err != nil {
		return err
	}
	if at.Barred {
		return ErrBarred
	}
	if err := m.admitted(d.kept, e, ""); err != nil {
		return err
	}
	if at.Thread.ID == "" {
		err = store.ErrNotFound
	}
	thread, isNew, err := m.threadIn(d.kept, &e.req, at.Thread, err)
	if err != nil {
		return err
	}
	asked, state, b, err := m.prepareFrom(d.kept, e, "", at.Standing)
	if err != nil {
		return err
	}
	last := m.lastBefore(b)
	if last == nil {
		last = func() (int64, error) { return m.db.LastSeq(d.kept, e.run.ThreadID) }
	}
	if err := d.open(ctx, &state, b, last); err != nil {
		return err
	}
	e.run.Status, e.run.BaseCheckpoint = Running, b.Head
	busy := Busy
	rows := store.Batch{Line: &store.Line{Here: len(e.req.Secrets) > 0, Now: true}}
	for _, o := range told {
		o.Run = e.run.ID
		rows.Outbound = append(rows.Outbound, o)
	}
	if isNew {
		thread.Status = busy
		rows.Thread, rows.NewThread = &thread, true
	} else {
		rows.Patch = &store.ThreadPatch{Status: &busy, Touch: true, MergeNew: graphOf(e.run.AssistantID)}
	}
	if err := d.rec.Create(e.run, rows); err != nil {
		return err
	}
	d.take(asked.Options, state)
	m.limitSteps(d.turn, asked)
	commit, err := d.rec.Input(d.kept, d.turn, e.in.Patch)
	if err != nil {
		return err
	}
	d.out.Next = []string{agent.NodeModel}
	d.row = &thread
	d.build = func() (*agent.Agent, error) { return d.make(ctx) }
	if !isNew { // otherwise it would not find the thread
		d.build = startFutureIn(m.room, d.build)
	}
	if err := commit(); err != nil {
		if !isNew {
			_, _ = d.build() // it may be under way
		}
		return fmt.Errorf("store run %s with its input: %w", e.run.ID, err)
	}
	return nil
}
