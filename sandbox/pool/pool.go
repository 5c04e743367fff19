package pool

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"fawn/sandbox"
	"fawn/sandbox/files"
)

// memoryShare is the part of the machine's memory that one sandbox may have at most.
const memoryShare = 2

// Starter starts a box for a thread with existing folders.
type Starter func(ctx context.Context, thread string, p sandbox.Policy) (Box, error)

// Pool keeps the boxes of threads warm, stops idle ones, and never runs more
// than it may.
type Pool struct {
	cfg    *sandbox.Config
	name   string
	Paths  func(thread string) sandbox.PathMapper
	Env    func(sandbox.Policy) map[string]string
	start  Starter
	quota  *files.Quota
	memory int64          // memory of the machine, in bytes; 0 is unknown
	work   sync.WaitGroup // calls, pumps and the sweeper
	quit   chan struct{}

	mu      sync.Mutex
	closed  bool               // guarded by mu
	members map[string]*member // guarded by mu
	places  places             // guarded by mu
	failed  int                // consecutive failed starts; guarded by mu
}

// New returns the pool of a provider. Its work ends with Close.
func New(cfg *sandbox.Config, name string, start Starter) *Pool {
	p := &Pool{cfg: cfg, name: name, start: start, quit: make(chan struct{}), members: map[string]*member{},
		places: places{max: cfg.MaxSandboxes, shared: cfg.Shared, used: map[string]int{}}, quota: cfg.Dirs.Quota, memory: cmp.Or(cfg.TestOnly.Machine, machineMemory("/proc"))}
	if p.quota == nil {
		p.quota = files.NewQuota(0)
	}
	p.Paths = func(string) sandbox.PathMapper { return samePaths{} }
	p.work.Go(p.sweep)
	return p
}

// Acquire returns the member of a thread.
func (p *Pool) Acquire(thread sandbox.ThreadRef, policy sandbox.Policy) (*member, error) {
	if err := policy.Validate(); err != nil {
		return nil, err
	}
	if err := p.cfg.Dirs.Create(thread.ID); err != nil {
		return nil, err
	}
	policy.Project = sandbox.Bind{}
	dir, write, err := p.cfg.Dirs.ProjectFolder(thread.ID)
	if err != nil {
		return nil, err
	}
	if dir != "" {
		policy.Project = sandbox.Bind{Dir: dir, Path: files.Project, ReadOnly: !write}
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return nil, sandbox.ErrGone
	}
	m := p.members[thread.ID]
	if m == nil {
		m = &member{pool: p, thread: thread.ID, lastUsed: time.Now()}
		p.members[thread.ID] = m
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.policy, m.owner = policy, cmp.Or(thread.Owner, m.owner)
	if thread.Lost != "" && m.box == nil && m.lost == "" {
		m.lost = thread.Lost
	}
	if share := p.memory / memoryShare; share > 0 && policy.Limits.Memory > share {
		m.policy.Limits.Memory = share
	}
	return m, nil
}

// Destroy ends a thread's processes and forgets it.
func (p *Pool) Destroy(thread, reason string) {
	p.mu.Lock()
	m := p.members[thread]
	delete(p.members, thread)
	p.mu.Unlock()
	if m != nil {
		m.end(reason)
	}
	p.quota.Forget(thread)
}

// Restart ends a thread's processes and reports whether there were any.
func (p *Pool) Restart(thread, reason string) (bool, error) {
	if err := p.enter(); err != nil {
		return false, err
	}
	defer p.work.Done()
	p.mu.Lock()
	m := p.members[thread]
	p.mu.Unlock()
	return m != nil && m.restart(reason), nil
}

// Close ends everything.
func (p *Pool) Close() {
	p.mu.Lock()
	if !p.closed {
		p.closed = true
		close(p.quit)
	}
	all := p.members
	p.members = map[string]*member{}
	p.mu.Unlock()
	var ending sync.WaitGroup
	for _, m := range all {
		ending.Go(func() { m.end("the server stops") })
	}
	ending.Wait()
	p.work.Wait()
}

// enter counts a piece of work that close waits for.
func (p *Pool) enter() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return sandbox.ErrGone
	}
	p.work.Add(1)
	return nil
}

// reserve waits a limited time for a place for one more box of an owner. Idle boxes make room, least recently used
// first.
func (p *Pool) reserve(ctx context.Context, owner string, limit time.Duration) error {
	if limit > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeoutCause(ctx, limit, sandbox.ErrBusy)
		defer cancel()
	}
	p.mu.Lock()
	w := p.places.join(owner)
	p.mu.Unlock()
	p.makeRoom()
	var err error
	select {
	case <-w.turn:
		return nil
	case <-ctx.Done():
		err = context.Cause(ctx)
	case <-p.quit:
		err = sandbox.ErrGone
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.places.cancel(w)
	return err
}

