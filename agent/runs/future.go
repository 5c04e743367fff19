package runs

import (
	"fmt"
	"log/slog"
	"runtime/debug"
	"sync"
)

// PanicError is returned if the work panicked.
type PanicError struct {
	Value any
	Stack []byte // where
}

// Error leaves out where, which is for a log.
func (e *PanicError) Error() string { return fmt.Sprintf("internal error: %v", e.Value) }

// LogValue reports where, too.
func (e *PanicError) LogValue() slog.Value {
	return slog.StringValue(e.Error() + "\n" + string(e.Stack))
}

// startFuture starts f and returns a function that waits for its result, which must be called. A panic of f is a
// [PanicError].
func startFuture[T any](f func() (T, error)) (wait func() (T, error)) {
	var v T
	var err error
	var wg sync.WaitGroup
	wg.Go(func() { v, err = caught(f) })
	return func() (T, error) {
		wg.Wait()
		return v, err
	}
}

// futureRoom limits concurrent speculative work by its capacity. With all processors busy, working ahead gains nothing:
// everything would just finish late together.
type futureRoom chan struct{}

// startFutureIn is [startFuture] while there is room. Otherwise f runs in the first call of wait.
func startFutureIn[T any](room futureRoom, f func() (T, error)) (wait func() (T, error)) {
	select {
	case room <- struct{}{}:
		return startFuture(func() (T, error) {
			defer func() { <-room }()
			return f()
		})
	default:
		return sync.OnceValues(func() (T, error) { return caught(f) })
	}
}

func caught[T any](f func() (T, error)) (v T, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = &PanicError{p, debug.Stack()}
		}
	}()
	return f()
}
