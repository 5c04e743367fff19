package runs_test

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"fawn/agent"
	"fawn/agent/agenttest"
	"fawn/agent/agenttest/must"
	"fawn/agent/runs"
	"fawn/agent/runs/runevent"
	"fawn/store"
)

// failure is the error event of a run, which must be followed by its end and nothing else.
func (w *world) failure(t *testing.T, run store.Run) runevent.Failure {
	t.Helper()
	evs := w.read(t, run.ID, 0)
	var f runevent.Failure
	if n := len(evs); n < 3 || evs[0].Kind != runevent.KindMeta || evs[n-2].Kind != runevent.KindError ||
		evs[n-1].Kind != runevent.KindEnd {
		t.Fatalf("events: %s", shape(evs))
	}
	must.Do(t, json.Unmarshal(evs[len(evs)-2].Data, &f))
	return f
}

// named is an error with a class name, as providers make them.
type named struct{}

func (named) Error() string     { return "no credit left" }
func (named) ErrorName() string { return "QuotaError" }

// RunThatFailsSaysWhyAndFreesItsThread lets every part of a run go wrong.
func (s suite) RunThatFailsSaysWhyAndFreesItsThread(t *testing.T) {
	say := &agenttest.Script{}
	panics := func(what string) func() { return func() { panic(what) } }
	use := func(run func() (agent.Result, error)) *agent.Agent {
		return &agent.Agent{Model: &agenttest.Script{Replies: []agenttest.Reply{agenttest.Call("c1", "t", `{}`)}},
			Tools: []*agent.Tool{
				{Name: "t", Run: func(context.Context, *agent.Turn, agent.ToolCall) (agent.Result, error) {
					return run()
				}},
			}}
	}
	for _, c := range []struct {
		name  string
		build func() (*agent.Agent, error)
		error string // name of the failure
		says  string
		next  string
	}{
		{"build", func() (*agent.Agent, error) { return nil, errors.New("no such model") }, "RunError", "no such model", "model"},
		{"build with a class", func() (*agent.Agent, error) { return nil, named{} }, "QuotaError", "no credit left", "model"},
		{"build panics", func() (*agent.Agent, error) { panics("b")(); return nil, nil }, "RunError", "internal error: b", "model"},
		{"model", func() (*agent.Agent, error) {
			return &agent.Agent{Model: &agenttest.Script{Replies: []agenttest.Reply{{Err: named{}}}}}, nil
		}, "QuotaError", "no credit left", "model"},
		{"model panics", func() (*agent.Agent, error) {
			return &agent.Agent{Model: modelOf(func(context.Context, *agent.Request, func(agent.Chunk,
				error) bool) {
				panic("m")
			})}, nil
		}, "RunError", "internal error: m", "model"},
		{"hook", func() (*agent.Agent, error) {
			return &agent.Agent{Model: say,
				Chain: []agent.Middleware{{Name: "picky",
					BeforeModel: func(context.Context, *agent.Turn) (agent.State, error) {
						return agent.State{}, errors.New("not today")
					}}}}, nil
		}, "RunError", "picky: not today", "model"},
		{"hook panics", func() (*agent.Agent, error) {
			return &agent.Agent{Model: say,
				Chain: []agent.Middleware{{AfterModel: func(context.Context, *agent.Turn, *agent.Reply) error {
					panic("h")
				}}}}, nil
		}, "RunError", "internal error: h", "model"},
		{"tool", func() (*agent.Agent, error) {
			return use(func() (agent.Result, error) { return agent.Result{}, errors.New("out of paper") }), nil
		}, "RunError", "tool t: out of paper", "model"},
		{"tool panics", func() (*agent.Agent, error) {
			return use(func() (agent.Result, error) { panic("t") }), nil
		}, "RunError", "tool t: panic: t", "model"},
		{"stage around a tool panics", func() (*agent.Agent, error) {
			a := use(func() (agent.Result, error) { return agent.Result{}, nil })
			a.Chain = []agent.Middleware{{WrapTool: func(agent.ToolFunc) agent.ToolFunc {
				return func(context.Context, *agent.Turn, agent.ToolCall) (agent.Result, error) { panic("w") }
			}}}
			return a, nil
		}, "RunError", "tool t: panic: w", "model"},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := s.openWith(t, t.TempDir(),
				runs.Config{Build: func(context.Context, runs.Spec) (*agent.Agent, error) { return c.build() }})
			run := w.start(t, "t1", "hi")
			row := w.end(t, run, runs.Failed)
			if row.Error != c.says {
				t.Errorf("the row says %q", row.Error)
			}
			if f := w.failure(t, run); f.Error != c.error || f.Name != c.error || f.Message != c.says {
				t.Errorf("failure = %+v", f)
			}
			if got := w.status(t, "t1"); got != runs.ThreadError {
				t.Errorf("thread is %s", got)
			}
			if got := strings.Join(w.head(t, "t1").Next, ","); got != c.next {
				t.Errorf("next = %s", got)
			}
			if got := texts(w.state(t, "t1", "")); !strings.HasPrefix(got, "human:hi") {
				t.Errorf("messages: %s", got)
			}
			w.sound(t)
		})
	}
}

