package store

import (
	"sync/atomic"
	"time"
)

// clock is the time that the servers of a database have in common: that of the database, as it was told last, and by
// how much has passed here since then. The nil one is that of this machine, for a database that is a file.
type clock struct {
	told atomic.Pointer[reading]
}

// reading is the database's time at a moment of the local monotonic clock.
type reading struct{ here, there time.Time }

// Now returns the time by the clock that all servers of the database share. What is stored for others, and what they
// have stored, is to be compared with it, as the clocks of servers may differ. It is not for measuring how long
// something takes: the clock may be set.
func (db *DB) Now() time.Time { return db.w.clock.now() }

// clockOf returns the clock of an engine's database.
func clockOf(e engine) *clock {
	if pg, ok := e.(*postgresEngine); ok {
		return &pg.node.clock
	}
	return nil
}

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

// hear updates the clock from a time that the database reported between two local moments. As long as it could have
// said what we think, nothing changes, so that the clock doesn't waver with how long answers take.
func (c *clock) hear(sent, got, said time.Time) {
	if r := c.told.Load(); r != nil {
		least, most := r.there.Add(sent.Sub(r.here)), r.there.Add(got.Sub(r.here))
		if !said.Before(least) && !said.After(most) {
			return
		}
	}
	c.told.Store(&reading{here: sent.Add(got.Sub(sent) / 2), there: said})
}
