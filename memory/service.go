package memory

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"fawn/store"
)

// Errors of a [Service], for errors.Is.
var (
	ErrDuplicate = errors.New("this is already remembered")
	ErrEvicted   = errors.New("the memory is full of facts with higher confidence")
	ErrChanged   = errors.New("the memory was changed meanwhile")
	ErrNotFound  = errors.New("no such fact")
	ErrNoUndo    = errors.New("there is nothing to undo")
	// ErrNoModel is returned by [Ask] if no model is available.
	ErrNoModel = errors.New("no model is available")
)

// Rules is the current configuration.
type Rules struct {
	Enabled    bool
	Inject     bool
	Debounce   time.Duration // quiet time before learning from a thread
	QueueDepth int           // threads that may wait; 0 = no limit
	Path       string        // path of a memory.json to import; "" = none

	MaxFacts   int     // limit per agent
	Confidence float64 // minimum confidence of a fact

	InjectFacts      int // limit per request
	InjectTokens     int
	Guaranteed       []string // categories included first
	GuaranteedTokens int      // token budget for these

	Review        bool // review whether old facts still hold
	StaleDays     int
	StaleLeast    int // minimum number of candidates for a review
	StaleMost     int // limit of removals per review
	StaleKeep     []string
	StaleLifetime float64 // longest life of a new fact, in StaleDays
	StaleExtend   int     // longest life after an extension, in days
}

// Ask makes one model call for a lesson. It returns ErrNoModel if there is no model.
type Ask func(ctx context.Context, l Lesson, prompt string) (string, error)

// Config are the parts a Service needs.
type Config struct {
	DB    *store.DB
	Rules func() Rules
	Ask   Ask // nil uses no model
	// Scope returns the memories used by an owner's thread; nil uses the owner's only.
	Scope  func(ctx context.Context, owner, thread string) (Scope, error)
	Escape func(string) string // escapes untrusted text for a prompt
	Now    func() time.Time    // nil is the clock of DB
	After  func(time.Duration) <-chan time.Time
	Log    *slog.Logger
}

// Service remembers.
type Service struct {
	Config
	pending pending
	wake    chan struct{} // one token: lessons may be waiting

	mu     sync.Mutex
	caches map[string]*ownerCache
}

// ownerCache holds the newest snapshot of one owner.
type ownerCache struct {
	mu      sync.Mutex   // held while it is changed
	read    atomic.Int64 // when current was read or written, in nanoseconds; for databases that others change
	current atomic.Pointer[snapshot]
	undo    atomic.Pointer[snapshot] // the state before the last change, if that was manual
}

// maxOwners limits the owners that are cached.
const maxOwners = 64

// New returns a Service. Call [Service.Run] for it to learn.
func New(c Config) *Service {
	if c.Now == nil {
		c.Now = c.DB.Now
	}
	if c.After == nil {
		c.After = time.After
	}
	if c.Ask == nil {
		c.Ask = func(context.Context, Lesson, string) (string, error) { return "", ErrNoModel }
	}
	return &Service{Config: c, wake: make(chan struct{}, 1), caches: map[string]*ownerCache{},
		pending: pending{runs: map[string]Lesson{}, waiting: map[string]bool{}}}
}

func (s *Service) cache(owner string) *ownerCache {
	s.mu.Lock()
	defer s.mu.Unlock()
	oc := s.caches[owner]
	if oc == nil {
		if len(s.caches) >= maxOwners { // a user of an evicted cache notices at its commit
			clear(s.caches)
		}
		oc = &ownerCache{}
		s.caches[owner] = oc
	}
	return oc
}

// load returns the snapshot of an owner. The caller holds oc.mu.
func (s *Service) load(ctx context.Context, oc *ownerCache, owner string) (*snapshot, error) {
	if b := oc.current.Load(); b != nil && !s.old(oc) {
		return b, nil
	}
	began := time.Now()
	m, err := s.DB.Memory(ctx, owner)
	if err != nil {
		return nil, err
	}
	b, err := read(m)
	if err != nil {
		return nil, fmt.Errorf("read the memory of %s: %w", owner, err)
	}
	oc.read.Store(began.UnixNano())
	if was := oc.current.Load(); was != nil && was.revision == b.revision {
		return was, nil // it has indexes already
	}
	oc.undo.Store(nil)
	oc.current.Store(b)
	return b, nil
}

// fresh is the time for which a cached memory is trusted while other servers may change it.
const fresh = time.Second

func (s *Service) old(oc *ownerCache) bool {
	return s.DB.Clustered() && time.Since(time.Unix(0, oc.read.Load())) > fresh
}

