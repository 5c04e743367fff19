package runs

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"runtime"
	"sync"
	"time"

	"github.com/google/uuid"

	"fawn/agent"
	"fawn/agent/runs/eventlog"
	"fawn/agent/runs/recorder"
	"fawn/agent/runs/request"
	"fawn/agent/runs/trace"
	"fawn/store"
)

// Causes a run's context ends with.
var (
	ErrInterrupted = errors.New("interrupted by the user")
	ErrShutdown    = errors.New("the server stopped")
)

// Spec identifies the run that an agent is built for.
type Spec struct {
	Owner, ThreadID, RunID, AssistantID string
	Parent                              string                 // the run whose child it is, or ""
	Options                             *agent.Options         // the builder may turn off what the model cannot do
	Remark                              func(key, text string) // notes something in the run's metadata; may be nil

	// The following were just read when the run began; their zero values mean that they are to be read.
	Metadata json.RawMessage // the thread's
	Unfiled  bool            // the thread is in no project
}

// Request is the argument of [Manager.Start].
type Request = request.Request

// Build creates the agent of one run from the current configuration.
type Build func(ctx context.Context, s Spec) (*agent.Agent, error)

// Admit returns an error if the owner may not have the run: without permission for what it requests, or at a limit. It is
// called before the run is stored, with an empty Spec.RunID, and again when the run begins.
type Admit func(ctx context.Context, s Spec) error

// Config holds the dependencies of a Manager.
type Config struct {
	DB      *store.DB
	Build   Build
	Admit   Admit                     // nil admits all
	Remove  func(thread string) error // deletes a thread's files; may be nil
	Watch   Watch                     // reports changes of files by runs; may be nil
	Files   recorder.Files            // keeps versions of files; may be nil
	Ending  Ending                    // stores something with the ends of runs; may be nil
	Observe trace.Observer            // measures runs and their calls; may be nil
	Mark    bool                      // after a crash or a stop: leave runs interrupted instead of resuming them
	Offline bool                      // no server uses the database, so unfinished runs have no worker
	Log     *slog.Logger

	// Slots limits concurrent runs on this server if several share the database, 0 for [DefaultSlots].
	Slots int

	// Steps returns the current step limits; nil = DefaultRecursionLimit and MaxRecursionLimit, with a
	// last turn.
	Steps func() StepLimits
}

// Manager enforces one active run per thread. The order of runs is in their rows; the manager holds the
// runs active here. All its state is behind one mutex; no I/O happens under it.
type Manager struct {
	db     *store.DB
	node   int64 // server id of db; only its runs are active here
	build  Build
	admit  Admit
	remove func(string) error

	watch    watcher
	files    recorder.Files
	atEnd    Ending
	observer trace.Observer
	mark     bool
	offline  bool
	limits   func() StepLimits
	logger   *slog.Logger
	ctx      context.Context // parent of all runs
	stop     context.CancelCauseFunc
	wg       sync.WaitGroup

	mu      sync.Mutex
	closed  bool
	threads map[string]*threadWork
	runs    map[string]*entry // live: waiting or running
	delayed chan struct{}     // wakes the timer of delayed runs; nil before the first one

	children map[string]*entry    // active child runs, with the queued run that contains each
	cluster  *cluster             // nil for a database that has one server
	remote   *eventlog.RemoteLogs // nil, like cluster, without other servers

	listeners map[string]*nextRunWaiters // by followed thread
	hooks     chan struct{}              // see Webhooks
	room      futureRoom                 // limits agents that are built ahead
	starts    startLine
	decoded   messageCache
	rested    restedThreads
}

// New returns a Manager. Call [Manager.Recover] before the first run and [Manager.Close] at the end.
func New(cfg Config) *Manager {
	ctx, stop := context.WithCancelCause(context.Background())
	m := &Manager{db: cfg.DB, node: cfg.DB.Self(), build: cfg.Build, admit: cfg.Admit, remove: cfg.Remove,
		watch: watcher{Watch: cfg.Watch, Log: cfg.Log}, files: cfg.Files,
		atEnd: cfg.Ending, observer: cfg.Observe, mark: cfg.Mark, offline: cfg.Offline, limits: cfg.Steps,
		logger: cfg.Log, ctx: ctx, stop: stop, threads: map[string]*threadWork{}, runs: map[string]*entry{},
		children: map[string]*entry{}, listeners: map[string]*nextRunWaiters{}, hooks: make(chan struct{}, 1),
		room: make(futureRoom, runtime.GOMAXPROCS(0)), starts: make(startLine, startsAtOnce())}
	if cfg.DB.Clustered() {
		m.cluster, m.remote = newCluster(cfg), eventlog.NewRemoteLogs(cfg.DB, cfg.Log)
		m.hearOthers()
	}
	return m
}

