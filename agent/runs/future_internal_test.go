package runs

import (
	"errors"
	"strings"
	"testing"
)

func TestStartGoesOnMeanwhile(t *testing.T) {
	t.Parallel()
	go1, failed := make(chan struct{}), errors.New("failed")
	wait := startFuture(func() (int, error) { <-go1; return 7, failed })
	close(go1)
	for range 2 {
		if v, err := wait(); v != 7 || err != failed {
			t.Errorf("got %d, %v", v, err)
		}
	}
}

func TestAPanicIsAnErrorThatKnowsWhere(t *testing.T) {
	t.Parallel()
	_, err := startFuture(func() (string, error) { panic("oh") })()
	p, ok := errors.AsType[*PanicError](err)
	if !ok || err.Error() != "internal error: oh" || !strings.Contains(string(p.Stack), "future_internal_test.go") {
		t.Errorf("got %v", err)
	}
}

func TestWithoutRoomWorkIsDoneWhenItIsWaitedFor(t *testing.T) {
	t.Parallel()
	room, goOn := make(futureRoom, 1), make(chan struct{})
	first := startFutureIn(room, func() (int, error) { <-goOn; return 1, nil })
	done := 0
	second := startFutureIn(room, func() (int, error) { done++; return 2, nil })
	if done != 0 {
		t.Error("the second one began without room")
	}
	for range 2 {
		if v, err := second(); v != 2 || err != nil || done != 1 {
			t.Errorf("got %d, %v, done %d times", v, err, done)
		}
	}
	third := startFutureIn(room, func() (string, error) { panic("oh") })
	if _, err := third(); err == nil || err.Error() != "internal error: oh" {
		t.Errorf("got %v of work that panics where it is waited for", err)
	}
	close(goOn)
	if v, err := first(); v != 1 || err != nil || len(room) != 0 {
		t.Errorf("got %d, %v, %d still in the room", v, err, len(room))
	}
}
