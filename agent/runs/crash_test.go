package runs_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"fawn/agent"
	"fawn/agent/agenttest/must"
	"fawn/agent/runs"
	"fawn/agent/runs/runevent"
	"fawn/store"
	"fawn/web/e2e/gate"
)

// crashDir names the data folder to the child, which runs until it is killed; crashMark
// says that it leaves runs interrupted that were cut off.
const (
	crashDir  = "FAWN_TEST_CRASH_DIR"
	crashMark = "FAWN_TEST_CRASH_MARK"
	crashCrew = "FAWN_TEST_CRASH_CREW" // the run of a crew instead
)

func TestMain(m *testing.M) {
	if dir := os.Getenv(crashDir); dir != "" {
		scene := crashChild
		if os.Getenv(crashCrew) != "" {
			scene = crewChild
		}
		if err := scene(dir); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	if dir := os.Getenv(cutDir); dir != "" {
		fmt.Fprintln(os.Stderr, cutChild(dir))
		os.Exit(1)
	}
	os.Exit(m.Run())
}

// crashAgent answers in words, and calls one tool or several at once. Each tool call
// leaves its id in the file of effects.
func crashAgent(dir string) *agent.Agent {
	effect := &agent.Tool{Name: "effect", Run: func(ctx context.Context, _ *agent.Turn,
		c agent.ToolCall) (agent.Result, error) {
		f, err := os.OpenFile(filepath.Join(dir, "effects"), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
		if err != nil {
			return agent.Result{}, err
		}
		defer f.Close()
		time.Sleep(time.Duration(rand.IntN(4)) * time.Millisecond)
		if _, err := io.WriteString(f, c.ID+"\n"); err != nil {
			return agent.Result{}, err
		}
		r := agent.TextResult("did " + c.ID)
		r.Patch.Artifacts = []string{"/" + c.ID}
		return r, nil
	}}
	return &agent.Agent{Tools: []*agent.Tool{effect},
		Model: modelOf(func(ctx context.Context, req *agent.Request, yield func(agent.Chunk, error) bool) {
			say := func(k agent.Chunk) bool { return ctx.Err() == nil && yield(k, nil) }
			for range 3 + rand.IntN(20) {
				if rand.IntN(4) == 0 {
					time.Sleep(time.Millisecond)
				}
				k := agent.Chunk{Text: fmt.Sprintf("w%d ", rand.IntN(1000))}
				if rand.IntN(5) == 0 {
					k = agent.Chunk{Reasoning: "hm "}
				}
				if !say(k) {
					return
				}
			}
			if rand.IntN(3) > 0 {
				for i := range 1 + rand.IntN(3) {
					id := fmt.Sprintf("c%d", rand.Int64())
					if !say(agent.Chunk{
						Calls: []agent.CallDelta{
							{Index: i, ID: id, Name: "effect",
								Args: `{"a":"` + strings.Repeat("x", rand.IntN(50)) + `"}`},
						},
					}) {
						return
					}
				}
			}
			say(agent.Chunk{Finish: "stop", Usage: &agent.Usage{Total: 3}})
		})}
}

// crashChild keeps three threads busy, with queued runs and runs without input, and
// prints every event a reader was shown.
func crashChild(dir string) error {
	ctx := context.Background()
	db, err := openOwn(ctx, dir)
	if err != nil {
		return err
	}
	a := crashAgent(dir)
	m := runs.New(runs.Config{DB: db, Log: quiet(), Mark: os.Getenv(crashMark) != "",
		Build: func(context.Context, runs.Spec) (*agent.Agent, error) { return a, nil }})
	if err := m.Recover(ctx); err != nil {
		return err
	}
	failed := make(chan error)
	for i := range 3 {
		go func() {
			thread := fmt.Sprint("t", i)
			if run := m.Active(thread); run != "" { // one that goes on is read from its first event
				if err := printRun(ctx, m, store.Run{ID: run, ThreadID: thread}); err != nil {
					failed <- err
					return
				}
			}
			for cut := false; ; {
				var wg sync.WaitGroup
				for range 1 + rand.IntN(2) {
					req := runs.Request{Thread: thread, Input: human("go on")}
					if cut || rand.IntN(6) == 0 {
						req.Input, cut = nil, false
					}
					run, err := m.Start(ctx, req)
					if err != nil {
						failed <- err
						return
					}
					if rand.IntN(3) == 0 {
						cut = true
						wg.Go(func() {
							time.Sleep(time.Duration(rand.IntN(10)) * time.Millisecond)
							m.Cancel(ctx, thread, run.ID, false)
						})
					}
					wg.Go(func() {
						if err := printRun(ctx, m, run); err != nil {
							failed <- err
						}
					})
				}
				wg.Wait()
			}
		}()
	}
	return <-failed
}

func printRun(ctx context.Context, m *runs.Manager, run store.Run) error {
	r, err := m.Follow(ctx, run.ID)
	for after := int64(0); err == nil; {
		var evs []runevent.Event
		if evs, err = r.Next(ctx, after); evs == nil {
			return err
		}
		for _, e := range evs { // one write each, so that a kill leaves whole lines
			out, err := json.Marshal(shown{Thread: run.ThreadID, Run: run.ID, Event: e, Line: line(e)})
			if err != nil {
				return err
			}
			if _, err := os.Stdout.Write(append(out, '\n')); err != nil {
				return err
			}
			after = e.To
		}
	}
	return err
}

// shown is an event a reader of the child has got.
type shown struct {
	Thread, Run string
	Event       runevent.Event
	Line        string
}

// KilledProcessLosesNothingThatWasShown kills a server at random moments and checks
// what the next one makes of it: one that goes on with what was cut off, and one that
// leaves it interrupted.
func (s suite) KilledProcessLosesNothingThatWasShown(t *testing.T) {
	kills := gate.Pick(3, 20, 200)
	for _, mode := range []string{"auto", "mark"} {
		t.Run(mode, func(t *testing.T) { s.killMany(t, kills, mode == "mark") })
	}
}

func (s suite) killMany(t *testing.T, kills int, mark bool) {
	self := must.Get(os.Executable())(t)
	var total struct{ lines, partial, results, orphans, again int }
	dir := ""
	for kill := range kills {
		if kill%10 == 0 { // the same folder is killed many times
			dir = t.TempDir()
		}
		seen := killOne(t, self, dir, mark)
		w := s.openWith(t, dir, runs.Config{Mark: mark, Build: func(context.Context, runs.Spec) (*agent.Agent, error) {
			return crashAgent(dir), nil
		}})
		ended := map[string]bool{}
		for _, s := range seen { // those that were cut off, and queued ones, go on
			if ended[s.Run] {
				continue
			}
			ended[s.Run] = true
			row, err := w.m.Wait(t.Context(), s.Run)
			if err != nil || !runs.Done(row.Status) {
				t.Fatalf("run %s is %s: %v", s.Run, row.Status, err)
			}
			if row.StopReason == runs.StopOrphan {
				total.orphans++
			}
			if row.Attempt > 1 {
				total.again++
			}
		}
		for i := range 3 {
			must.Do(t, w.quiesce(t, fmt.Sprint("t", i)))
		}
		w.sound(t)
		total.lines += len(seen)
		p, r := checkShown(t, w, seen)
		total.partial, total.results = total.partial+p, total.results+r
		checkEffects(t, w, dir)
		for i := range 3 { // and every thread goes on
			run := w.start(t, fmt.Sprint("t", i), "after")
			w.end(t, run, runs.Success)
		}
		w.sound(t)
		w.close()
		if t.Failed() {
			t.Fatalf("after kill %d", kill+1)
		}
	}
	t.Logf("%d kills: %d events shown, %d unfinished messages and %d tool results compared, %d runs went on, %d were left interrupted",
		kills, total.lines, total.partial, total.results, total.again, total.orphans)
}

// quiesce waits until nothing is left to run on a thread.
func (w *world) quiesce(t *testing.T, thread string) error {
	for {
		run := w.m.Active(thread)
		if run == "" {
			break
		}
		if _, err := w.m.Wait(t.Context(), run); err != nil {
			return err
		}
	}
	for { // the last run's words to the manager are in progress
		err := w.m.Exclusive(t.Context(), thread, func(context.Context) error { return nil })
		if !errors.Is(err, runs.ErrBusy) {
			return err
		}
		time.Sleep(time.Millisecond)
	}
}

// killOne runs a child until a random moment after its first event.
func killOne(t *testing.T, self, dir string, mark bool) []shown {
	t.Helper()
	cmd := exec.Command(self)
	cmd.Env = append(os.Environ(), crashDir+"="+dir)
	if mark {
		cmd.Env = append(cmd.Env, crashMark+"=1")
	}
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out := must.Get(cmd.StdoutPipe())(t)
	must.Do(t, cmd.Start())
	var seen []shown
	lines := bufio.NewScanner(out)
	lines.Buffer(nil, 1<<20)
	var kill *time.Timer
	for lines.Scan() {
		if kill == nil {
			kill = time.AfterFunc(time.Duration(rand.IntN(120_000))*time.Microsecond, func() { cmd.Process.Kill() })
			defer kill.Stop()
		}
		var s shown
		if err := json.Unmarshal(lines.Bytes(), &s); err != nil { // the last line may be cut
			break
		}
		seen = append(seen, s)
	}
	io.Copy(io.Discard, out)
	var exit *exec.ExitError
	if err := cmd.Wait(); !errors.As(err, &exit) || exit.Exited() || len(seen) == 0 {
		t.Fatalf("the child ended by itself after %d events: %v\n%s", len(seen), err, &stderr)
	}
	return seen
}
