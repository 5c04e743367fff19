package pool

import (
	"context"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"fawn/sandbox"
)

// member is the sandbox of one thread, whether its box runs or not.
type member struct {
	pool   *Pool
	thread string
	// resting means that the box is being stopped to make room.
	resting atomic.Bool

	mu         sync.Mutex
	gone       string         // why it was destroyed; guarded by mu, as all below
	owner      string         // owner it works for
	policy     sandbox.Policy // policy of the next start
	box        Box            // nil before the first command and after the end
	with       sandbox.Policy // policy with the machine's available memory
	single     map[Box]bool   // boxes used for one call
	starting   chan struct{}  // closed when a start has ended
	calls      int
	lost       string // why the previous box is gone, for the model
	background int
	started    time.Time
	lastUsed   time.Time
	restarts   int
}

func (m *member) ID() string { return m.pool.name + ":" + m.thread }

func (m *member) Paths() sandbox.PathMapper { return m.pool.Paths(m.thread) }

func (m *member) Exec(ctx context.Context, req sandbox.ExecReq) (sandbox.ExecResult, error) {
	defer req.CloseEnds()
	if err := req.Validate(); err != nil {
		return sandbox.ExecResult{}, err
	}
	if req.Apart != nil || req.In != nil || req.Out != nil {
		if err := req.ValidateApart(m.pool.name); err != nil {
			return sandbox.ExecResult{}, err
		}
	}
	if err := context.Cause(ctx); err != nil {
		return sandbox.ExecResult{}, err
	}
	if err := m.pool.enter(); err != nil {
		return sandbox.ExecResult{}, err
	}
	defer m.pool.work.Done()
	start := time.Now()
	b, policy, lost, err := m.take(ctx, req.Apart)
	s := setting{cfg: m.pool.cfg, provider: m.pool.name, thread: m.thread, policy: policy, paths: m.Paths(),
		quota: m.pool.quota}
	var res sandbox.ExecResult
	var layers []string
	if err == nil {
		layers = b.Layers()
		s.env = m.pool.Env(policy)
		res, err = s.execute(ctx, b, req, m.pool.work.Go)
		m.finish(b, res, policy, req.Apart != nil)
	}
	res.Took = time.Since(start)
	if gone := m.destroyed(); gone != "" && err == nil && res.SandboxRestarted {
		res.SandboxRestarted, res.Cancelled = false, true
		res.Notes = []string{"The sandbox was stopped: " + gone + "."}
	}
	if lost != "" && err == nil {
		res.SandboxRestarted = true
		res.Notes = append([]string{restartNote(lost)}, res.Notes...)
	}
	s.audit(start, layers, req, res, err)
	return res, err
}

func (m *member) destroyed() string {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.gone
}

// take returns a running box and counts the call.
func (m *member) take(ctx context.Context, apart *sandbox.Policy) (b Box, p sandbox.Policy, lost string, err error) {
	if apart != nil {
		p = *apart
		m.mu.Lock()
		p.Limits.Memory = m.policy.Limits.Memory // limited by this machine's memory
		p.Project = m.policy.Project
		m.mu.Unlock()
		b, err = m.once(ctx, p)
		return b, p, "", err
	}
	for {
		m.mu.Lock()
		if m.gone != "" {
			m.mu.Unlock()
			return nil, m.policy, "", sandbox.ErrGone
		}
		if wait := m.starting; wait != nil {
			m.mu.Unlock()
			select {
			case <-wait:
				continue
			case <-ctx.Done():
				return nil, p, "", context.Cause(ctx)
			}
		}
		if m.policy.Lifetime == sandbox.LifetimeCall {
			p = m.policy
			m.calls++
			m.mu.Unlock()
			if b, err = m.once(ctx, p); err != nil {
				m.mu.Lock()
				m.calls--
				m.mu.Unlock()
			}
			return b, p, "", err
		}
		if m.box != nil && ended(m.box) {
			m.drop("its processes ended unexpectedly")
		}
		if m.box != nil && m.calls == 0 && !samePolicy(m.policy, m.with) {
			old := m.box
			m.drop("its configuration changed")
			m.mu.Unlock()
			old.Stop()
			continue
		}
		if m.box != nil {
			m.calls++
			b, p, lost = m.box, m.with, m.lost
			m.lost = ""
			m.mu.Unlock()
			return b, p, lost, nil
		}
		p = m.policy
		owner := m.owner
		done := make(chan struct{})
		m.starting = done
		m.mu.Unlock()
		b, err = m.pool.launch(ctx, m.thread, owner, p)
		m.mu.Lock()
		m.starting = nil
		close(done)
		if err == nil && m.gone != "" {
			err = sandbox.ErrGone
			m.mu.Unlock()
			b.Stop()
			return nil, p, "", err
		}
		if err == nil {
			m.box, m.with, m.started = b, p, time.Now()
			if m.lost != "" {
				m.restarts++
			}
		}
		m.mu.Unlock()
		if err != nil {
			return nil, p, "", err
		}
	}
}