// Start creates a run and queues or starts it by its multitask strategy; it creates a missing thread
// unless the request says reject. "interrupt" first ends the thread's running and queued runs,
// "rollback" also reverts them. The returned row is stored. Errors: ErrInput, ErrBusy, ErrExists,
// ErrNotFound, ErrStorage, ErrClosed, ErrBarred, *InterruptError, and those of Config.Admit.
func (m *Manager) Start(ctx context.Context, req Request) (store.Run, error) {
	return m.StartTelling(ctx, req)
}

// StartTelling is Start that also stores first messages to chats, in the same commit as the run; they get its id.
func (m *Manager) StartTelling(ctx context.Context, req Request, told ...store.Outbound) (store.Run, error) {
	leave, goesOn := m.starts.enter(ctx), false
	defer func() {
		if !goesOn {
			leave()
		}
	}()
	if ctx.Err() != nil { // the request has ended
		return store.Run{}, context.Cause(ctx)
	}
	if err := m.withDefaults(ctx, &req); err != nil {
		return store.Run{}, err
	}
	e, err := newEntry(req, m.db.Now())
	if err != nil {
		return store.Run{}, err
	}
	base, err := e.req.Base()
	if err != nil {
		return store.Run{}, err
	}
	if base == "" && m.cluster == nil && e.in.Given && !e.req.Hold && e.run.DueAt.IsZero() {
		if row, ok := m.startAtOnce(ctx, e, told); ok {
			goesOn = m.passOn(e, leave)
			return row, nil
		}
		if e, err = newEntry(req, m.db.Now()); err != nil { // the step by step way finds out why
			return store.Run{}, err
		}
	}
	if base != "" {
		if _, err := m.db.Checkpoint(ctx, e.req.Thread, "", base); errors.Is(err, store.ErrNotFound) {
			return store.Run{}, fmt.Errorf("checkpoint %s: %w", base, ErrNotFound)
		} else if err != nil {
			return store.Run{}, err
		}
	}
	if err := m.barred(ctx, e.run.Owner); err != nil {
		return store.Run{}, err
	}
	if o := e.req.Origin; o == "" || o == "api" || o == "ui" { // otherwise nobody waits, and the run reports its failure
		if err := m.admitted(ctx, e, ""); err != nil {
			return store.Run{}, err
		}
	}
	thread, isNew, err := m.threadFor(ctx, &e.req)
	if err != nil {
		return store.Run{}, err
	}
	if err := m.checkAnswer(ctx, e); err != nil {
		return store.Run{}, err
	}
	row, waits := e.run, stageQueued // the entry is the run's own once it is stored
	switch {
	case !row.DueAt.IsZero():
		waits = stageDelayed
	case e.req.Hold:
		waits = stageHeld
	}
	if err := m.register(e, waits); err != nil {
		return store.Run{}, err
	}
	ctx = context.WithoutCancel(ctx) // whether the row is stored must be known
	first := false
	b := store.Batch{ThreadID: row.ThreadID, Run: &row, NewRun: true,
		Line: &store.Line{Strategy: row.Multitask, Hold: waits == stageHeld, Here: len(e.req.Secrets) > 0,
			First: &first}}
	for _, o := range told {
		o.Run = row.ID
		b.Outbound = append(b.Outbound, o)
	}
	status := ""
	if waits == stageQueued {
		status = Busy
	}
	err = m.create(ctx, b, thread, isNew, status)
	if errors.Is(err, ErrBusy) && m.endUnstored(row.ThreadID) {
		m.startNext(row.ThreadID)
		err = m.create(ctx, b, thread, isNew, status)
	}
	if err != nil {
		m.discard(e)
		return store.Run{}, err
	}
	close(e.stored)
	switch waits {
	case stageDelayed:
		m.expect()
	default:
		if !first && waits == stageQueued {
			m.cancelQueued(ctx, row.ThreadID, row.Multitask)
		}
		if first && !m.endUnstored(row.ThreadID) { // no need to query the front of the line
			m.startFront(row.ThreadID, e, true)
		} else {
			m.startNext(row.ThreadID)
		}
	}
	m.releaseRun(e)
	goesOn = m.passOn(e, leave)
	return row, nil
}

