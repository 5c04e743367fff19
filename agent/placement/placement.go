package placement

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"fawn/store"
)

// lookEvery is how often it is looked for what could not be written, about.
const lookEvery = time.Second

// Places writes down which sandboxes this server has. Methods of nil, for a server that has its database alone, do
// nothing.
type Places struct {
	db   *store.DB
	log  *slog.Logger
	wake chan struct{} // one token: look now

	mu    sync.Mutex
	boxes map[string]*box // by thread; those that are there or may be written down
}

// box is the sandbox of a thread. Its fields are guarded by Places.mu.
type box struct {
	count   int  // of those that are there; the end of one may be told after the start of the next
	changed bool // since it was written down
	written bool // the thread's row may name this server
}

// New makes them. [Places.Run] is to be called.
func New(db *store.DB, log *slog.Logger) *Places {
	if !db.Clustered() {
		return nil
	}
	return &Places{db: db, log: log, wake: make(chan struct{}, 1), boxes: map[string]*box{}}
}

// Kept is for [sandbox.Config].
func (p *Places) Kept(thread string, starts bool) {
	if p == nil {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	b := p.boxes[thread]
	if b == nil {
		b = &box{}
		p.boxes[thread] = b
	}
	was := b.count
	if b.count--; starts {
		b.count += 2
	}
	if (was > 0) != (b.count > 0) {
		b.changed = true
		p.nudge()
	}
}

func (p *Places) nudge() {
	select {
	case p.wake <- struct{}{}:
	default: // not yet seen the last one
	}
}

// Run writes down what changes until ctx ends. What is written then counts until this server is gone.
func (p *Places) Run(ctx context.Context) {
	if p == nil {
		return
	}
	timer := time.NewTicker(lookEvery)
	defer timer.Stop()
	for {
		select {
		case <-p.wake:
		case <-timer.C:
		case <-ctx.Done():
			return
		}
		for _, thread := range p.due() {
			if err := p.write(ctx, thread); err != nil && ctx.Err() == nil {
				p.log.Warn("where the sandbox of a thread is could not be written down", "thread", thread, "err", err)
			}
		}
	}
}

// due are the threads whose sandboxes have changed.
func (p *Places) due() (threads []string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for thread, b := range p.boxes {
		if b.changed {
			threads = append(threads, thread)
		}
	}
	return threads
}

// write writes down whether a thread has a sandbox here. One that is there while no run is has come too late to be
// written down: then another server may not know of it, which is as if there were none.
func (p *Places) write(ctx context.Context, thread string) error {
	p.mu.Lock()
	b := p.boxes[thread]
	there, written := b.count > 0, b.written
	b.changed, b.written = false, there || written
	p.mu.Unlock()
	var err error
	switch {
	case there:
		_, err = p.db.TakeBox(ctx, thread)
	case written:
		err = p.db.LeaveBox(ctx, thread)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case err != nil:
		b.changed = true // when it is looked next
	case !there:
		b.written = false
		if !b.changed && b.count == 0 {
			delete(p.boxes, thread)
		}
	}
	return err
}
