package memory

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"fawn/store"
)

// Lesson is the conversation of a thread since the last lesson.
type Lesson struct {
	Owner  string `json:"owner"`
	Agent  string `json:"agent,omitempty"` // "" is the lead agent
	Thread string `json:"thread"`
	Run    string `json:"run"`             // the last one
	Model  string `json:"model,omitempty"` // model of the run
	Due    int64  `json:"due"`             // in milliseconds
	Said   []Said `json:"said"`

	body []byte // stored form
}

// maxPending limits the active runs with something to learn from.
const maxPending = 4096

// pending holds lessons of runs that are about to end, and the threads with stored lessons.
type pending struct {
	mu      sync.Mutex
	runs    map[string]Lesson
	waiting map[string]bool // refreshed with each poll of the store, so it may be outdated for a moment
}

// full reports whether no lesson of another thread should be stored.
func (p *pending) full(thread string, depth int) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return depth > 0 && len(p.waiting) >= depth && !p.waiting[thread]
}

// stored records a pending lesson of a thread.
func (p *pending) stored(thread string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.waiting[thread] = true
}

// seen records the currently waiting lessons.
func (p *pending) seen(list []Lesson) {
	p.mu.Lock()
	defer p.mu.Unlock()
	clear(p.waiting)
	for _, l := range list {
		p.waiting[l.Thread] = true
	}
}

// done records that a thread has no pending lesson.
func (p *pending) done(thread string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.waiting, thread)
}

// Queued counts the threads with pending lessons, as of the last poll.
func (s *Service) Queued() int {
	s.pending.mu.Lock()
	defer s.pending.mu.Unlock()
	return len(s.pending.waiting)
}

// Learn queues a thread's conversation at the end of a run. It is stored with the run's end: see [Service.Ending].
func (s *Service) Learn(ctx context.Context, l Lesson) error {
	rules := s.Rules()
	if !rules.Enabled {
		return nil
	}
	if muted, err := s.Muted(ctx, l.Owner); muted || err != nil {
		return err
	}
	metadata, _, off, last, err := s.DB.ThreadKV(ctx, l.Thread, offSpace, learnedSpace)
	if len(off) > 0 || err != nil || (store.Thread{Metadata: metadata}).Temporary() {
		return err
	}
	if l.Said = Filter(since(l.Said, string(last))); l.Said == nil {
		return nil
	}
	if s.pending.full(l.Thread, rules.QueueDepth) && len(hints(l.Said)) == 0 {
		s.Log.Warn("memory queue full; skipped a conversation", "thread", l.Thread,
			"waiting", rules.QueueDepth)
		return nil
	}
	l.Due = s.Now().Add(rules.Debounce).UnixMilli()
	s.pending.mu.Lock()
	defer s.pending.mu.Unlock()
	if len(s.pending.runs) >= maxPending {
		clear(s.pending.runs)
	}
	s.pending.runs[l.Run] = l
	return nil
}

// Ending returns the values to store in the commit that ends a run, and the function to call afterwards.
func (s *Service) Ending(run string) (list []store.KV, stored func()) {
	s.pending.mu.Lock()
	l, ok := s.pending.runs[run]
	delete(s.pending.runs, run)
	s.pending.mu.Unlock()
	if !ok {
		return nil, func() {}
	}
	body, err := encode(l)
	if err != nil {
		s.Log.Warn("couldn't queue a conversation for memory", "thread", l.Thread, "err", err)
		return nil, func() {}
	}
	return []store.KV{{Owner: store.Global, Space: lessonSpace, Key: l.Thread, Body: body}}, func() {
		s.pending.stored(l.Thread)
		s.Wake()
	}
}

// Wake makes [Service.Run] look for lessons, for instance of other servers.
func (s *Service) Wake() {
	select {
	case s.wake <- struct{}{}:
	default: // one is pending already
	}
}

// learned returns the id of the last message of a thread that was learned from.
func (s *Service) learned(ctx context.Context, thread string) (string, error) {
	id, err := s.DB.KV(ctx, store.Global, learnedSpace, thread)
	if errors.Is(err, store.ErrNotFound) {
		return "", nil
	}
	return string(id), err
}

// since returns the messages after one; all if it is missing.
func since(said []Said, id string) []Said {
	return said[slices.IndexFunc(said, func(m Said) bool { return m.ID == id })+1:]
}

// lessons returns the pending lessons in order of due time.
func (s *Service) lessons(ctx context.Context) ([]Lesson, error) {
	rows, err := s.DB.KVs(ctx, store.Global, lessonSpace, "")
	if err != nil {
		return nil, fmt.Errorf("list lessons: %w", err)
	}
	var list []Lesson
	for _, kv := range rows {
		var l Lesson
		if err := json.Unmarshal(kv.Body, &l); err != nil {
			s.Log.Warn("couldn't read a queued conversation; skipped it", "thread", kv.Key, "err", err)
			continue
		}
		l.Thread, l.body = kv.Key, kv.Body
		list = append(list, l)
	}
	slices.SortStableFunc(list, func(a, b Lesson) int { return cmp.Compare(a.Due, b.Due) })
	return list, nil
}

// Waiting counts the threads with pending lessons.
func (s *Service) Waiting(ctx context.Context) (int, error) {
	keys, err := s.DB.Keys(ctx, store.Global, lessonSpace)
	return len(keys), err
}