// create commits a new run and, if needed, its thread. A non-empty status is set on the thread.
func (m *Manager) create(ctx context.Context, b store.Batch, thread store.Thread, isNew bool, status string) error {
	run := b.Run
	patch := &store.ThreadPatch{MergeNew: graphOf(run.AssistantID), Touch: true}
	if status != "" {
		patch.Status = &status
	}
	if isNew {
		thread.Status = cmp.Or(status, Idle)
		b.Thread, b.NewThread = &thread, true
	} else {
		b.Patch = patch
	}
	err := m.db.Commit(ctx, b)
	if isNew && errors.Is(err, store.ErrExists) { // created by another caller meanwhile
		b.Thread, b.NewThread, b.Patch = nil, false, patch
		err = m.db.Commit(ctx, b)
	}
	switch {
	case errors.Is(err, store.ErrBusy):
		return fmt.Errorf("thread %s: %w", run.ThreadID, ErrBusy)
	case errors.Is(err, store.ErrExists):
		return fmt.Errorf("run %s: %w", run.ID, ErrExists)
	case errors.Is(err, store.ErrNotFound): // deleted meanwhile
		return fmt.Errorf("thread %s: %w", run.ThreadID, ErrNotFound)
	case err != nil:
		return fmt.Errorf("%w: %w", ErrStorage, err)
	}
	return nil
}

func newEntry(req Request, now time.Time) (*entry, error) {
	in, cmd, err := req.Prepare()
	if err != nil {
		return nil, err
	}
	if req.AssistantID == "" {
		req.AssistantID = request.GraphID
	}
	if req.Thread == "" {
		req.Thread = uuid.Must(uuid.NewV7()).String()
	}
	kwargs, err := agent.Encode(req)
	if err != nil {
		return nil, err
	}
	if req.ID == "" {
		req.ID = uuid.Must(uuid.NewV7()).String()
	}
	run := store.Run{ID: req.ID, ThreadID: req.Thread, AssistantID: req.AssistantID, Status: Pending,
		Multitask: req.Multitask, Owner: cmp.Or(req.Owner, store.DefaultOwner), Metadata: object(req.Metadata),
		Kwargs: kwargs, Attempt: 1, CreatedAt: now, UpdatedAt: now, DueAt: dueAt(&req, now)}
	return &entry{run: run, req: req, in: in, cmd: cmd, log: eventlog.New(0), stored: make(chan struct{}),
		done: make(chan struct{})}, nil
}

// threadFor returns the run's thread, or the row of a new one.
func (m *Manager) threadFor(ctx context.Context, req *Request) (t store.Thread, isNew bool, err error) {
	t, err = m.db.Thread(ctx, req.Thread)
	return m.threadIn(ctx, req, t, err)
}

// threadIn is threadFor with the result of reading the thread's row.
func (m *Manager) threadIn(ctx context.Context, req *Request, t store.Thread, err error) (_ store.Thread, isNew bool,
	_ error) {
	switch {
	case err == nil && (req.Owner != "" && t.Owner != req.Owner || !t.DeletedAt.IsZero()):
		return t, false, fmt.Errorf("thread %s: %w", req.Thread, ErrNotFound)
	case err == nil:
		return t, false, nil
	case !errors.Is(err, store.ErrNotFound):
		return t, false, err
	case req.IfNotExists == "reject":
		return t, false, fmt.Errorf("thread %s: %w", req.Thread, ErrNotFound)
	}
	project, err := m.projectFor(ctx, req)
	if err != nil {
		return store.Thread{}, false, err
	}
	now := m.db.Now()
	return store.Thread{ID: req.Thread, Project: project, Owner: req.Owner, Metadata: graphOf(req.AssistantID), CreatedAt: now,
		UpdatedAt: now, StateUpdatedAt: now}, true, nil
}

