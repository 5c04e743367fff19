package postgres

import (
	"sync/atomic"
	"time"
)

// clock is the common time of a database's servers: the database's last reported time plus the local time passed since.
// A nil clock is the machine's, for a database in a file.
type clock struct {
	told atomic.Pointer[reading]
}

// reading is the database's time at a moment of the local monotonic clock.
type reading struct{ here, there time.Time }

func (c *clock) now() time.Time {
	if c == nil {
		return time.Now()
	}
	r := c.told.Load()
	if r == nil {
		return time.Now()
	}
	return r.there.Add(time.Since(r.here))
}

// hear updates the clock with a time that the database reported between two local moments. While the estimate is
// consistent with it nothing changes, so the clock doesn't fluctuate with response times.
func (c *clock) hear(sent, got, said time.Time) {
	if r := c.told.Load(); r != nil {
		least, most := r.there.Add(sent.Sub(r.here)), r.there.Add(got.Sub(r.here))
		if !said.Before(least) && !said.After(most) {
			return
		}
	}
	c.told.Store(&reading{here: sent.Add(got.Sub(sent) / 2), there: said})
}
