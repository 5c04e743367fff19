package main

import (
	"fmt"
	"os"
	"strings"
	"sync"
	"syscall"
	"testing"
)

// known is GET /api/memory as far as these tests read it.
type known struct {
	Facts []struct {
		Content string
	}
}

func (k known) has(text string) bool {
	for _, f := range k.Facts {
		if strings.Contains(f.Content, text) {
			return true
		}
	}
	return false
}

// learning is a configuration with which threads are learned from after so many quiet seconds.
func learning(t *testing.T, seconds int) string {
	t.Helper()
	b, err := os.ReadFile(configured(t))
	if err != nil {
		t.Fatal(err)
	}
	return file(t, "config.yaml",
		strings.Replace(string(b), "memory: {", fmt.Sprintf("memory: {debounce_seconds: %d, ", seconds), 1))
}

// TestAKillRightAfterARunForgetsNothing: the answer was read, and the server had no time to
// learn from it.
func TestAKillRightAfterARunForgetsNothing(t *testing.T) {
	t.Parallel()
	args := []string{"--data", t.TempDir(), "--config", learning(t, 5)}
	s := serve(t, nil, args...)
	call[any](t, s, "POST", "/threads/t1/runs/wait", input("Please remember that I prefer metric units."))
	s.end(t, syscall.SIGKILL)
	s = serve(t, nil, args...)
	until(t, func() bool { return call[known](t, s, "GET", "/api/memory", "").has("metric units") })
}

// TestRunsSideBySideLoseNoFact of those that they teach.
func TestRunsSideBySideLoseNoFact(t *testing.T) {
	t.Parallel()
	const n = 50
	s := serve(t, nil, "--data", t.TempDir(), "--config", learning(t, 1))
	var work sync.WaitGroup
	for i := range n {
		work.Go(func() {
			call[any](t, s, "POST", fmt.Sprintf("/threads/t%d/runs/wait", i),
				input(fmt.Sprintf("Please remember that shelf %d is mine.", 100+i)))
		})
	}
	work.Wait()
	until(t, func() bool { return len(call[known](t, s, "GET", "/api/memory", "").Facts) >= n })
	k := call[known](t, s, "GET", "/api/memory", "")
	for i := range n {
		if !k.has(fmt.Sprint("shelf ", 100+i)) {
			t.Errorf("shelf %d is forgotten", 100+i)
		}
	}
}