// snapshot returns an owner's current memory.
func (s *Service) snapshot(ctx context.Context, owner string) (*snapshot, error) {
	oc := s.cache(owner)
	if b := oc.current.Load(); b != nil && !s.old(oc) {
		return b, nil
	}
	oc.mu.Lock()
	defer oc.mu.Unlock()
	return s.load(ctx, oc, owner)
}

// also is written in the same commit as a change.
type also struct {
	put, drop []store.KV
	undo      bool // the previous state can be restored
}

// tries limits the attempts of a change that conflicts with others.
const tries = 3

// change applies f to a copy of an owner's memory and returns the result.
func (s *Service) change(ctx context.Context, owner string, with also, f func(*snapshot) error) (*snapshot, error) {
	oc := s.cache(owner)
	oc.mu.Lock()
	defer oc.mu.Unlock()
	for try := 1; ; try++ {
		before, err := s.load(ctx, oc, owner)
		if err != nil {
			return nil, err
		}
		after := before.clone()
		if err := f(after); err != nil {
			return nil, err
		}
		err = s.write(ctx, oc, owner, with, before, after)
		if !errors.Is(err, store.ErrConflict) {
			return oc.current.Load(), err
		}
		oc.current.Store(nil)
		if try == tries {
			return nil, fmt.Errorf("%w: %w", ErrChanged, err)
		}
	}
}

// write stores the differences. oc.mu is held.
func (s *Service) write(ctx context.Context, oc *ownerCache, owner string, with also, before, after *snapshot) error {
	c, differs, err := difference(before, after)
	if err != nil {
		return err
	}
	if !differs {
		c = store.MemoryChange{From: before.revision}
	}
	c.KV, c.Drop = with.put, with.drop
	c.Owner, c.At = owner, s.Now()
	revision, err := s.DB.ChangeMemory(ctx, c)
	if err != nil {
		if !errors.Is(err, store.ErrConflict) {
			oc.current.Store(nil) // an interrupted write may have been stored
		}
		return err
	}
	if !differs {
		return nil
	}
	changed := map[store.FactKey]bool{}
	for _, f := range c.Put {
		changed[store.FactKey{Agent: f.Agent, ID: f.ID}] = true
	}
	for i, f := range after.facts {
		if changed[store.FactKey{Agent: f.Agent, ID: f.ID}] {
			after.facts[i].Revision = revision
		}
	}
	after.revision, after.updated = revision, time.UnixMilli(c.At.UnixMilli()).UTC()
	after.indexes = &indexes{}
	oc.current.Store(after)
	if oc.undo.Store(nil); with.undo {
		oc.undo.Store(before)
	}
	return nil
}

// fileOf reads a memory.json; a missing one is empty.
func fileOf(path string) ([]byte, error) {
	if path == "" {
		return nil, nil
	}
	info, err := os.Stat(path)
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	if info.Size() > maxFile {
		return nil, &DocumentError{path, fmt.Sprintf("is longer than %d bytes", maxFile)}
	}
	return os.ReadFile(path)
}

// maxFile limits a memory.json, in bytes.
const maxFile = 16 << 20

// Scope lists the memories a thread uses. An owner here is any name under which facts are stored.
type Scope struct {
	Learn string   // receives the thread's facts
	Read  []string // read by models, in this order
}

// scope returns the current scope of an owner's thread.
func (s *Service) scope(ctx context.Context, owner, thread string) (Scope, error) {
	if s.Scope == nil {
		return Scope{owner, []string{owner}}, nil
	}
	scope, err := s.Scope(ctx, owner, thread)
	if err != nil {
		return Scope{}, fmt.Errorf("find the memory of thread %s: %w", thread, err)
	}
	return scope, nil
}

// Learner returns the owner whose memory receives the facts of an owner's thread.
func (s *Service) Learner(ctx context.Context, owner, thread string) (string, error) {
	scope, err := s.scope(ctx, owner, thread)
	return scope.Learn, err
}

// Known returns all facts that a thread of owner's reads or has taught, whichever agent's they are.
func (s *Service) Known(ctx context.Context, owner, thread string) ([]Fact, error) {
	scope, err := s.scope(ctx, owner, thread)
	if err != nil {
		return nil, err
	}
	var all []Fact
	for i, of := range append([]string{scope.Learn}, scope.Read...) {
		if i > 0 && slices.Contains(append([]string{scope.Learn}, scope.Read[:i-1]...), of) {
			continue
		}
		facts, err := s.All(ctx, of)
		if err != nil {
			return nil, err
		}
		all = append(all, facts...)
	}
	return all, nil
}
