package runs_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"fawn/agent"
	"fawn/agent/agenttest/must"
	"fawn/agent/runs"
	"fawn/agent/runs/runevent"
	"fawn/store"
)

// cutDir names the data folder to a child that runs a scene until it hangs and is killed.
const cutDir = "FAWN_TEST_CUT_DIR"

// cutAgent asks for three tools at once, of which the first ends, the second hangs and
// the third never begins while the second is there; then it speaks and hangs. hang is
// what holds still, "" nothing. Each start of a tool is a line in the file of effects.
func cutAgent(dir, hang string) *agent.Agent {
	note := func(line string) error {
		f, err := os.OpenFile(filepath.Join(dir, "effects"), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
		if err != nil {
			return err
		}
		_, err = f.WriteString(line + "\n")
		return firstOf(err, f.Close())
	}
	still := func(ctx context.Context, what string) error {
		if hang != what {
			return nil
		}
		<-ctx.Done()
		return ctx.Err()
	}
	tool := func(name string) *agent.Tool {
		return &agent.Tool{Name: name, Run: func(ctx context.Context, _ *agent.Turn,
			c agent.ToolCall) (agent.Result, error) {
			if err := note(name); err != nil {
				return agent.Result{}, err
			}
			r := agent.TextResult("did " + name)
			r.Patch.Artifacts = []string{"/" + name}
			return r, still(ctx, name)
		}}
	}
	return &agent.Agent{Tools: []*agent.Tool{tool("first"), tool("second")},
		Model: modelOf(func(ctx context.Context, req *agent.Request, yield func(agent.Chunk, error) bool) {
			say := func(text string) bool { return yield(agent.Chunk{Text: text}, nil) }
			switch n := len(req.Messages); {
			case req.Messages[n-1].Type == agent.TypeTool:
				say("after the tools, ")
				if hang == "answer" {
					say("half")
				}
				if err := still(ctx, "answer"); err != nil {
					yield(agent.Chunk{}, err)
					return
				}
				say("whole")
				yield(agent.Chunk{Finish: "stop", Usage: &agent.Usage{Input: 10, Output: 2, Total: 12}}, nil)
			default:
				say("I look")
				for i, name := range []string{"first", "second"} {
					yield(agent.Chunk{Calls: []agent.CallDelta{{Index: i, ID: "call_" + name, Name: name, Args: "{}"}}},
						nil)
				}
				yield(agent.Chunk{Finish: "tool_calls", Usage: &agent.Usage{Input: 5, Output: 1, Total: 6}}, nil)
			}
		})}
}

func firstOf(errs ...error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

// cutChild runs the scene, or goes on with it, and says "hangs" once it does.
func cutChild(dir string) error {
	ctx, hang := context.Background(), os.Getenv(cutDir+"_AT")
	if hang == "many" {
		return cutMany(dir)
	}
	if hang == "helper" {
		return cutHousehold(dir)
	}
	db, err := openOwn(ctx, dir)
	if err != nil {
		return err
	}
	m := runs.New(runs.Config{DB: db, Log: quiet(), Build: func(context.Context, runs.Spec) (*agent.Agent, error) {
		if hang == "build" { // before anything of the next attempt
			fmt.Println("hangs")
			select {}
		}
		return cutAgent(dir, hang), nil
	}})
	if err := m.Recover(ctx); err != nil {
		return err
	}
	id := m.Active("t1")
	if id == "" {
		run, err := m.Start(ctx,
			runs.Request{Thread: "t1", Input: human("go"), Durability: os.Getenv(cutDir + "_DURABILITY")})
		if err != nil {
			return err
		}
		id = run.ID
	}
	row, err := db.Run(ctx, id)
	if err != nil {
		return err
	}
	r, err := m.Follow(ctx, id)
	if err != nil {
		return err
	}
	for after := row.LastSeq; ; {
		evs, err := r.Next(ctx, after)
		if err != nil || evs == nil {
			return firstOf(err, fmt.Errorf("the run ended"))
		}
		for _, e := range evs {
			after = e.To
			if hang == "answer" && text("half")(e) || hang == "second" && e.Kind == runevent.KindToolResult {
				for hang == "second" && !began(dir) { // its start is stored before it is at work
					time.Sleep(time.Millisecond)
				}
				fmt.Println("hangs")
				select {}
			}
		}
	}
}

// began tells whether the second tool is at work.
func began(dir string) bool {
	raw, err := os.ReadFile(filepath.Join(dir, "effects"))
	return err == nil && strings.Contains(string(raw), "second\n")
}

// cut runs the scene in a child and kills it where it hangs.
func cut(t *testing.T, dir, at string) {
	t.Helper()
	self := must.Get(os.Executable())(t)
	cmd := exec.Command(self)
	cmd.Env = append(os.Environ(), cutDir+"="+dir, cutDir+"_AT="+at)
	cmd.Stderr = os.Stderr
	out := must.Get(cmd.StdoutPipe())(t)
	must.Do(t, cmd.Start())
	said := make([]byte, 6)
	if n, err := out.Read(said); n < 5 {
		t.Errorf("the child said %q: %v", said[:n], err)
	}
	must.Report(t, cmd.Process.Kill())
	cmd.Wait()
	if t.Failed() {
		t.FailNow()
	}
}

// reopened is the next server on a folder.
func (s suite) reopened(t *testing.T, dir string) *world {
	t.Helper()
	return s.openWith(t, dir,
		runs.Config{Build: func(context.Context, runs.Spec) (*agent.Agent, error) { return cutAgent(dir, ""), nil }})
}

func (w *world) only(t *testing.T, thread string) store.Run {
	t.Helper()
	list, err := w.db.Runs(t.Context(), thread, "", 0, 0)
	if err != nil || len(list) != 1 {
		t.Fatalf("%d runs, %v", len(list), err)
	}
	return list[0]
}

// AStoppedServerLeavesItsRunsToTheNext: as after a crash, but nothing is killed. Readers are
// let go, and what the agent says when it is cut off is not part of the run.
func (s suite) AStoppedServerLeavesItsRunsToTheNext(t *testing.T) {
	for _, c := range []struct{ at, messages string }{
		{"answer", "human:go\nai:I look\ntool:did first\ntool:did second\nai:after the tools, whole"},
		{"second", "human:go\nai:I look\ntool:did first\ntool:" + agent.InterruptedResult + "\nai:after the tools, whole"},
	} {
		t.Run(c.at, func(t *testing.T) {
			dir := t.TempDir()
			w := s.openWith(t, dir, runs.Config{Build: func(context.Context, runs.Spec) (*agent.Agent, error) {
				return cutAgent(dir, c.at), nil
			}})
			run := w.start(t, "t1", "go")
			w.until(t, run, func(e runevent.Event) bool {
				return c.at == "answer" && text("half")(e) || c.at == "second" && e.Kind == runevent.KindToolResult
			})
			for c.at == "second" && !began(dir) {
				time.Sleep(time.Millisecond)
			}
			reader := must.Get(w.m.Follow(t.Context(), run.ID))(t)
			queued := w.start(t, "t1", "go on")
			w.m.Close()
			shown := int64(0)
			for {
				evs, err := reader.Next(t.Context(), shown)
				if errors.Is(err, runs.ErrClosed) {
					break
				}
				if err != nil || len(evs) == 0 {
					t.Fatalf("its readers are let go with %v", err)
				}
				if shown = evs[len(evs)-1].To; evs[len(evs)-1].Kind == runevent.KindEnd {
					t.Error("its readers are told that it has ended")
				}
			}
			if _, err := w.m.Follow(t.Context(), run.ID); !errors.Is(err, runs.ErrClosed) {
				t.Errorf("who comes after that gets %v", err)
			}
			w.close()

			w = s.reopened(t, dir)
			if row := w.end(t, run, runs.Success); row.Attempt != 2 || row.StopReason != "" || row.LastSeq <= shown {
				t.Errorf("run: %+v, %d were shown", row, shown)
			}
			w.end(t, queued, runs.Success)
			if got := texts(w.state(t, "t1", "")); !strings.HasPrefix(got, c.messages+"\nhuman:go on\n") {
				t.Errorf("messages:\n%s\nwant\n%s", got, c.messages)
			}
			// once for each run
			if got := string(must.Get(os.ReadFile(filepath.Join(dir, "effects")))(t)); strings.Count(got, "first") != 2 ||
				strings.Count(got, "second") != 2 {
				t.Errorf("effects: %s", got)
			}
			w.sound(t)
		})
	}
}

// RunGoesOnAfterACrash: in the middle of an answer the text is withdrawn and said
// again under another id; between tools the finished one is not run again, and the one
// that was cut off is told to the model.
func (s suite) RunGoesOnAfterACrash(t *testing.T) {
	for _, c := range []struct {
		name, at, messages, shape string
	}{
		{"in an answer", "answer", "human:go\nai:I look\ntool:did first\ntool:did second\nai:after the tools, whole",
			"text(half) meta withdraw"},
		{"between tools", "second",
			"human:go\nai:I look\ntool:did first\ntool:" + agent.InterruptedResult + "\nai:after the tools, whole",
			"meta step(tools)"}, // the second call may have begun before or after the first had its result
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := t.TempDir()
			cut(t, dir, c.at)
			w := s.reopened(t, dir)
			run := w.only(t, "t1")
			row := w.end(t, run, runs.Success)
			if row.Attempt != 2 || row.StopReason != "" {
				t.Errorf("run: %+v", row)
			}
			if got := texts(w.state(t, "t1", "")); got != c.messages {
				t.Errorf("messages:\n%s\nwant\n%s", got, c.messages)
			}
			if got := string(must.Get(os.ReadFile(filepath.Join(dir, "effects")))(t)); strings.Count(got, "first") != 1 ||
				strings.Count(got, "second") != 1 {
				t.Errorf("effects: %s", got)
			}
			if got := w.state(t, "t1", "").Artifacts; got[0] != "/first" {
				t.Errorf("artifacts: %v", got)
			}
			evs := w.read(t, run.ID, 0)
			if got := shape(evs); !strings.Contains(got, c.shape) {
				t.Errorf("events: %s", got)
			}
			var usage struct {
				Total int `json:"total_tokens"`
				Calls int `json:"llm_call_count"`
			}
			if err := json.Unmarshal(row.Usage, &usage); err != nil || usage.Total != 18 || usage.Calls != 2 {
				t.Errorf("usage: %s, %v", row.Usage, err)
			}
			withdrawnOnce(t, evs, w.state(t, "t1", ""))
			if got := w.status(t, "t1"); got != runs.Idle {
				t.Errorf("thread is %s", got)
			}
			w.sound(t)
		})
	}
}

