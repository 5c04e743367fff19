package chattest

import (
	"context"
	"fmt"
	"io"
	"runtime"
	"sync"
	"testing"
)

// Alone runs a server in a program that isn't a test, until ctx ends. Failures of a test are written to w. Close stops
// the server.
func Alone(ctx context.Context, w io.Writer) (t testing.TB, close func()) {
	a := &alone{ctx: ctx, w: w}
	return a, a.close
}

// alone implements the parts of a test that the servers need.
type alone struct {
	testing.TB // nil: other methods panic
	ctx        context.Context

	mu   sync.Mutex // guards the fields below
	w    io.Writer
	ends []func()
}

func (a *alone) Helper() {}

func (a *alone) Context() context.Context { return a.ctx }

func (a *alone) Cleanup(f func()) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.ends = append(a.ends, f)
}

func (a *alone) Error(args ...any) { a.tell(fmt.Sprintln(args...)) }

func (a *alone) Errorf(format string, args ...any) { a.tell(fmt.Sprintf(format, args...) + "\n") }

func (a *alone) Fatal(args ...any) {
	a.Error(args...)
	runtime.Goexit()
}

func (a *alone) Fatalf(format string, args ...any) {
	a.Errorf(format, args...)
	runtime.Goexit()
}

func (a *alone) tell(s string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	_, _ = io.WriteString(a.w, s)
}

func (a *alone) close() {
	a.mu.Lock()
	ends := a.ends
	a.ends = nil
	a.mu.Unlock()
	for i := len(ends) - 1; i >= 0; i-- {
		ends[i]()
	}
}
