package history_test

import (
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"syscall"
	"time"
)

// mishap is something that happens to a server or the database, and is over when it returns.
type mishap struct {
	name string
	do   func(c *cluster, s *server, r *rand.Rand)
}

func between(r *rand.Rand, low, high time.Duration) time.Duration {
	return low + time.Duration(r.Int64N(int64(high-low)))
}

// mishaps are all there are, or those that FAWN_TEST_MISHAPS names. How long a pause is decides whether the server is
// evicted meanwhile.
func mishaps() []mishap {
	const ms = time.Millisecond
	all := []mishap{
		{"kill -9", func(_ *cluster, s *server, r *rand.Rand) {
			s.signal(syscall.SIGKILL, between(r, 0, 10*time.Second))
		}},
		{"SIGTERM", func(_ *cluster, s *server, r *rand.Rand) {
			s.signal(syscall.SIGTERM, between(r, 0, 3*time.Second))
		}},
		{"SIGSTOP", func(_ *cluster, s *server, r *rand.Rand) {
			s.signal(syscall.SIGSTOP, 0)
			time.Sleep(between(r, 500*ms, 3*time.Second))
			s.signal(syscall.SIGCONT, 0)
		}},
		{"long SIGSTOP", func(_ *cluster, s *server, r *rand.Rand) {
			s.signal(syscall.SIGSTOP, 0)
			time.Sleep(between(r, lease, lease+4*time.Second))
			s.signal(syscall.SIGCONT, 0)
		}},
		{"connections drop", func(_ *cluster, s *server, r *rand.Rand) {
			for range 1 + r.IntN(4) {
				s.wire.Break()
				time.Sleep(between(r, 5*ms, 400*ms))
			}
		}},
		{"answers are lost", func(_ *cluster, s *server, r *rand.Rand) {
			s.wire.Mute()
			time.Sleep(between(r, 5*ms, 1500*ms))
			s.wire.Break()
			s.wire.Thaw()
		}},
		{"network is gone", func(_ *cluster, s *server, r *rand.Rand) {
			s.wire.Freeze()
			time.Sleep(between(r, 100*ms, lease+3*time.Second))
			s.wire.Thaw()
		}},
		{"network is slow", func(_ *cluster, s *server, r *rand.Rand) {
			s.wire.Delay(between(r, 5*ms, 60*ms))
			time.Sleep(between(r, 500*ms, 3*time.Second))
			s.wire.Delay(0)
		}},
		{"PostgreSQL crashes", func(c *cluster, _ *server, r *rand.Rand) {
			c.crash(between(r, 0, time.Second))
		}},
		{"PostgreSQL pauses", func(c *cluster, _ *server, r *rand.Rand) {
			c.pause(between(r, 500*ms, 3*time.Second))
		}},
		{"long pause of PostgreSQL", func(c *cluster, _ *server, r *rand.Rand) {
			c.pause(between(r, lease, lease+2*time.Second))
		}},
	}
	names := strings.Split(os.Getenv("FAWN_TEST_MISHAPS"), ",")
	some := slices.DeleteFunc(slices.Clone(all), func(m mishap) bool { return !slices.Contains(names, m.name) })
	if len(some) > 0 {
		return some
	}
	return all
}