// Number of attempts for a lesson, and the delay after each failure.
const (
	maxAttempts = 3
	pause       = time.Minute
)

// failed records a lesson's failures and its next attempt.
type failed struct {
	body  string
	times int
	again time.Time
}

// batch is the minimum interval of polling for lessons, so that lessons due in short succession are read together.
const batch = time.Second

// Run processes due lessons until ctx ends. The next server processes the rest.
func (s *Service) Run(ctx context.Context) {
	tried := map[string]failed{}
	for ctx.Err() == nil {
		next := s.work(ctx, tried)
		for next.IsZero() && ctx.Err() == nil {
			select {
			case <-ctx.Done():
			case <-s.wake:
				next = s.Now().Add(s.Rules().Debounce) // the earliest due time of lessons stored just now
			}
		}
		select {
		case <-ctx.Done():
		case <-s.After(max(next.Sub(s.Now()), batch)):
		}
	}
}

// work processes due lessons and returns the due time of the next; zero without one.
func (s *Service) work(ctx context.Context, tried map[string]failed) (next time.Time) {
	list, err := s.lessons(ctx)
	if err != nil {
		if ctx.Err() == nil {
			s.Log.Warn("couldn't read the memory queue", "err", err)
		}
		return s.Now().Add(pause)
	}
	s.pending.seen(list)
	for _, l := range list {
		due := time.UnixMilli(l.Due)
		was := tried[l.Thread]
		if was.body != string(l.body) {
			was = failed{body: string(l.body)}
		}
		if was.again.After(due) {
			due = was.again
		}
		if due.After(s.Now()) {
			if next.IsZero() || due.Before(next) {
				next = due
			}
			continue
		}
		err := s.learn(ctx, l, was.times+1 >= maxAttempts)
		if ctx.Err() != nil {
			return next
		}
		delete(tried, l.Thread)
		if err == nil {
			s.pending.done(l.Thread)
			continue
		}
		s.Log.Warn("couldn't update memory from a conversation", "thread", l.Thread, "attempt", was.times+1, "err", err)
		if was.times++; was.times >= maxAttempts {
			s.drop(ctx, l)
			continue
		}
		was.again = s.Now().Add(time.Duration(was.times) * pause)
		tried[l.Thread] = was
		if next.IsZero() || was.again.Before(next) {
			next = was.again
		}
	}
	return next
}

// drop gives up a lesson, unless a newer one has replaced it.
func (s *Service) drop(ctx context.Context, l Lesson) {
	_, err := s.change(ctx, l.Owner, also{drop: []store.KV{l.row()}}, func(*snapshot) error { return nil })
	if err != nil && ctx.Err() == nil {
		s.Log.Warn("couldn't drop a queued conversation", "thread", l.Thread, "err", err)
	}
}

func (l *Lesson) row() store.KV {
	return store.KV{Owner: store.Global, Space: lessonSpace, Key: l.Thread, Body: l.body}
}

// learn asks a model to extract facts from a lesson and applies them. Without a model, and when the last attempt fails,
// only explicit wishes count.
func (s *Service) learn(ctx context.Context, l Lesson, last bool) error {
	rules := s.Rules()
	mark, err := s.learned(ctx, l.Thread)
	if err != nil {
		return err
	}
	silent, err := s.silent(ctx, l.Owner, l.Thread) // whether it was quiet since it was noted
	if err != nil {
		return err
	}
	said := Filter(since(l.Said, mark))
	if said == nil || silent || !rules.Enabled {
		s.drop(ctx, l)
		return nil
	}
	learner, err := s.Learner(ctx, l.Owner, l.Thread)
	if err != nil {
		return err
	}
	b, err := s.snapshot(ctx, learner)
	if err != nil {
		return err
	}
	stale := rules.stale(b, l.Agent, s.Now())
	a, err := s.extract(ctx, l, said, b, stale)
	if errors.Is(err, ErrNoModel) || err != nil && last && ctx.Err() == nil {
		if err != nil && !errors.Is(err, ErrNoModel) {
			s.Log.Warn("no model for memory; storing explicit requests only",
				"thread", l.Thread, "err", err)
		}
		a, err = answer{}, nil
		for _, f := range explicit(said) {
			a.facts = append(a.facts, &f)
		}
	}
	if err != nil {
		return err
	}
	g := gate{rules: rules, now: s.now(), agent: l.Agent, thread: l.Thread}
	for _, f := range stale {
		g.stale = append(g.stale, f.ID)
	}
	for _, m := range said {
		if m.Human {
			g.message = m.ID
		}
	}
	var o outcome
	learned := store.KV{Owner: store.Global, Space: learnedSpace, Key: l.Thread, Body: []byte(said[len(said)-1].ID)}
	_, err = s.change(ctx, learner, also{put: []store.KV{learned}, drop: []store.KV{l.row()}}, func(b *snapshot) error {
		o = g.apply(b, a)
		return nil
	})
	if err == nil {
		s.Log.Debug("updated memory from a conversation", "thread", l.Thread, "new", o.added, "confirmed", o.confirmed,
			"removed", o.removed, "rejected", o.rejected)
	}
	return err
}

// extract calls a model.
func (s *Service) extract(ctx context.Context, l Lesson, said []Said, b *snapshot, stale []Fact) (answer, error) {
	text, err := s.Ask(ctx, l, s.prompt(l, said, b, stale))
	if err != nil {
		return answer{}, err
	}
	return parseAnswer(text)
}
