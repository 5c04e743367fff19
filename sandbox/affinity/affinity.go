package affinity

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"fawn/sandbox"
	"fawn/sandbox/files"
	"fawn/store"
)

const (
	lookEvery = time.Second // interval of retrying failed writes and of checking for requests, approximately
	endTime   = time.Minute // limit for ending a sandbox
)

// Reasons, for models, why processes have ended.
const (
	movedOn    = "the conversation goes on at another server"
	serverGone = "the server it ran at has stopped"

	ProjectChanged = "its project changed"
	Disabled       = "the account was disabled"
)

// Config configures [Places].
type Config struct {
	DB       *store.DB
	Dirs     files.Dirs    // folders of threads' files
	Patience time.Duration // how long a tool waits for a sandbox elsewhere to end; 0 is five seconds
	Log      *slog.Logger
}

// Places records the sandboxes of this server and ends those needed on other servers. On nil, for a server with its own
// database, all methods do nothing.
type Places struct {
	cfg  Config
	db   *store.DB
	log  *slog.Logger
	wake chan struct{} // one token: look now
	stop func()        // stops listening to other servers
	end  func(ctx context.Context, thread, reason string) error
	work sync.WaitGroup

	mu      sync.Mutex
	boxes   map[string]*box // existing or possibly recorded sandboxes, by thread
	waiting map[chan<- struct{}]bool
}

// box is the sandbox of a thread. Its fields are guarded by Places.mu.
type box struct {
	count   int  // number of existing ones; an end may be reported after the next start
	changed bool // since its last write
	written bool // the thread's row may name this server
	ending  bool // another server needs it
}

// New returns the places; nil for a database with one server. Call [Places.Run].
func New(cfg Config) *Places {
	if !cfg.DB.Clustered() {
		return nil
	}
	p := &Places{cfg: cfg, db: cfg.DB, log: cfg.Log, wake: make(chan struct{}, 1), boxes: map[string]*box{},
		waiting: map[chan<- struct{}]bool{}, end: func(context.Context, string, string) error { return nil }}
	p.stop = p.db.Hear(store.WakeBox, 0, p.heard)
	return p
}

// heard wakes those waiting for a sandbox's end, and Run if there are sandboxes.
func (p *Places) heard(store.Wake) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for c := range p.waiting {
		select {
		case c <- struct{}{}:
		default: // one is pending already
		}
	}
	if len(p.boxes) > 0 {
		p.nudge()
	}
}

// Kept implements Kept of [sandbox.Config].
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
	default: // one is pending already
	}
}

// Run records changes and ends sandboxes at other servers' request, until ctx ends. The records are valid until this
// server is gone.
func (p *Places) Run(ctx context.Context) {
	if p == nil {
		return
	}
	defer p.work.Wait()
	defer p.stop()
	timer := time.NewTicker(lookEvery)
	defer timer.Stop()
	for {
		select {
		case <-p.wake:
		case <-timer.C:
		case <-ctx.Done():
			return
		}
		changed, any := p.due()
		for _, thread := range changed {
			if err := p.write(ctx, thread); err != nil && ctx.Err() == nil {
				p.log.Warn("couldn't store the server of a sandbox", "thread", thread, "err", err)
			}
		}
		if !any {
			continue
		}
		unwanted, err := p.db.UnwantedBoxes(ctx)
		if err != nil && ctx.Err() == nil {
			p.log.Warn("couldn't list sandboxes needed by other servers", "err", err)
		}
		for _, box := range unwanted {
			p.giveUp(ctx, box.Thread, reasons[box.Why])
		}
	}
}

// reasons are those of requests from elsewhere.
var reasons = map[store.BoxEnd]string{store.BoxNeeded: movedOn, store.BoxChanged: ProjectChanged, store.BoxBarred: Disabled}

// due returns the threads with changed sandboxes, and whether there are any sandboxes.
func (p *Places) due() (changed []string, any bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for thread, b := range p.boxes {
		if b.changed && !b.ending {
			changed = append(changed, thread)
		}
	}
	return changed, len(p.boxes) > 0
}

// write records whether a thread has a sandbox here. A sandbox that exists without a record came too late: another
// server may not know of it, so it ends.
func (p *Places) write(ctx context.Context, thread string) error {
	p.mu.Lock()
	b := p.boxes[thread]
	there, written := b.count > 0, b.written
	b.changed, b.written = false, there || written
	p.mu.Unlock()
	var err error
	mine := true
	switch {
	case there:
		mine, err = p.db.TakeBox(ctx, thread)
	case written:
		err = p.db.LeaveBox(ctx, thread)
	}
	if err == nil && !mine {
		p.giveUp(ctx, thread, movedOn)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case err != nil:
		b.changed = true // at the next check
	case !there:
		b.written = false
		if !b.changed && b.count == 0 {
			delete(p.boxes, thread)
		}
	}
	return err
}

// giveUp starts to end a thread's sandbox, for a reason that its next command tells, and saves the changes of its
// processes. The record follows.
func (p *Places) giveUp(ctx context.Context, thread, reason string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	b := p.boxes[thread]
	if b == nil { // recorded by an earlier process
		b = &box{written: true}
		p.boxes[thread] = b
	}
	if b.ending || b.changed { // a request may be for an earlier one until the change is written
		return
	}
	b.ending = true
	p.work.Go(func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), endTime)
		defer cancel()
		err := p.end(ctx, thread, reason)
		if err == nil {
			err = p.cfg.Dirs.Save(ctx, thread)
		}
		if err != nil {
			p.log.Warn("couldn't cleanly stop a sandbox at another server's request", "thread", thread, "reason", reason, "err", err)
		}
		p.mu.Lock()
		defer p.mu.Unlock()
		if b.ending, b.changed = false, true; b.count == 0 { // otherwise it is checked again in a moment
			p.nudge()
		}
	})
}

// here reports whether a thread has a permanent sandbox here.
func (p *Places) here(thread string) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	b := p.boxes[thread]
	return b != nil && b.count > 0 && !b.ending
}

// wait signals c when it may be time to check, until leave is called.
func (p *Places) wait(c chan<- struct{}) (leave func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.waiting[c] = true
	return func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		delete(p.waiting, c)
	}
}

// Around returns a provider of which each thread has one sandbox, at whichever server.
func (p *Places) Around(inner sandbox.Provider) sandbox.Provider {
	if p == nil {
		return inner
	}
	p.end = func(ctx context.Context, thread, reason string) error {
		_, err := inner.Restart(ctx, sandbox.ThreadRef{ID: thread}, reason)
		return err
	}
	return &provider{inner, p}
}
