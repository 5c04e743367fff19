// Package caretaker does what is to be done once for all servers that share a database: on the one that has the duty.
// A server that is alone has it always.
package caretaker

import (
	"context"
	"log/slog"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	"fawn/store"
)

const (
	name      = "caretaker"
	lookEvery = time.Second // for the duty, and for servers that are gone, in what the server has seen by itself
	leaveTime = 2 * time.Second
)

// Caretaker has the jobs of one server.
type Caretaker struct {
	DB   *store.DB
	Jobs []func(ctx context.Context) // each until ctx ends
	// Gone is called when the duty begins, and whenever another server is gone, with those that are left. It has jobs
	// go on that nobody else goes on with. nil for nothing.
	Gone func(ctx context.Context, servers []int64)
	Log  *slog.Logger

	begin sync.Once
	stop  context.CancelFunc
	done  chan struct{}
}

// Start begins to look for the duty.
func (c *Caretaker) Start() {
	c.begin.Do(func() {
		ctx, stop := context.WithCancel(context.Background())
		c.stop, c.done = stop, make(chan struct{})
		go func() {
			defer close(c.done)
			if c.DB.Clustered() {
				c.seek(ctx)
			} else {
				c.work(ctx)
			}
		}()
	})
}

// Leave ends the jobs, waits for them and lets another server have the duty. It can be called again.
func (c *Caretaker) Leave() {
	c.begin.Do(func() {}) // never starts any more
	if c.stop != nil {
		c.stop()
		<-c.done
	}
}

// work does the jobs until ctx ends.
func (c *Caretaker) work(ctx context.Context) {
	var jobs sync.WaitGroup
	for _, job := range c.Jobs {
		jobs.Go(func() { job(ctx) })
	}
	jobs.Wait()
}

// seek takes the duty as soon as nobody has it. Whoever has it loses it only with the right to write, which ends the
// process.
func (c *Caretaker) seek(ctx context.Context) {
	for {
		mine, err := c.DB.TakeDuty(ctx, name)
		if mine {
			break
		}
		if err != nil && ctx.Err() == nil && c.DB.Writable() {
			c.Log.Warn("the duties of the caretaker could not be taken", "err", err)
		}
		if !pause(ctx) {
			return
		}
	}
	c.Log.Info("this server is the caretaker", "node", c.DB.Self())
	var watching sync.WaitGroup
	watching.Go(func() { c.watch(ctx) })
	c.work(ctx)
	watching.Wait()
	leaving, cancel := context.WithTimeout(context.WithoutCancel(ctx), leaveTime)
	defer cancel()
	if err := c.DB.LeaveDuty(leaving, name); err != nil && c.DB.Writable() {
		c.Log.Warn("another server is the caretaker when this one has ended", "err", err)
	}
}

// watch looks for servers that are gone.
func (c *Caretaker) watch(ctx context.Context) {
	if c.Gone == nil {
		return
	}
	for known := []int64(nil); ; {
		now, err := c.DB.ServersSeen(ctx)
		left := func(id int64) bool { return !slices.Contains(now, id) }
		if err == nil && (known == nil || slices.ContainsFunc(known, left)) {
			if now, err = c.DB.Servers(ctx); err == nil { // also those that have come since
				c.Gone(ctx, now)
			}
		}
		switch {
		case err == nil:
			known = now
		case ctx.Err() == nil && c.DB.Writable():
			c.Log.Warn("other servers could not be listed", "err", err)
		}
		if !pause(ctx) {
			return
		}
	}
}

// pause is false when ctx ends.
func pause(ctx context.Context) bool {
	timer := time.NewTimer(lookEvery*4/5 + rand.N(lookEvery*2/5))
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-timer.C:
		return true
	}
}