// makeRoom stops an idle box for each waiter that could have its place.
func (p *Pool) makeRoom() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return
	}
	for _, w := range p.places.line {
		if p.places.resting >= len(p.places.line) {
			return
		}
		only := ""
		if p.places.full(w.owner) {
			only = w.owner
		}
		victim := p.idle(only)
		if victim == nil {
			continue
		}
		victim.resting.Store(true)
		p.places.resting++
		p.work.Go(func() {
			victim.rest("it made room for others", func() bool { return true })
			victim.resting.Store(false)
			p.mu.Lock()
			p.places.resting--
			p.mu.Unlock()
			p.makeRoom()
		})
	}
}

// idle finds the member to stop first: one without background processes, then the least recently used; "" includes all
// owners. The caller holds mu.
func (p *Pool) idle(owner string) *member {
	type candidate struct {
		*member
		background bool
		used       time.Time
	}
	var all []candidate
	for _, m := range p.members {
		m.mu.Lock()
		if m.box != nil && m.calls == 0 && m.starting == nil && (owner == "" || m.owner == owner) && !m.resting.Load() {
			all = append(all, candidate{m, m.background > 0, m.lastUsed})
		}
		m.mu.Unlock()
	}
	if len(all) == 0 {
		return nil
	}
	return slices.MinFunc(all, func(a, b candidate) int {
		if a.background != b.background {
			return map[bool]int{false: -1, true: 1}[a.background]
		}
		return cmp.Compare(a.used.UnixNano(), b.used.UnixNano())
	}).member
}

// Busy counts the sandboxes that run a command, start, or wait for a place.
func (p *Pool) Busy() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	n := len(p.places.line)
	for _, m := range p.members {
		m.mu.Lock()
		if m.calls > 0 || m.starting != nil {
			n++
		}
		m.mu.Unlock()
	}
	return n
}

func (p *Pool) release(owner string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.places.free(owner)
}

// sweep stops boxes that were idle for long.
func (p *Pool) sweep() {
	every := min(max(p.cfg.IdleTimeout/4, 100*time.Millisecond), 30*time.Second)
	tick := time.NewTicker(every)
	defer tick.Stop()
	for {
		select {
		case <-p.quit:
			return
		case <-tick.C:
		}
		p.mu.Lock()
		all := make([]*member, 0, len(p.members))
		for _, m := range p.members {
			all = append(all, m)
		}
		p.mu.Unlock()
		for _, m := range all {
			m.sweep()
		}
	}
}

// started counts starts that fail in a row.
func (p *Pool) started(err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case err == nil:
		p.failed = 0
	case errors.Is(err, sandbox.ErrInit):
		p.failed++
	}
}

// Failures returns the starts that failed in a row before the current one.
func (p *Pool) Failures() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.failed
}

// launch starts a box after waiting for a place, which is released when the box is gone.
func (p *Pool) launch(ctx context.Context, thread, owner string, policy sandbox.Policy) (Box, error) {
	if err := p.reserve(ctx, owner, policy.Timeout); err != nil {
		return nil, err
	}
	if err := p.enter(); err != nil {
		p.release(owner)
		return nil, err
	}
	began := time.Now()
	b, err := p.start(ctx, thread, policy)
	p.started(err)
	if p.cfg.Started != nil {
		p.cfg.Started(time.Since(began), err)
	}
	if err != nil {
		p.release(owner)
		p.work.Done()
		return nil, fmt.Errorf("start sandbox: %w", err)
	}
	l := &leased{Box: b, over: make(chan struct{}), disk: p.watch(b, thread, policy)}
	tell := func(bool) {}
	if p.cfg.Kept != nil && policy.Lifetime == sandbox.LifetimeThread {
		tell = func(starts bool) { p.cfg.Kept(thread, starts) }
	}
	tell(true)
	go func() {
		defer p.work.Done()
		<-b.Done()
		p.release(owner)
		tell(false)
		close(l.over)
	}()
	return l, nil
}

// leased is a box that is done when its place is free again.
type leased struct {
	Box
	over chan struct{}
	disk *diskWatch
	why  atomic.Pointer[string] // reason for stopping it while commands ran
}

func (l *leased) Run(ctx context.Context, j Job) (Exit, error) {
	e, err := l.disk.during(ctx, func(ctx context.Context) (Exit, error) { return l.Box.Run(ctx, j) })
	if why := l.why.Load(); why != nil && e.Lost != "" {
		e.Lost = *why
	}
	return e, err
}

func (l *leased) Done() <-chan struct{} { return l.over }

func samePolicy(a, b sandbox.Policy) bool { return reflect.DeepEqual(a, b) }
