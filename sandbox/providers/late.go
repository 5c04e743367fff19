package providers

import (
	"context"
	"log/slog"

	"fawn/sandbox"
)

// late is a provider still being selected; its methods wait.
type late struct {
	chosen chan struct{} // closed when p is set
	stop   context.CancelFunc
	p      sandbox.Provider
}

// NewLate is [New] without waiting for the probes, which take tens of milliseconds: they run in the background, and
// every method waits for them. Invalid configurations return an error at once, matching ErrConfig.
func NewLate(cfg sandbox.Config) (sandbox.Provider, error) {
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	if cfg.Log == nil {
		cfg.Log = slog.New(slog.DiscardHandler)
	}
	ctx, stop := context.WithCancel(context.Background())
	l := &late{chosen: make(chan struct{}), stop: stop}
	go func() {
		defer close(l.chosen)
		p, err := New(ctx, cfg)
		if err != nil {
			if ctx.Err() == nil {
				cfg.Log.Error("couldn't open a sandbox", "err", err)
			}
			p = newOff(sandbox.Report{Provider: cfg.Provider, Reason: err.Error()})
		}
		l.p = p
	}()
	return l, nil
}

// wait returns the provider, or the end of ctx.
func (l *late) wait(ctx context.Context) (sandbox.Provider, error) {
	select {
	case <-l.chosen:
		return l.p, nil
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

// Name implements Provider.
func (l *late) Name() string {
	<-l.chosen
	return l.p.Name()
}

// Probe implements Provider.
func (l *late) Probe(ctx context.Context) sandbox.Report {
	p, err := l.wait(ctx)
	if err != nil {
		return sandbox.Report{Reason: err.Error()}
	}
	return p.Probe(ctx)
}

// Acquire implements Provider.
func (l *late) Acquire(ctx context.Context, thread sandbox.ThreadRef, policy sandbox.Policy) (sandbox.Sandbox, error) {
	p, err := l.wait(ctx)
	if err != nil {
		return nil, err
	}
	return p.Acquire(ctx, thread, policy)
}

// Destroy implements Provider.
func (l *late) Destroy(ctx context.Context, thread sandbox.ThreadRef, reason string) error {
	p, err := l.wait(ctx)
	if err != nil {
		return err
	}
	return p.Destroy(ctx, thread, reason)
}

// Restart implements Provider.
func (l *late) Restart(ctx context.Context, thread sandbox.ThreadRef, reason string) (bool, error) {
	p, err := l.wait(ctx)
	if err != nil {
		return false, err
	}
	return p.Restart(ctx, thread, reason)
}

// Close implements Provider. It ends the choice, too.
func (l *late) Close(ctx context.Context) error {
	l.stop()
	p, err := l.wait(ctx)
	if err != nil {
		return err
	}
	return p.Close(ctx)
}
