package postgres

import (
	"testing"
	"time"
)

// TestTheClockIsTheDatabases, and changes only when the database says what it couldn't say if we were right.
func TestTheClockIsTheDatabases(t *testing.T) {
	var alone *clock
	if off := time.Since(alone.now()); off < 0 || off > time.Minute {
		t.Errorf("a server that is alone is off by %v", off)
	}
	c, here, there := &clock{}, time.Now(), time.Now().Add(-time.Hour).Round(0)
	c.hear(here, here, there)
	if off := c.now().Sub(there); off < 0 || off > time.Minute {
		t.Errorf("off by %v", off)
	}
	was := c.told.Load()
	for _, step := range []struct {
		sent, got, said time.Duration
		stays           bool
	}{
		{time.Second, 2 * time.Second, 1500 * time.Millisecond, true},
		{time.Second, time.Second, time.Second, true},
		{3 * time.Second, 4 * time.Second, 2 * time.Second, false},
		{5 * time.Second, 6 * time.Second, time.Hour, false},
	} {
		c.hear(here.Add(step.sent), here.Add(step.got), there.Add(step.said))
		r := c.told.Load()
		if stays := r == was; stays != step.stays {
			t.Errorf("%+v: it stays: %v", step, stays)
		}
		if said := there.Add(step.said); !step.stays && (!r.there.Equal(said) ||
			!r.here.Equal(here.Add((step.sent+step.got)/2))) {
			t.Errorf("%+v: %+v", step, r)
		}
		was = r
		if !step.stays { // begin anew
			c.told.Store(&reading{here, there})
			was = c.told.Load()
		}
	}
}
