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

// maxNames is how many names of programs an answer holds.
const maxNames = 5

// clear ends what earlier commands left running; for the disk, only what writes, which may
// be a running command. That is the server's to end.
func (s *supervisor) clear(m *Message) {
	answer := &Message{Op: OpCleared, ID: m.ID}
	var roots []int
	if m.Disk {
		answer.Call, roots = s.blame()
	}
	if !m.Disk || len(roots) > 0 {
		answer.Procs, answer.Detail = s.endLeft(m.Time, roots)
	}
	_ = send(answer)
}

// endLeft ends processes that belong to no running command, but for roots only those that
// are, or are below, one of them. It returns how many, with names of their programs. As in
// killBelow, all are stopped first, so that none can outrun it by forking.
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
		// Children first: those of a process that ended are no longer below it.
		for _, n := range slices.Backward(t.byDepth(left)) {
			killed[n] = true
			t.signal(n, unix.SIGKILL)
		}
	}
	return len(killed), strings.Join(slices.Sorted(maps.Keys(called)), ", ")
}

// left lists the living processes below this one that are not those of running commands,
// and belong to one of roots if there are any.
func (s *supervisor) left(roots []int) (tree, []int) {
	// A command starts under the same lock, so none is taken for a left-over.
	s.mu.Lock()
	defer s.mu.Unlock()
	t := processes()
	var calls []int
	for pid := range s.calls {
		if n := t.child(pid); n >= 0 {
			calls = append(calls, n)
		}
	}
	of := func(roots []int, n int) bool {
		return slices.ContainsFunc(roots, func(root int) bool { return t.under(root, n) })
	}
	return t, slices.DeleteFunc(t.below(t.self), func(n int) bool {
		return of(calls, n) || len(roots) > 0 && !of(roots, n)
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

// top is the ancestor of a process right below this one.
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
