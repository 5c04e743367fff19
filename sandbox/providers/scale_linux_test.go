package providers_test

import (
	"context"
	"fmt"
	"os"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"fawn/sandbox"
	"fawn/web/e2e/gate"
)

func TestManyThreadsAtOnceStayApart(t *testing.T) {
	const n = 64
	w := newWorld(t, func(c *sandbox.Config) { c.MaxSandboxes = n })
	var wg sync.WaitGroup
	start := time.Now()
	for i := range n {
		s := w.thread(fmt.Sprint("t", i), func(p *sandbox.Policy) { p.Timeout = 5 * time.Minute })
		wg.Go(func() {
			for round := range 3 {
				res := bash(t, s,
					fmt.Sprintf("echo %d-%d >> f; echo %d >> /tmp/f; cat f /tmp/f | tr '\\n' ' '; pgrep -cx sleep; sleep 300 >/dev/null 2>&1 & until [ $(pgrep -cx sleep) = %d ]; do :; done",
						i, round, i, round+1))
				want := ""
				for r := range round + 1 {
					want += fmt.Sprintf("%d-%d ", i, r)
				}
				want += strings.Repeat(fmt.Sprint(i, " "), round+1) + fmt.Sprintln(round)
				if string(res.Output) != want || res.SandboxRestarted {
					t.Errorf("%d: %q, want %q", i, res.Output, want)
				}
			}
		})
	}
	wg.Wait()
	t.Logf("%d sandboxes, 3 commands each: %v", n, time.Since(start).Round(time.Millisecond))
	if err := w.provider.Close(context.Background()); err != nil {
		t.Error(err)
	}
	if n := strays(t, w); n != 0 {
		t.Errorf("%d processes are left", n)
	}
}

// TestStartsLeaveNothing counts what belongs to this process before and after
// many starts and ends.
func TestStartsLeaveNothing(t *testing.T) {
	t.Run("namespace", func(t *testing.T) { startsLeaveNothing(t, newWorld(t)) })
	t.Run("landlock", func(t *testing.T) {
		gate.In(t, gate.Attack, "make test starts sandboxes with namespaces")
		startsLeaveNothing(t, newPlainWorld(t))
	})
}

func startsLeaveNothing(t *testing.T, w *world) {
	t.Helper()
	m := mark()
	cycles := gate.Pick(15, 50, 1000)
	cycle := func(i int) {
		id := sandbox.ThreadRef{ID: fmt.Sprint("t", i%5)}
		s := w.thread(id.ID, withMark(m))
		command := []string{"true", "setsid -f sleep 300", "kill -9 $PPID; sleep 300", "sleep 300 & (sleep 300 &)",
			"head -c 300000 /dev/zero"}[i%5]
		res := do(t, s, sandbox.ExecReq{Command: command, Timeout: time.Minute})
		if res.TimedOut || res.SandboxRestarted != (i%5 == 2) {
			t.Errorf("%s: %+v", command, res)
		}
		if err := w.provider.Destroy(context.Background(), id, "test"); err != nil {
			t.Error(err)
		}
	}
	for i := range 5 {
		cycle(i)
	}
	type count struct{ files, mounts, routines, children int }
	now := func() count {
		// Goroutines of the runtime come and go; those that stay are counted.
		var c count
		c.files = len(list(t, "/proc/self/fd"))
		b, err := os.ReadFile("/proc/self/mountinfo")
		if err != nil {
			t.Fatal(err)
		}
		c.mounts = strings.Count(string(b), "\n")
		c.routines = runtime.NumGoroutine()
		for _, task := range list(t, "/proc/self/task") {
			b, err := os.ReadFile("/proc/self/task/" + task + "/children")
			if err == nil {
				c.children += len(strings.Fields(string(b)))
			}
		}
		return c
	}
	before := now()
	for i := range cycles {
		cycle(i)
	}
	after := before
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("before %+v, after %+v", before, after)
		}
	})
	waitFor(t, "everything to be released", func() bool {
		after = now()
		return after.files <= before.files && after.mounts <= before.mounts && after.routines <= before.routines &&
			after.children <= before.children
	})
	noneLeft(t, m)
	if n := strays(t, w); n != 0 {
		t.Errorf("%d processes are left", n)
	}
}

func list(t *testing.T, dir string) []string {
	t.Helper()
	f, err := os.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	names, err := f.Readdirnames(-1)
	if err != nil {
		t.Fatal(err)
	}
	return names
}

// Each thread has a user of its own on the host, if the server can give one.
func TestThreadsHaveUsersOfTheirOwn(t *testing.T) {
	w := newWorld(t)
	if os.Getuid() != 0 {
		t.Skip("only root can give files away")
	}
	seen := map[uint32]string{}
	for _, id := range []string{"a", "b", "c"} {
		mustWrite(t, w.cfg.Dirs.Root+"/threads/"+id+"/user-data/workspace/old/file", "old")
		s := w.thread(id)
		res := bash(t, s, "echo new >> old/file; touch old/x; mkdir made; cat old/file")
		if string(res.Output) != "oldnew\n" {
			t.Errorf("%s: %q", id, res.Output)
		}
		for _, name := range []string{"", "/workspace/old/file", "/workspace/old/x", "/workspace/made", "/uploads"} {
			uid := ownerOf(t, w.cfg.Dirs.Root+"/threads/"+id+"/user-data"+name)
			if uid < 231072 || uid >= 231072+65536 || seen[uid] != "" && seen[uid] != id {
				t.Errorf("%s%s belongs to %d (%s)", id, name, uid, seen[uid])
			}
			seen[uid] = id
		}
	}
	// It stays the same one.
	before := ownerOf(t, w.cfg.Dirs.Root+"/threads/a/user-data")
	if err := w.provider.Destroy(t.Context(), sandbox.ThreadRef{ID: "a"}, "test"); err != nil {
		t.Fatal(err)
	}
	bash(t, w.thread("a"), "true")
	if after := ownerOf(t, w.cfg.Dirs.Root+"/threads/a/user-data"); after != before {
		t.Errorf("the user changed from %d to %d", before, after)
	}
}
