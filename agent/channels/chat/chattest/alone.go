package chattest

import (
	"context"
	"fmt"
	"io"
	"runtime"
	"sync"
	"testing"
)

// Alone lets a server run in a program that is no test, until ctx ends. What a test would fail for is written to w.
// Close ends the server.
func Alone(ctx context.Context, w io.Writer) (t testing.TB, close func()) {
	a := &alone{ctx: ctx, w: w}
	return a, a.close
}

// alone has of a test what the servers need.
type alone struct {
	testing.TB // nil: the rest is not there
	ctx        context.Context

	mu   sync.Mutex // guards what follows
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