// withdrawnOnce: every message that streamed is in the state or withdrawn, not both.
func withdrawnOnce(t *testing.T, evs []runevent.Event, s agent.State) {
	t.Helper()
	void := map[string]int{}
	for _, e := range evs {
		if e.Kind == runevent.KindWithdraw {
			var w runevent.Withdrawal
			must.Do(t, json.Unmarshal(e.Data, &w))
			void[w.ID]++
		}
	}
	for _, e := range evs {
		if e.Kind != runevent.KindMessage {
			continue
		}
		stored := s.Message(e.Msg.ID) != nil
		if stored && void[e.Msg.ID] > 0 || !stored && void[e.Msg.ID] != 1 {
			t.Errorf("message %s is stored %v and withdrawn %d times", e.Msg.ID, stored, void[e.Msg.ID])
		}
	}
}

// ResultsOutliveTwoCrashes: the second attempt is cut off too, before it did anything
// or in the next step.
func (s suite) ResultsOutliveTwoCrashes(t *testing.T) {
	for _, at := range []string{"build", "answer"} {
		t.Run(at, func(t *testing.T) {
			dir := t.TempDir()
			cut(t, dir, "second")
			cut(t, dir, at)
			w := s.reopened(t, dir)
			run := w.only(t, "t1")
			if row := w.end(t, run, runs.Success); row.Attempt != 3 {
				t.Errorf("run: %+v", row)
			}
			got := texts(w.state(t, "t1", ""))
			want := "human:go\nai:I look\ntool:did first\ntool:" + agent.InterruptedResult +
				"\nai:after the tools, whole"
			if got != want {
				t.Errorf("messages:\n%s\nwant\n%s", got, want)
			}
			if got := string(must.Get(os.ReadFile(filepath.Join(dir, "effects")))(t)); strings.Count(got, "first") != 1 ||
				strings.Count(got, "second") != 1 {
				t.Errorf("effects: %s", got)
			}
			withdrawnOnce(t, w.read(t, run.ID, 0), w.state(t, "t1", ""))
			w.sound(t)
		})
	}
}

// ARunThatFellsTheServerIsLeftAtLast: after the third attempt in a row that stored nothing it is marked, with what
// the last one had said. The first one stored steps.
func (s suite) ARunThatFellsTheServerIsLeftAtLast(t *testing.T) {
	dir := t.TempDir()
	for range 4 {
		cut(t, dir, "answer")
	}
	w := s.reopened(t, dir)
	run := w.only(t, "t1")
	if row := w.end(t, run, runs.Interrupted); row.Attempt != 4 || row.StopReason != runs.StopOrphan {
		t.Errorf("run: %+v", row)
	}
	if got := texts(w.state(t, "t1", "")); !strings.HasSuffix(got, "did second\nai:after the tools, half") {
		t.Errorf("messages:\n%s", got)
	}
	withdrawnOnce(t, w.read(t, run.ID, 0), w.state(t, "t1", ""))
	if got := w.status(t, "t1"); got != runs.ThreadInterrupted {
		t.Errorf("thread is %s", got)
	}
	w.end(t, w.goOn(t, runs.Request{Thread: "t1"}), runs.Success)
	w.sound(t)
}
