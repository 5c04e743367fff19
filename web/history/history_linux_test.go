// Package history_test has several real servers share a real PostgreSQL, lets misfortune befall them at random moments
// while clients start, follow and end runs, and then checks what clients were shown against what is stored.
package history_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"fawn/web/e2e/gate"
)

// How a round goes: clients begin new things for so long, while so many misfortunes happen.
const (
	working = 3 * time.Second
	threads = 4
	crowd   = 6
)

// TestHistory goes through rounds until their number or the time is over. FAWN_TEST_SEED repeats
// what was chosen in a run that failed, though not how fast the machine was.
func TestHistory(t *testing.T) {
	rounds, most := gate.Pick(3, 20, 200), gate.Pick(20*time.Second, 130*time.Second, 30*time.Minute)
	if n, err := strconv.Atoi(os.Getenv("FAWN_TEST_ROUNDS")); err == nil {
		rounds = n
	}
	newCluster(t, "notify").history(t, rounds, most)
}

// TestHistoryWithoutHints is the same where servers only look, and where some of what they tell each other is lost.
func TestHistoryWithoutHints(t *testing.T) {
	gate.In(t, gate.Cluster, "make test has three rounds with hints")
	rounds, most := gate.Pick(0, 3, 20), gate.Pick(0, 30*time.Second, 5*time.Minute)
	t.Run("poll", func(t *testing.T) { newCluster(t, "poll").history(t, rounds, most) })
	t.Run("lost", func(t *testing.T) {
		c := newCluster(t, "notify")
		for _, s := range c.servers {
			s.wire.Lose(0.3)
			s.wire.Break()
		}
		c.history(t, rounds, most)
	})
}

// history goes through rounds, and checks after each.
func (c *cluster) history(t *testing.T, rounds int, most time.Duration) {
	t.Helper()
	seed := uint64(time.Now().UnixNano())
	if n, err := strconv.ParseUint(os.Getenv("FAWN_TEST_SEED"), 10, 64); err == nil {
		seed = n
	}
	t.Logf("FAWN_TEST_SEED=%d", seed)
	r := rand.New(rand.NewPCG(seed, 1))
	var total struct{ rounds, runs, frames, cuts, undone, calls int }
	began := time.Now()
	tried := func() bool { return total.frames > 0 && total.calls > 0 && total.cuts > 0 }
	// Where pauses took the time of most rounds, more of them are gone through, so that something is put to the test.
	for total.rounds < rounds && time.Since(began) < most || !tried() && time.Since(began) < 6*most {
		total.rounds++
		cs, what := c.round(t, r, total.rounds)
		shown, undone := cs.compare(t)
		called := c.sound(cs.threads)
		for _, rec := range cs.records {
			total.cuts += rec.cuts
		}
		total.runs, total.frames = total.runs+len(cs.records), total.frames+shown
		total.undone, total.calls = total.undone+undone, total.calls+called
		t.Logf("round %d, %v: %s; %d frames of %d runs, %d rolled back, %d calls; %v", total.rounds,
			time.Since(began).Round(time.Second), strings.Join(what, ", "), shown, len(cs.records), undone, called, cs)
		if t.Failed() {
			t.Fatalf("after round %d, FAWN_TEST_SEED=%d", total.rounds, seed)
		}
	}
	c.check()
	t.Logf("%+v in %v", total, time.Since(began))
	if !tried() {
		t.Error("nothing was put to the test")
	}
}

// round lets clients work while things happen, and waits until all have ended what they began.
func (c *cluster) round(t *testing.T, r *rand.Rand, n int) (*clients, []string) {
	t.Helper()
	cs := &clients{c: c, until: time.Now().Add(working), asked: map[string]int{}}
	for i := range threads {
		cs.threads = append(cs.threads, fmt.Sprintf("r%d-%d", n, i))
	}
	ctx, cancel := context.WithTimeout(t.Context(), 4*time.Minute)
	defer cancel()
	var people, fate sync.WaitGroup
	for range crowd {
		seed := r.Uint64()
		people.Go(func() { cs.work(ctx, seed) })
	}
	var what []string
	all := mishaps()
	for range 1 + r.IntN(3) {
		m, s, wait := all[r.IntN(len(all))], c.servers[r.IntN(len(c.servers))], between(r, 0, working)
		seed := r.Uint64()
		what = append(what, fmt.Sprintf("%s of %s after %v", m.name, s.name, wait.Round(time.Millisecond)))
		fate.Go(func() {
			time.Sleep(wait)
			m.do(c, s, rand.New(rand.NewPCG(seed, 3)))
		})
	}
	fate.Wait()
	people.Wait()
	if ctx.Err() != nil {
		t.Errorf("round %d: clients still wait after four minutes: %s", n, strings.Join(what, ", "))
	}
	c.up()
	c.quiet()
	return cs, what
}
