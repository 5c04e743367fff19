package httpx

import (
	"context"
	"sync"
)

// Until is ctx, ended with cause when stop is closed; a nil stop never is. Call done when
// the work is over: it waits for what watches.
func Until(ctx context.Context, stop <-chan struct{}, cause error) (_ context.Context, done func()) {
	ctx, cancel := context.WithCancelCause(ctx)
	if stop == nil {
		return ctx, func() { cancel(nil) }
	}
	var watch sync.WaitGroup
	watch.Go(func() {
		select {
		case <-stop:
			cancel(cause)
		case <-ctx.Done():
		}
	})
	return ctx, func() { cancel(nil); watch.Wait() }
}