// projectFor returns the project for a new thread of the request, "" for none. ErrNotFound if the caller has no such
// project.
func (m *Manager) projectFor(ctx context.Context, req *Request) (string, error) {
	id := req.Project
	if id == "" {
		c, err := req.Choices()
		if id = c.Project; err != nil || id == "" {
			return "", err
		}
	}
	_, err := m.db.ProjectFor(ctx, req.Owner, id)
	if errors.Is(err, store.ErrNotFound) {
		err = fmt.Errorf("project %s: %w", id, ErrNoProject)
	}
	return id, err
}

// graphOf returns the metadata that names a thread's assistant, for threads without such a name.
func graphOf(assistant string) json.RawMessage {
	out, err := agent.Encode(map[string]string{"graph_id": request.GraphID, "assistant_id": assistant})
	if err != nil { // the id isn't text
		return nil
	}
	return out
}

// log returns the live log of a run, or nil.
func (m *Manager) log(run string) *eventlog.Log {
	m.mu.Lock()
	defer m.mu.Unlock()
	if e := m.runs[run]; e != nil {
		return e.log
	}
	return nil
}

// Active returns the id of the thread's running or next run, or "".
func (m *Manager) Active(thread string) string {
	if e := m.atWork(thread); e != nil {
		return e.run.ID
	}
	front, err := m.db.Front(m.ctx, thread)
	if err != nil && !errors.Is(err, store.ErrNotFound) && !m.closing() {
		m.logger.Error("couldn't read the front of a thread's queue", "thread", thread, "err", err)
	}
	return front.Run
}

// atWork returns the active run of a thread, or nil.
func (m *Manager) atWork(thread string) *entry {
	m.mu.Lock()
	defer m.mu.Unlock()
	if l := m.threads[thread]; l != nil {
		return l.active
	}
	return nil
}

// Live returns the number of waiting and running runs.
func (m *Manager) Live() int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return len(m.runs)
}

// Wait blocks until a run has ended and returns its row.
func (m *Manager) Wait(ctx context.Context, run string) (store.Run, error) {
	for {
		m.mu.Lock()
		e := m.runs[run]
		m.mu.Unlock()
		if e != nil {
			select {
			case <-e.done:
			case <-ctx.Done():
				return store.Run{}, context.Cause(ctx)
			}
		}
		r, err := m.db.Run(ctx, run)
		if errors.Is(err, store.ErrNotFound) {
			return r, fmt.Errorf("run %s: %w", run, ErrNotFound)
		}
		switch {
		case ctx.Err() == nil && !m.db.Writable() && (err != nil || !Done(r.Status)): // another server resumes it
			return r, ErrClosed
		case err != nil || Done(r.Status) || m.closing():
			return r, err
		case m.cluster == nil:
			return r, nil
		}
		err = m.until(ctx, r.ThreadID, func() (bool, error) { // it waits, or another server has it
			now, err := m.db.Run(ctx, run)
			return m.has(run) || err == nil && Done(now.Status) || errors.Is(err, store.ErrNotFound), err
		})
		switch {
		case err == nil || errors.Is(err, store.ErrNotFound):
		case ctx.Err() == nil && !m.db.Writable(): // its connections are closed
			return r, ErrClosed
		default:
			return r, err
		}
	}
}

// Rest drops caches; an idle server calls it.
func (m *Manager) Rest() { m.decoded.Clear() }

// Close stops all runs, keeps their output, and waits for them. The next server resumes them as after a crash; with
// [Config.Mark] they end as interrupted. Queued runs stay pending and start with the next server.
func (m *Manager) Close() {
	m.mu.Lock()
	m.closed = true
	m.mu.Unlock()
	if m.cluster != nil {
		for _, stop := range m.cluster.stop {
			stop()
		}
	}
	m.stop(ErrShutdown)
	m.wg.Wait()
	m.remote.Close()
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, e := range m.runs { // queued: followers must not wait forever
		e.log.Close()
		m.forget(e)
	}
	clear(m.threads)
}

func object(raw json.RawMessage) json.RawMessage {
	if len(raw) == 0 || string(raw) == "null" {
		return json.RawMessage("{}")
	}
	return raw
}
