package jail

import (
	"bytes"
	"maps"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// maxNames limits the program names in an answer.
const maxNames = 5

// clear ends leftover processes of earlier commands that write to the disk. If the writer is a running command, the
// server ends it.
func (s *supervisor) clear(m *Message) {
	answer := &Message{Op: OpCleared, ID: m.ID}
	var roots []int
	if answer.Call, roots = s.blame(); len(roots) > 0 {
		answer.Procs, answer.Detail = s.endLeft(m.Time, roots)
	}
	_ = send(answer)
}

// goneTime limits the wait for killed processes.
const goneTime = 200 * time.Millisecond

// makeRoom ends leftover processes if they fill the sandbox, and returns their number.
func (s *supervisor) makeRoom() (ended int) {
	if s.guard != nil && !s.filled(goneTime) {
		return 0
	}
	ended, _ = s.endLeft(KillTime, nil)
	if s.guard != nil {
		s.filled(goneTime)
	}
	return ended
}

// filled reports whether leftover processes fill the sandbox. It waits for just killed ones, which don't count.
func (s *supervisor) filled(limit time.Duration) bool {
	for end := time.Now().Add(limit); time.Now().Before(end); time.Sleep(time.Millisecond) {
		t, calls := s.snapshot()
		left := 0
		for n, tasks := range t.tasks {
			if _, running := calls[t.top(n)]; n != t.self && !running && t.under(t.self, n) {
				left += max(tasks, 1)
			}
		}
		if !s.guard.fills(t.load()) || left < s.guard.room() {
			return false
		}
	}
	return true
}

// snapshot takes a snapshot of the processes, with the parents of running commands and their numbers. Commands start under
// the same lock, so none is mistaken for a leftover.
func (s *supervisor) snapshot() (t tree, calls map[int]int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	t, calls = processes(), map[int]int{}
	for pid, c := range s.calls {
		if n := t.child(pid); n >= 0 {
			calls[n] = c.id
		}
	}
	return t, calls
}

// endLeft kills processes that belong to no running command; with roots, only those and their descendants. It returns
// their number and program names. As in killBelow, all are stopped first, so none can escape by forking.
func (s *supervisor) endLeft(limit time.Duration, roots []int) (ended int, names string) {
	killed, called := map[int]bool{}, map[string]bool{}
	for end := time.Now().Add(limit); time.Now().Before(end); time.Sleep(3 * time.Millisecond) {
		t, left := s.left(roots)
		if len(left) == 0 {
			break
		}
		for _, n := range left {
			t.signal(n, unix.SIGSTOP)
		}
		// They may have had children since.
		t, left = s.left(roots)
		for _, n := range left {
			if name, err := os.ReadFile("/proc/" + strconv.Itoa(n) + "/comm"); err == nil && len(called) < maxNames {
				called[printable(bytes.TrimSpace(name))] = true
			}
		}
		// Children first: those of an ended process are no longer below it.
		for _, n := range slices.Backward(t.byDepth(left)) {
			killed[n] = true
			t.signal(n, unix.SIGKILL)
		}
	}
	return len(killed), strings.Join(slices.Sorted(maps.Keys(called)), ", ")
}

// left lists the living processes below this one that don't belong to running commands, limited to those of roots if
// given.
func (s *supervisor) left(roots []int) (tree, []int) {
	t, calls := s.snapshot()
	return t, slices.DeleteFunc(t.below(t.self), func(n int) bool {
		_, running := calls[t.top(n)]
		return running || len(roots) > 0 && !slices.Contains(roots, t.top(n))
	})
}

// byDepth sorts parents before their children.
func (t tree) byDepth(all []int) []int {
	depth := func(n int) (d int) {
		for n != t.self && d <= len(t.parent) {
			n, d = t.parent[n], d+1
		}
		return d
	}
	at := make(map[int]int, len(all))
	for _, n := range all {
		at[n] = depth(n)
	}
	return slices.SortedFunc(slices.Values(all), func(a, b int) int { return at[a] - at[b] })
}

// top returns the ancestor of a process right below this one.
func (t tree) top(n int) int {
	for range len(t.parent) {
		if up, ok := t.parent[n]; !ok || up == t.self {
			break
		} else {
			n = up
		}
	}
	return n
}
