package schedule

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"fawn/agent/runs"
	"fawn/store"
)

// ErrBusy means that a cron's last run hasn't ended.
var ErrBusy = errors.New("the task's last run is still in progress")

// ErrFailed means that the run of a start was refused.
var ErrFailed = errors.New("the run could not be started")

// Config are the parts a Scheduler needs.
type Config struct {
	DB   *store.DB
	Runs *runs.Manager
	Log  *slog.Logger
	// MaxRuns limits concurrent scheduled runs; further due ones wait. 0 means 3.
	MaxRuns int
	// Look is the maximum interval of reading the clock while something is scheduled, since the machine may sleep. 0
	// means 5 s.
	Poll time.Duration
	// Shared means that other servers also change crons and start them manually. Run is called on one of them.
	Shared bool
	// Now replaces the clock; nil means that of DB.
	Now func() time.Time
	// Plan creates the first message to the chat for a cron's results: for a run on a thread, or the reason why none
	// could start. nil sends no results.
	Plan func(ctx context.Context, c store.Cron, thread, failed string) (store.Outbound, error)
	// Deliver sends the result of a run as planned, once the run has ended. It doesn't wait for that.
	Deliver func(ctx context.Context, run string) error
}

// Scheduler starts due crons. Run uses one goroutine plus one for each awaited run: at most MaxRuns, and those started
// manually.
type Scheduler struct {
	cfg  Config
	ctx  context.Context // context of goroutines that wait for runs
	stop context.CancelFunc
	wg   sync.WaitGroup
	wake chan struct{} // one token: check again

	again atomic.Bool // starts of other servers must be resumed

	mu     sync.Mutex
	live   map[string]*liveStart // by id of the start
	closed bool
}

// liveStart is a start in progress, or one with an awaited run.
type liveStart struct {
	cron     string
	followed bool // its run is being awaited
}

// idleLook is the polling interval of an idle scheduler.
const idleLook = time.Hour

// New returns a Scheduler. The caller calls Run, and Close when Run has returned, before it closes the manager's store.
func New(cfg Config) *Scheduler {
	if cfg.MaxRuns <= 0 {
		cfg.MaxRuns = 3
	}
	if cfg.Poll <= 0 {
		cfg.Poll = 5 * time.Second
	}
	if cfg.Now == nil {
		cfg.Now = cfg.DB.Now
	}
	if cfg.Log == nil {
		cfg.Log = slog.Default()
	}
	ctx, stop := context.WithCancel(context.Background())
	return &Scheduler{cfg: cfg, ctx: ctx, stop: stop, wake: make(chan struct{}, 1), live: map[string]*liveStart{}}
}

// Now returns the scheduler's clock.
func (s *Scheduler) Now() time.Time { return s.cfg.Now() }

// Wake makes Run check again; call it after changes of crons. It never blocks.
func (s *Scheduler) Wake() {
	select {
	case s.wake <- struct{}{}:
	default:
	}
}

// Recover makes Run resume starts of a lost server. It never blocks.
func (s *Scheduler) Recover() {
	s.again.Store(true)
	s.Wake()
}

// Close stops waiting for runs. Runs continue; their ends are recorded at the next start.
func (s *Scheduler) Close() {
	s.mu.Lock()
	s.closed = true
	s.mu.Unlock()
	s.stop()
	s.wg.Wait()
}

// Run resumes interrupted starts and then starts due crons, until ctx ends.
func (s *Scheduler) Run(ctx context.Context) {
	s.again.Store(true)
	for ctx.Err() == nil {
		var next time.Time
		var err error
		if s.again.Swap(false) {
			err = s.Resume(ctx)
		}
		if err == nil {
			next, err = s.Tick(ctx)
		}
		if err != nil { // a failed start stays recorded as begun
			s.again.Store(true)
		}
		if err != nil && ctx.Err() == nil {
			s.cfg.Log.Error("couldn't start due tasks", "err", err)
		}
		if err := s.cfg.DB.ExpireItems(ctx); err != nil && ctx.Err() == nil {
			s.cfg.Log.Warn("couldn't remove expired items", "err", err)
		}
		wait := idleLook
		if err != nil || s.cfg.Shared {
			wait = s.cfg.Poll
		}
		if err == nil && !next.IsZero() {
			wait = min(max(next.Sub(s.Now()), 0), s.cfg.Poll)
		}
		timer := time.NewTimer(wait)
		select {
		case <-s.wake:
		case <-timer.C:
		case <-ctx.Done():
		}
		timer.Stop()
	}
}

// Tick starts everything due now and returns the time of the next check: the zero time when nothing is scheduled, or
// nothing can start before a run has ended. Several missed times are made up for by one start.
func (s *Scheduler) Tick(ctx context.Context) (time.Time, error) {
	for {
		free := s.cfg.MaxRuns - s.count()
		if free <= 0 {
			return time.Time{}, nil
		}
		due, err := s.cfg.DB.DueCrons(ctx, s.Now(), free)
		if err != nil {
			return time.Time{}, err
		}
		if len(due) == 0 {
			return s.cfg.DB.NextCron(ctx)
		}
		for _, c := range due {
			if _, err := s.start(ctx, c, c.NextAt, Scheduled); err != nil {
				return time.Time{}, err
			}
		}
	}
}

func (s *Scheduler) count() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.live)
}

// Plan returns when a cron is due after t, the zero time when never: by its schedule until its end, or once.
func Plan(c store.Cron, t time.Time) (time.Time, error) {
	var at time.Time
	switch c.Kind {
	case store.CronOnce:
		if at = c.RunAt; !at.After(t) {
			return time.Time{}, nil
		}
	default:
		loc, err := Zone(c.Timezone)
		if err != nil {
			return at, err
		}
		if _, err := Check(c.Schedule); err != nil {
			return at, err
		}
		var ok bool
		if at, ok = Next(c.Schedule, loc, t); !ok {
			return time.Time{}, nil
		}
	}
	if !c.EndAt.IsZero() && at.After(c.EndAt) {
		return time.Time{}, nil
	}
	return at, nil
}

// grace is the delay up to which a start is on time: the clock is polled, and other runs may be ahead.
const grace = 2 * time.Minute

// maxMissed limits how far back missed times are counted.
const maxMissed = 1000

// Missed reports how late a scheduled start was, and how many due times before it had no start: one start makes up for
// all.
func Missed(c store.Cron, r store.CronRun) (late time.Duration, times int) {
	if late = r.StartedAt.Sub(r.DueAt); r.Trigger != Scheduled || r.StartedAt.IsZero() || late < grace {
		return 0, 0
	}
	loc, err := Zone(c.Timezone)
	if err != nil || c.Kind != store.CronRepeats {
		return late, 0
	}
	for at := r.DueAt; times < maxMissed; times++ {
		next, ok := Next(c.Schedule, loc, at)
		if !ok || next.After(r.StartedAt) {
			break
		}
		at = next
	}
	return late, times
}
