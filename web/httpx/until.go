package httpx

import "context"

// Until is ctx, ended with cause when stop is; a nil stop never is. Call done when the work is over.
func Until(ctx, stop context.Context, cause error) (_ context.Context, done func()) {
	ctx, cancel := context.WithCancelCause(ctx)
	if stop == nil {
		return ctx, func() { cancel(nil) }
	}
	forget := context.AfterFunc(stop, func() { cancel(cause) })
	return ctx, func() { forget(); cancel(nil) }
}