// InputThatTheStateRefusesFailsTheRun: only the run that starts sees that the message
// to remove is not there.
func (s suite) InputThatTheStateRefusesFailsTheRun(t *testing.T) {
	w := s.open(t, t.TempDir(), parrotAgent())
	run := must.Get(w.m.Start(t.Context(),
		runs.Request{Thread: "t1", Input: json.RawMessage(`{"messages":[{"type":"remove","id":"nothing"}]}`)}))(t)
	w.end(t, run, runs.Failed)
	if f := w.failure(t, run); f.Error != "InvalidInput" {
		t.Errorf("failure = %+v", f)
	}
	w.sound(t)
}

// StoreThatClosesUnderARunLetsReadersGo closes the database while a model speaks.
func (s suite) StoreThatClosesUnderARunLetsReadersGo(t *testing.T) {
	defer agenttest.NoLeaks(t, goleak.IgnoreCurrent())
	dir := t.TempDir()
	db := must.Get(s.openStore(t.Context(), dir))(t)
	gate := make(chan struct{})
	a := &agent.Agent{Model: modelOf(func(ctx context.Context, _ *agent.Request, yield func(agent.Chunk, error) bool) {
		yield(agent.Chunk{Text: "before "}, nil)
		<-gate
		for ctx.Err() == nil {
			if !yield(agent.Chunk{Text: "after "}, nil) {
				return
			}
		}
		if !errors.Is(context.Cause(ctx), runs.ErrStorage) {
			t.Errorf("the run was cancelled with %v", context.Cause(ctx))
		}
		yield(agent.Chunk{}, ctx.Err())
	})}
	m := runs.New(runs.Config{DB: db, Log: quiet(), Build: func(context.Context, runs.Spec) (*agent.Agent, error) {
		return a, nil
	}})
	w := &world{db: db, m: m}
	run := w.start(t, "t1", "hi")
	w.until(t, run, text("before"))
	r := must.Get(m.Follow(t.Context(), run.ID))(t)
	must.Do(t, db.Close())
	close(gate)
	for after := int64(0); ; {
		evs := must.Get(r.Next(t.Context(), after))(t)
		if evs == nil {
			break
		}
		if slices.ContainsFunc(evs, text("after")) {
			t.Error("a reader saw what was never stored")
		}
		after = evs[len(evs)-1].To
	}
	m.Close()
	if n := held(m); n != 0 {
		t.Errorf("the manager holds %d", n)
	}

	// What was shown is still there for the next server.
	w2 := s.openWith(t, dir, runs.Config{Mark: true, Build: func(context.Context, runs.Spec) (*agent.Agent, error) {
		return parrotAgent(), nil
	}})
	if got := texts(w2.state(t, "t1", "")); got != "human:hi\nai:before " {
		t.Errorf("messages:\n%s", got)
	}
	if row := w2.end(t, run, runs.Interrupted); row.StopReason != runs.StopOrphan {
		t.Errorf("run = %+v", row)
	}
	w2.sound(t)
	w2.close()
}

