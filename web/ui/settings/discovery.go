package settings

import (
	"context"
	"slices"
	"sync"
	"time"

	"fawn/agent/llm"
)

const (
	discoverEvery = 30 * time.Second      // how long a discovery counts as fresh
	discoverWait  = 50 * time.Millisecond // how long a page waits for a discovery
	discoverTime  = 2 * time.Second       // time limit of a discovery
)

// discovery caches the model servers found on this machine. At most one discovery is under way; it ends within
// discoverTime.
type discovery struct {
	mu    sync.Mutex
	found []llm.Found
	at    time.Time
	look  chan struct{} // closed when the current discovery ends; nil without one
}

// known returns the last found model servers. If the result is old, it searches again, and waits only briefly for the
// outcome.
func (d *discovery) known(ctx context.Context, find func(context.Context) []llm.Found) []llm.Found {
	d.mu.Lock()
	if time.Since(d.at) > discoverEvery && d.look == nil {
		d.look = make(chan struct{})
		go d.run(context.WithoutCancel(ctx), find, d.look)
	}
	look := d.look
	d.mu.Unlock()
	if look != nil {
		wait := time.NewTimer(discoverWait)
		defer wait.Stop()
		select {
		case <-look:
		case <-wait.C:
		case <-ctx.Done():
		}
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	return slices.Clone(d.found)
}

func (d *discovery) run(ctx context.Context, find func(context.Context) []llm.Found, done chan struct{}) {
	ctx, cancel := context.WithTimeout(ctx, discoverTime)
	defer cancel()
	found := find(ctx)
	d.mu.Lock()
	d.found, d.at, d.look = found, time.Now(), nil
	d.mu.Unlock()
	close(done)
}
