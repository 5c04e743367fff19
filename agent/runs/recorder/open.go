package recorder

import (
	"context"
	"errors"
	"sync"

	"fawn/agent"
	"fawn/agent/runs/eventlog"
	"fawn/agent/runs/runevent"
	"fawn/store"
)

// ErrStorage wraps errors of the store.
var ErrStorage = errors.New("storage is full or failing")

// Config holds the parts of a recorder. Only the first four are required.
type Config struct {
	DB     *store.DB
	Log    *eventlog.Log
	Thread string
	Base   Base // the thread's position

	Run     string                                // "" for a write from outside a run
	Context context.Context                       // the run's, for back pressure; nil uses Open's
	Cancel  context.CancelCauseFunc               // ends the run when storage fails
	Leave   error                                 // cause of stopping a run that another server continues, or nil
	One     bool                                  // the run has one checkpoint, which every step replaces
	From    string                                // parent of that checkpoint
	Last    func() (int64, error)                 // the thread's LastSeq; nil to ask for it
	Plan    []agent.Todo                          // its current value
	Watch   func(context.Context)                 // called before the first tool works
	Noted   func(context.Context, agent.ToolCall) // called after each tool; nil notes nothing
	Files   Files                                 // versions the files; nil without versions
	Passed  func()                                // called when a step other than the last is stored completely
}

// Recorder is the agent.Sink of one run: it numbers events, shows them to the log once
// they are stored, and turns steps into rows.
type Recorder struct {
	db     *store.DB
	lane   *store.Lane
	log    *eventlog.Log
	thread string
	run    string
	ctx    context.Context
	done   <-chan struct{} // of ctx, checked for each event
	cancel context.CancelCauseFunc
	leave  error
	one    bool
	from   string
	watch  func(context.Context)
	noted  func(context.Context, agent.ToolCall)
	passed func()
	looked sync.Once // around watch
	files  Files

	mu      sync.Mutex // guards all below; Step holds it to the end of its commit
	seq     int64
	first   int64            // number of the run's first event, 0 before it
	stored  int64            // greatest number of the run in stored rows
	slots   map[string]*slot // slots of the open step, by message id
	frames  runevent.Frames  // frames of the open step
	opened  int64            // number of the first of them
	behind  bool             // the last event found more unstored than it may, or a failed store
	extra   store.Batch      // joins the next commit
	plan    []agent.Todo     // as of the last step
	edited  []agent.Todo     // as edited by a person since; nil without edits
	began   bool             // a step was stored already
	saved   int64            // version of the files after the open step's last tool, 0 before one has ended
	goesOn  bool             // resumes an interrupted run
	settled bool             // the run accepts no more changes of the plan
	over    bool             // its end is being written, so nothing may follow
	lost    error            // why the input couldn't be stored: nothing may follow that either
	tools   bool             // a tool was called
	held    *agent.Step      // the last step, which waits for the end; nil without one

	at       Base
	streamed map[string]bool // ids of messages seen as deltas in this run
	usage    Usage
}

// Open opens a recorder at the end of the stored thread. The caller closes it.
func Open(ctx context.Context, cfg Config) (*Recorder, error) {
	if cfg.Last == nil {
		cfg.Last = func() (int64, error) { return cfg.DB.LastSeq(ctx, cfg.Thread) }
	}
	last, err := cfg.Last()
	if err != nil {
		return nil, err
	}
	if cfg.Base.Newest == "" {
		cfg.Base.Newest = cfg.Base.Head
	}
	if cfg.Context == nil {
		cfg.Context = ctx
	}
	if cfg.Cancel == nil {
		cfg.Cancel = func(error) {}
	}
	return &Recorder{db: cfg.DB, lane: cfg.DB.OpenLane(cfg.Thread, cfg.Log.Mark), log: cfg.Log, thread: cfg.Thread,
		run: cfg.Run, ctx: cfg.Context, done: cfg.Context.Done(), cancel: cfg.Cancel, leave: cfg.Leave,
		one: cfg.One, from: cfg.From, files: cfg.Files,
		watch: cfg.Watch, noted: cfg.Noted, passed: cfg.Passed, seq: last, plan: cfg.Plan, slots: map[string]*slot{}, at: cfg.Base,
		streamed: map[string]bool{}}, nil
}

// Close releases the recorder's lane in the store.
func (r *Recorder) Close() {
	if r.files != nil {
		r.files.End(r.thread, r.run)
	}
	r.lane.Close()
}

// Head returns the id of the thread's head after the last step.
func (r *Recorder) Head() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.at.Head
}

// At returns the position after the last step, and the number of the next event.
func (r *Recorder) At() Base {
	r.mu.Lock()
	defer r.mu.Unlock()
	at := r.at
	at.Next = r.seq + 1
	return at
}

// Span returns the number of the run's first event, 0 before it, and the greatest one in stored rows.
func (r *Recorder) Span() (first, stored int64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.first, r.stored
}

// Spent adds rows of the accounts to the next commit.
func (r *Recorder) Spent(list []store.Spending) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.extra.Spending = list
}

// Unmoved makes the next commit fail with [store.ErrConflict] unless the thread's head is still where the recorder began.
func (r *Recorder) Unmoved() {
	r.mu.Lock()
	defer r.mu.Unlock()
	head := r.at.Head
	r.extra.Patch = &store.ThreadPatch{From: &head}
}

// With adds a change of the thread's row to the next commit.
func (r *Recorder) With(p *store.ThreadPatch) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.extra.Patch = p
}