// DeletedThreadLeavesNothing deletes a thread with a run that speaks and one that waits.
func (s suite) DeletedThreadLeavesNothing(t *testing.T) {
	files := t.TempDir()
	w := s.openWith(t, t.TempDir(), runs.Config{
		Build:  func(context.Context, runs.Spec) (*agent.Agent, error) { return parrotAgent(), nil },
		Remove: func(thread string) error { return os.RemoveAll(filepath.Join(files, thread)) },
	})
	must.Do(t, os.MkdirAll(filepath.Join(files, "t1", "deep"), 0o700))
	w.end(t, w.start(t, "t1", "one"), runs.Success)
	w.end(t, w.start(t, "t2", "kept"), runs.Success)
	must.Get(w.m.UpdateState(t.Context(), "t1", runs.Update{Values: json.RawMessage(`{"title":"x"}`)}))(t)
	active := w.start(t, "t1", "hang")
	w.until(t, active, text("hang"))
	queued := w.start(t, "t1", "later")
	must.Do(t, w.m.DeleteThread(t.Context(), "t1"))
	for _, run := range []store.Run{active, queued} {
		if _, err := w.m.Wait(t.Context(), run.ID); !errors.Is(err, runs.ErrNotFound) {
			t.Errorf("run %s: %v", run.ID, err)
		}
	}
	if _, err := w.db.Thread(t.Context(), "t1"); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("thread: %v", err)
	}
	if cps, err := w.db.Checkpoints(t.Context(), "t1", "", "", 0, nil); err != nil || len(cps) > 0 {
		t.Errorf("%d checkpoints, %v", len(cps), err)
	}
	if evs, err := w.db.Events(t.Context(), "t1", 0, 0, 0); err != nil || len(evs) > 0 {
		t.Errorf("%d events, %v", len(evs), err)
	}
	if n, err := w.db.MaxMessage(t.Context(), "t1"); err != nil || n > 0 {
		t.Errorf("%d messages, %v", n, err)
	}
	if v, err := w.db.FieldVersions(t.Context(), "t1"); err != nil || len(v) > 0 {
		t.Errorf("fields %v, %v", v, err)
	}
	if left, _ := os.ReadDir(files); len(left) > 0 {
		t.Errorf("files left: %v", left)
	}
	if err := w.m.DeleteThread(t.Context(), "t1"); !errors.Is(err, runs.ErrNotFound) {
		t.Errorf("deleted twice: %v", err)
	}
	w.sound(t)
	w.close() // and the next server finds nothing of it in the tail
	again := s.open(t, w.dir, parrotAgent())
	if run := again.start(t, "t1", "new"); again.end(t, run, runs.Success).FirstSeq != 1 {
		t.Error("the new thread goes on with the numbers of the old")
	}
	again.sound(t)
}

// CloseKeepsWhatWasSaidAndTheNextServerGoesOn: where runs are not to go on, a stopped one is
// interrupted with its text; queued ones start with the next server.
func (s suite) CloseKeepsWhatWasSaidAndTheNextServerGoesOn(t *testing.T) {
	leaks := goleak.IgnoreCurrent()
	w := s.openWith(t, t.TempDir(),
		runs.Config{Mark: true, Build: func(context.Context, runs.Spec) (*agent.Agent, error) {
			return parrotAgent(), nil
		}})
	for range 5 {
		w.end(t, w.start(t, "t1", "warm up"), runs.Success)
	}
	first := w.start(t, "t1", "hang on")
	w.until(t, first, text("on"))
	second := w.start(t, "t1", "second")
	third := w.start(t, "t1", "third")
	waiting := make(chan error, 1)
	go func() { _, err := w.m.Wait(context.Background(), third.ID); waiting <- err }()
	reader, err := w.m.Follow(t.Context(), second.ID)
	if err != nil {
		t.Fatal(err)
	}
	w.m.Close()
	if err := <-waiting; err != nil {
		t.Errorf("wait for a queued run: %v", err)
	}
	if evs, err := reader.Next(t.Context(), 0); evs != nil || !errors.Is(err, runs.ErrClosed) {
		t.Errorf("reader of a queued run: %v %v", evs, err)
	}
	if n := held(w.m); n != 0 {
		t.Errorf("the manager holds %d", n)
	}
	if row := w.end(t, first, runs.Interrupted); row.StopReason != "shutdown" {
		t.Errorf("stop reason %q", row.StopReason)
	}
	if evs := w.read(t, first.ID, 0); evs[len(evs)-1].Kind != runevent.KindEnd {
		t.Errorf("events: %s", shape(evs))
	}
	w.end(t, second, runs.Pending)
	_, err = w.m.Start(t.Context(), runs.Request{Thread: "t1", Input: human("x")})
	if !errors.Is(err, runs.ErrClosed) {
		t.Errorf("start: %v", err)
	}
	err = w.m.Exclusive(t.Context(), "t1", func(context.Context) error { return nil })
	if !errors.Is(err, runs.ErrClosed) {
		t.Errorf("exclusive: %v", err)
	}
	w.close()
	agenttest.NoLeaks(t, leaks)

	next := s.open(t, w.dir, parrotAgent())
	next.end(t, second, runs.Success)
	next.end(t, third, runs.Success)
	got := texts(next.state(t, "t1", ""))
	want := "human:hang on\nai:re: hang on\nhuman:second\nai:re: second\nhuman:third\nai:re: third"
	if !strings.HasSuffix(got, want) {
		t.Errorf("messages:\n%s", got)
	}
	next.sound(t)
}

