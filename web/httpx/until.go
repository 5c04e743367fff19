package httpx

import "context"

// Until returns ctx, canceled with cause when stop ends; a nil stop never does. Call done when the work has ended.
func Until(ctx, stop context.Context, cause error) (_ context.Context, done func()) {
	ctx, cancel := context.WithCancelCause(ctx)
	if stop == nil {
		return ctx, func() { cancel(nil) }
	}
	forget := context.AfterFunc(stop, func() { cancel(cause) })
	return ctx, func() { forget(); cancel(nil) }
}
