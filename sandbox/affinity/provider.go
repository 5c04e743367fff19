package affinity

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"fawn/sandbox"
	"fawn/store"
)

const (
	patience = 5 * time.Second        // see Config
	askEvery = 250 * time.Millisecond // polling interval without notifications
)

// provider waits for the end of sandboxes elsewhere before it returns one.
type provider struct {
	sandbox.Provider
	places *Places
}

// Acquire implements sandbox.Provider.
func (p *provider) Acquire(ctx context.Context, thread sandbox.ThreadRef, policy sandbox.Policy) (sandbox.Sandbox,
	error) {
	lost, err := p.places.fetch(ctx, thread.ID)
	if err != nil {
		return nil, err
	}
	if lost != "" {
		thread.Lost = lost
	}
	return p.Provider.Acquire(ctx, thread, policy)
}

// fetch ends a thread's sandbox on another server and returns the reason why its processes are lost, "" for none. After
// a timeout or a failed lookup it continues without: it only fails when ctx ends.
func (p *Places) fetch(ctx context.Context, thread string) (lost string, err error) {
	if p.here(thread) {
		return "", nil
	}
	at, err := p.db.Box(ctx, thread)
	if err != nil && ctx.Err() != nil {
		return "", context.Cause(ctx)
	}
	switch {
	case err != nil:
		p.log.Warn("couldn't find the server of a sandbox", "thread", thread, "err", err)
		return "", nil
	case at.Node == 0 || at.Node == p.db.Self():
		return "", nil
	case !at.Lives:
		return serverGone, nil
	}
	if ended, err := p.await(ctx, thread, at); err != nil {
		return "", err
	} else if !ended {
		p.log.Warn("sandbox still running on another server", "thread", thread, "server", at.Node)
	}
	if p.cfg.Dirs.Keeper != nil { // save the changes of its processes
		if release, err := p.cfg.Dirs.Keeper.Hold(thread); err == nil {
			release()
		} else {
			p.log.Warn("couldn't update a thread's files", "thread", thread, "err", err)
		}
	}
	return movedOn, nil
}

// Clear makes other servers end the sandboxes of a disabled user's threads once nothing runs for them, and waits for
// that. Its error lists those that haven't ended in time; their servers keep trying.
func (p *Places) Clear(ctx context.Context, threads []string) error {
	return p.clear(ctx, threads, func(_ context.Context, thread string) bool {
		p.db.BarBoxes([]string{thread})
		return true
	})
}

// End makes other servers end the sandboxes of threads, whatever runs there, and waits for that. Its error lists those that
// haven't ended in time; the servers that got the request keep trying.
func (p *Places) End(ctx context.Context, threads []string) error {
	return p.clear(ctx, threads, func(ctx context.Context, thread string) bool { return p.db.EndBox(ctx, thread) == nil })
}

func (p *Places) clear(ctx context.Context, threads []string, ask func(ctx context.Context, thread string) bool) error {
	if p == nil {
		return nil
	}
	at, err := make(map[string]store.Box, len(threads)), error(nil)
	var left []string
	for _, thread := range threads {
		box, failed := p.db.Box(ctx, thread)
		if err = errors.Join(err, failed); box.Lives && box.Node != p.db.Self() {
			at[thread], left = box, append(left, thread)
		}
	}
	ctx, cancel := context.WithTimeout(ctx, cmp.Or(p.cfg.Patience, patience))
	defer cancel()
	asked := make(map[string]bool, len(left)) // all of them, before the first one is waited for
	for _, thread := range left {
		asked[thread] = ask(ctx, thread)
	}
	for _, thread := range left {
		ended, failed := p.watch(ctx, thread, at[thread], func(ctx context.Context) bool { return asked[thread] || ask(ctx, thread) })
		if err = errors.Join(err, failed); !ended {
			err = errors.Join(err, fmt.Errorf("the sandbox of thread %s has not ended at server %d", thread, at[thread].Node))
		}
	}
	return err
}

// await requests the end of a sandbox and waits for it.
func (p *Places) await(ctx context.Context, thread string, at store.Box) (ended bool, err error) {
	return p.watch(ctx, thread, at, func(ctx context.Context) bool { return p.db.WishBoxAway(ctx, thread) == nil })
}

// watch waits for the end of a sandbox at another server. ask is called until it is true.
func (p *Places) watch(ctx context.Context, thread string, at store.Box,
	ask func(context.Context) bool) (ended bool, err error) {
	limited, cancel := context.WithTimeout(ctx, cmp.Or(p.cfg.Patience, patience))
	defer cancel()
	told := make(chan struct{}, 1)
	defer p.wait(told)()
	timer := time.NewTicker(askEvery)
	defer timer.Stop()
	for asked := false; ; {
		if !asked {
			asked = ask(limited) // otherwise ask again
		}
		if now, err := p.db.Box(limited, thread); err == nil && (now.Node != at.Node || !now.Lives) {
			return true, nil
		}
		select {
		case <-told:
		case <-timer.C:
		case <-limited.Done():
			if ctx.Err() != nil {
				return false, context.Cause(ctx)
			}
			return false, nil
		}
	}
}