// QueuedRunThatCannotBeReadAgainEnds: a row written by another version must not keep
// its thread busy for ever.
func (s suite) QueuedRunThatCannotBeReadAgainEnds(t *testing.T) {
	w := s.open(t, t.TempDir(), parrotAgent())
	w.end(t, w.start(t, "t1", "one"), runs.Success)
	busy := runs.Busy
	bad := store.Run{ID: "bad", ThreadID: "t1", Status: runs.Pending, Kwargs: json.RawMessage(`{"input":7}`)}
	must.Do(t, w.db.Commit(t.Context(), store.Batch{ThreadID: "t1", Run: &bad, Patch: &store.ThreadPatch{Status: &busy}}))
	w.close()
	next := s.open(t, w.dir, parrotAgent())
	next.end(t, bad, runs.Failed)
	if got := next.status(t, "t1"); got != runs.ThreadError {
		t.Errorf("thread is %s", got)
	}
	next.end(t, next.start(t, "t1", "two"), runs.Success)
	next.sound(t)
}

func (s suite) ExclusiveAndRunsKeepOutOfEachOthersWay(t *testing.T) {
	w := s.open(t, t.TempDir(), parrotAgent())
	w.end(t, w.start(t, "t1", "one"), runs.Success)
	inside, leave := make(chan struct{}), make(chan struct{})
	done := make(chan error, 1)
	go func() {
		done <- w.m.Exclusive(t.Context(), "t1", func(context.Context) error {
			close(inside)
			<-leave
			return errors.New("its own")
		})
	}()
	<-inside
	if err := w.m.Exclusive(t.Context(), "t1", nil); !errors.Is(err, runs.ErrBusy) {
		t.Errorf("a second one: %v", err)
	}
	run := w.start(t, "t1", "waits")
	gone := w.start(t, "t1", "leaves again")
	must.Do(t, w.m.Cancel(t.Context(), "t1", gone.ID, true))
	if r, _ := w.db.Run(t.Context(), run.ID); r.Status != runs.Pending {
		t.Errorf("a run started during an exclusive write: %s", r.Status)
	}
	close(leave)
	if err := <-done; err == nil || err.Error() != "its own" {
		t.Errorf("its error: %v", err)
	}
	w.end(t, run, runs.Success)
	hanging := w.start(t, "t1", "hang")
	w.until(t, hanging, text("hang"))
	if err := w.m.Exclusive(t.Context(), "t1", nil); !errors.Is(err, runs.ErrBusy) {
		t.Errorf("during a run: %v", err)
	}
	must.Do(t, w.m.Cancel(t.Context(), "t1", hanging.ID, true))
	// A run that comes and goes while the thread is held leaves it as it was.
	must.Do(t, w.m.Exclusive(t.Context(), "t1", func(context.Context) error {
		return w.m.Cancel(t.Context(), "t1", w.start(t, "t1", "gone").ID, true)
	}))
	if got := w.status(t, "t1"); got != runs.ThreadInterrupted {
		t.Errorf("thread is %s", got)
	}
	w.sound(t)
}
