package ahead_test

import (
	"errors"
	"strings"
	"testing"

	"fawn/agent/runs/ahead"
)

func TestStartGoesOnMeanwhile(t *testing.T) {
	t.Parallel()
	go1, failed := make(chan struct{}), errors.New("failed")
	wait := ahead.Start(func() (int, error) { <-go1; return 7, failed })
	close(go1)
	for range 2 {
		if v, err := wait(); v != 7 || err != failed {
			t.Errorf("got %d, %v", v, err)
		}
	}
}

func TestAPanicIsAnErrorThatKnowsWhere(t *testing.T) {
	t.Parallel()
	_, err := ahead.Start(func() (string, error) { panic("oh") })()
	p, ok := errors.AsType[*ahead.PanicError](err)
	if !ok || err.Error() != "internal error: oh" || !strings.Contains(string(p.Stack), "ahead_test.go") {
		t.Errorf("got %v", err)
	}
}