// once starts a box for one call.
func (m *member) once(ctx context.Context, p sandbox.Policy) (Box, error) {
	m.mu.Lock()
	owner := m.owner
	m.mu.Unlock()
	b, err := m.pool.launch(ctx, m.thread, owner, p)
	m.mu.Lock()
	if err == nil && m.gone == "" {
		if m.single == nil {
			m.single = map[Box]bool{}
		}
		m.single[b] = true
		m.mu.Unlock()
		return b, nil
	}
	m.mu.Unlock()
	if err == nil {
		b.Stop()
		err = sandbox.ErrGone
	}
	return nil, err
}

// drop forgets a box that is gone or about to be. The caller holds mu.
func (m *member) drop(why string) {
	m.box, m.lost, m.background = nil, why, 0
}

func ended(b Box) bool {
	select {
	case <-b.Done():
		return true
	default:
		return false
	}
}

// finish ends a call, unless it had a separate box.
func (m *member) finish(b Box, res sandbox.ExecResult, p sandbox.Policy, apart bool) {
	m.mu.Lock()
	if !apart {
		m.calls--
		m.lastUsed = time.Now()
		m.background += res.Background
	}
	if res.SandboxRestarted && m.box == b {
		// The model was told in this result.
		m.drop("")
		m.restarts++
	}
	delete(m.single, b)
	idle := m.calls == 0
	m.mu.Unlock()
	if idle {
		m.pool.makeRoom()
	}
	if p.Lifetime == sandbox.LifetimeCall {
		b.Stop()
	}
}

// end closes the member permanently.
func (m *member) end(why string) {
	m.mu.Lock()
	m.gone = why
	all := slices.Collect(maps.Keys(m.single))
	if m.box != nil {
		all = append(all, m.box)
	}
	m.box = nil
	m.mu.Unlock()
	for _, b := range all {
		b.Stop()
		<-b.Done()
	}
}

// restart stops the boxes, busy or not, and reports whether there were any.
func (m *member) restart(why string) bool {
	m.mu.Lock()
	all := slices.Collect(maps.Keys(m.single))
	if m.box != nil {
		all = append(all, m.box)
		m.drop(why)
		m.restarts++
	}
	if m.calls > 0 {
		m.lost = "" // these commands get the message themselves
	}
	m.mu.Unlock()
	for _, b := range all {
		if l, ok := b.(*leased); ok {
			l.why.Store(&why)
		}
		b.Stop()
		<-b.Done()
	}
	return len(all) > 0
}

// rest stops an idle box.
func (m *member) rest(why string, sure func() bool) {
	m.mu.Lock()
	b := m.box
	if b == nil || m.calls > 0 || !sure() {
		m.mu.Unlock()
		return
	}
	m.drop(why)
	m.mu.Unlock()
	b.Stop()
	<-b.Done()
}

func (m *member) sweep() {
	cfg := m.pool.cfg
	m.mu.Lock()
	b, used := m.box, m.lastUsed
	idle := b != nil && m.calls == 0 && time.Since(used) > cfg.IdleTimeout
	m.mu.Unlock()
	if !idle {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	u, err := b.Stat(ctx, false)
	if time.Since(used) <= cfg.BackgroundTimeout {
		if err != nil && !ended(b) { // assume a busy host still has jobs
			return
		}
		if u.Procs > 0 {
			m.mu.Lock()
			m.background = u.Procs
			m.mu.Unlock()
			return
		}
	}
	m.rest("it was idle", func() bool { return m.lastUsed.Equal(used) })
}

func (m *member) Status() sandbox.Status {
	m.mu.Lock()
	b := m.box
	s := sandbox.Status{
		ID: m.ID(), Provider: m.pool.name, Running: b != nil && !ended(b), Calls: m.calls,
		Started: m.started, LastUsed: m.lastUsed, Restarts: m.restarts,
	}
	m.mu.Unlock()
	if !s.Running {
		return sandbox.Status{ID: s.ID, Provider: s.Provider, Restarts: s.Restarts, LastUsed: s.LastUsed}
	}
	s.Layers = b.Layers()
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	if u, err := b.Stat(ctx, false); err == nil {
		s.Procs, s.MemBytes, s.TmpBytes = u.Procs, u.Mem, u.Tmp
	}
	return s
}
