package commit

import (
	"sync"
	"time"
)

const (
	slowGroup   = 500 * time.Millisecond // a commit that takes longer is slow
	strainTime  = 10 * time.Second       // period over which commits are judged
	strainLeast = 5                      // slow commits in that period, or half of it spent on them, that count as strain
)

// Meter observes this server's work on a shared database. Its methods must be quick; they are called for groups and
// claims, never for a token.
type Meter interface {
	// Group reports a committed group of changes: their number, the duration of the commit, and how long its oldest
	// token waited until it was durable, 0 for a group without one.
	Group(items int, took, waited time.Duration)
	// Claim reports one search for runs that this server may have.
	Claim(took time.Duration)
	// Said reports how long a notification for other servers waited until it was sent.
	Said(waited time.Duration)
	// TakeOver counts runs that this server takes over because of "eviction" or "drain".
	TakeOver(cause string, runs int)
	// Missed counts work found without a notification.
	Missed()
}

// NoMeter is a Meter that observes nothing.
type NoMeter struct{}

// Group implements [Meter].
func (NoMeter) Group(int, time.Duration, time.Duration) {}

// Claim implements [Meter].
func (NoMeter) Claim(time.Duration) {}

// Said implements [Meter].
func (NoMeter) Said(time.Duration) {}

// TakeOver implements [Meter].
func (NoMeter) TakeOver(string, int) {}

// Missed implements [Meter].
func (NoMeter) Missed() {}

// strain detects slow commits: whether more than one in a hundred of the last seconds' commits was slow, and not by
// chance.
type strain struct {
	mu      sync.Mutex
	seconds [strainTime / time.Second]struct {
		at       int64 // its number
		all      int
		slow     int
		slowTime time.Duration
	}
	told bool // strain was reported
}

// add records a commit that ended at a moment. changed means that the result of heavy differs from then on.
func (s *strain) add(now time.Time, took time.Duration) (heavy, changed bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	sec := &s.seconds[now.Unix()%int64(len(s.seconds))]
	if sec.at != now.Unix() {
		sec.at, sec.all, sec.slow, sec.slowTime = now.Unix(), 0, 0, 0
	}
	sec.all++
	if took > slowGroup {
		sec.slow++
		sec.slowTime += took
	}
	heavy = s.look(now)
	changed, s.told = heavy != s.told, heavy
	return heavy, changed
}

// heavy reports whether commits take too long.
func (s *strain) heavy(now time.Time) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.look(now)
}

func (s *strain) look(now time.Time) bool {
	all, slow, slowTime := 0, 0, time.Duration(0)
	for _, sec := range s.seconds {
		if now.Unix()-sec.at < int64(len(s.seconds)) {
			all, slow, slowTime = all+sec.all, slow+sec.slow, slowTime+sec.slowTime
		}
	}
	return slow*100 > all && (slow >= strainLeast || slowTime >= strainTime/2)
}

// Strained reports whether commits take too long.
func (w *Writer) Strained() bool { return w.strain.heavy(time.Now()) }

// measure records the duration of a group.
func (w *Writer) measure(g *Group, took time.Duration, err error) {
	if w.committed != nil {
		w.committed(took, err)
	}
	if w.meter == nil || err != nil {
		return
	}
	now, waited := time.Now(), time.Duration(0)
	if !g.since.IsZero() {
		waited = now.Sub(g.since)
	}
	w.meter.Group(g.items, took, waited)
	switch heavy, changed := w.strain.add(now, took); {
	case changed && heavy:
		w.log.Warn("commits are slow; not claiming runs", "took", took)
	case changed:
		w.log.Info("commits are fast again; claiming runs")
	}
}
