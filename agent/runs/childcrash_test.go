package runs_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"fawn/agent"
	"fawn/agent/agenttest/must"
	"fawn/agent/runs"
	"fawn/store"
	"fawn/web/e2e/gate"
)

// crew is a lead that sends three helpers at once, whose calls resume. Each helper uses a tool
// twice and reports. What is done is written to a file of effects: tools by their call, and
// model calls of helpers that have reported already.
type crew struct {
	m   *runs.Manager
	dir string
}

const crewSize = 3

func (c *crew) build(context.Context, runs.Spec) (*agent.Agent, error) {
	return &agent.Agent{Tools: []*agent.Tool{{Name: "task", Resumes: true, Run: c.task}}, Model: modelOf(c.lead)}, nil
}

func (c *crew) lead(_ context.Context, req *agent.Request, yield func(agent.Chunk, error) bool) {
	var heard []string
	for _, m := range req.Messages {
		if m.Type == agent.TypeTool {
			heard = append(heard, m.Content.Text)
		}
	}
	if len(heard) > 0 {
		yield(agent.Chunk{Text: strings.Join(heard, ", ")}, nil)
		yield(agent.Chunk{Finish: "stop", Usage: &agent.Usage{Input: 1, Total: 1}}, nil)
		return
	}
	for i := range crewSize {
		id := fmt.Sprint("helper", i)
		if !yield(agent.Chunk{Calls: []agent.CallDelta{{Index: i, ID: id, Name: "task", Args: `{}`}}}, nil) {
			return
		}
	}
}

func (c *crew) task(ctx context.Context, t *agent.Turn, call agent.ToolCall) (agent.Result, error) {
	prompt := &agent.Message{Type: agent.TypeHuman, Content: agent.Text("work")}
	run, state, err := c.m.Child(ctx, t, runs.Task{Call: call.ID, AssistantID: "lead_agent",
		Input: agent.State{Messages: []*agent.Message{prompt}},
		Build: func(context.Context, runs.Spec) (*agent.Agent, error) { return c.helper(call.ID), nil },
		Tell: func(agent.Step) []json.RawMessage {
			return []json.RawMessage{json.RawMessage(fmt.Sprintf(`{"type":"task_running","task_id":%q}`, call.ID))}
		}})
	if err != nil {
		return agent.Result{}, err
	}
	return agent.TextResult(run.Status + ": " + state.Messages[len(state.Messages)-1].Content.Text), nil
}

// helper works in five steps.
func (c *crew) helper(call string) *agent.Agent {
	pause := func() { time.Sleep(time.Duration(rand.IntN(6000)) * time.Microsecond) }
	tool := &agent.Tool{Name: "effect", Run: func(_ context.Context, _ *agent.Turn,
		k agent.ToolCall) (agent.Result, error) {
		pause()
		return agent.TextResult("did"), c.note(call + "/" + k.ID)
	}}
	return &agent.Agent{Tools: []*agent.Tool{tool},
		Model: modelOf(func(ctx context.Context, req *agent.Request, yield func(agent.Chunk, error) bool) {
			if err := c.note("ask " + call); err != nil {
				yield(agent.Chunk{}, err)
				return
			}
			used := 0
			for _, m := range req.Messages {
				if m.Type == agent.TypeTool {
					used++
				}
			}
			pause()
			if used < 2 {
				for _, k := range []agent.Chunk{{Text: "I look. "},
					{Calls: []agent.CallDelta{{ID: fmt.Sprint("use", used), Name: "effect", Args: `{}`}}},
					{Finish: "tool_calls", Usage: &agent.Usage{Input: 2, Output: 1, Total: 3, Model: "m"}}} {
					if pause(); ctx.Err() != nil || !yield(k, nil) {
						return
					}
				}
				return
			}
			for _, word := range []string{"report ", "of ", call} {
				if pause(); ctx.Err() != nil || !yield(agent.Chunk{Text: word}, nil) {
					return
				}
			}
			yield(agent.Chunk{Finish: "stop", Usage: &agent.Usage{Input: 2, Output: 1, Total: 3, Model: "m"}}, nil)
		})}
}

func (c *crew) note(line string) error {
	f, err := os.OpenFile(filepath.Join(c.dir, "effects"), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintln(f, line)
	return errors.Join(err, f.Close())
}

// crewChild runs the scene in a process that is killed, and shows every event.
func crewChild(dir string) error {
	ctx := context.Background()
	db, err := openOwn(ctx, dir)
	if err != nil {
		return err
	}
	c := &crew{dir: dir}
	c.m = runs.New(runs.Config{DB: db, Log: quiet(), Build: c.build})
	if err := c.m.Recover(ctx); err != nil {
		return err
	}
	list, err := db.Runs(ctx, "t1", "", 0, 0)
	if err != nil {
		return err
	}
	if len(list) == 0 {
		run, err := c.m.Start(ctx, runs.Request{Thread: "t1", Input: human("go")})
		if err != nil {
			return err
		}
		list = append(list, run)
	}
	if err := printRun(ctx, c.m, list[0]); err != nil {
		return err
	}
	time.Sleep(time.Hour) // until it is killed
	return nil
}

// KilledHelpersGoOn kills a server whose run has three helpers, at random moments and up to
// twice: the next one ends the run with all three reports. No tool works twice, a helper that
// had ended is not asked again, what each used is counted once, and what was shown is there.
func (s suite) KilledHelpersGoOn(t *testing.T) {
	kills := gate.Pick(3, 8, 200)
	self := must.Get(os.Executable())(t)
	t.Setenv(crashCrew, "1")
	again := 0
	for kill := range kills {
		dir := t.TempDir()
		var seen []shown
		for range 1 + rand.IntN(2) {
			seen = append(seen, killOne(t, self, dir, false)...)
		}
		asked := s.endedHelpers(t, dir)
		c := &crew{dir: dir, m: nil}
		w := s.openCrew(t, c)
		run := w.end(t, w.only(t, "t1"), runs.Success)
		if run.Attempt > 1 {
			again++
		}
		checkCrew(t, w, run, asked)
		there := map[int64]string{}
		for _, e := range w.read(t, run.ID, 0) {
			there[e.Seq] = line(e)
		}
		for _, s := range seen {
			if there[s.Event.Seq] != s.Line {
				t.Errorf("event %d was shown as\n%s\nand is now\n%s", s.Event.Seq, s.Line, there[s.Event.Seq])
			}
		}
		must.Report(t, w.quiesce(t, "t1"))
		w.sound(t)
		w.close()
		if t.Failed() {
			t.Fatalf("after kill %d", kill+1)
		}
	}
	t.Logf("%d kills, %d runs went on", kills, again)
}

// openCrew is the next server on the folder of a crew, which its runs wait for.
func (s suite) openCrew(t *testing.T, c *crew) *world {
	t.Helper()
	ready := make(chan struct{})
	w := s.openWith(t, c.dir, runs.Config{Build: func(ctx context.Context, s runs.Spec) (*agent.Agent, error) {
		<-ready
		return c.build(ctx, s)
	}})
	c.m = w.m
	close(ready)
	return w
}

// endedHelpers are the helpers whose end a killed server had stored, with how often their models
// had been asked.
func (s suite) endedHelpers(t *testing.T, dir string) map[string]int {
	t.Helper()
	db := must.Get(s.openStore(t.Context(), dir))(t)
	defer db.Close()
	w := &world{db: db}
	times := effects(t, dir)
	out := map[string]int{}
	for _, kid := range w.children(t, w.only(t, "t1")) {
		if runs.Done(kid.Status) {
			call := callOf(t, kid)
			out[call] = times["ask "+call]
		}
	}
	return out
}

func callOf(t *testing.T, kid store.Run) string {
	t.Helper()
	var at struct {
		Call string `json:"task_id"`
	}
	must.Do(t, json.Unmarshal(kid.Kwargs, &at))
	return at.Call
}

// effects counts the lines of the file of effects.
func effects(t *testing.T, dir string) map[string]int {
	t.Helper()
	raw, err := os.ReadFile(filepath.Join(dir, "effects"))
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		t.Fatal(err)
	}
	times := map[string]int{}
	for line := range strings.Lines(string(raw)) {
		times[strings.TrimSpace(line)]++
	}
	return times
}

// checkCrew looks at a run of a crew that has ended well.
func checkCrew(t *testing.T, w *world, run store.Run, asked map[string]int) {
	t.Helper()
	times := effects(t, w.dir)
	for what, n := range times {
		if n > 1 && !strings.HasPrefix(what, "ask ") {
			t.Errorf("%s was done %d times", what, n)
		}
	}
	for call, n := range asked {
		if times["ask "+call] != n {
			t.Errorf("%s had ended and was asked again: %d, then %d times", call, n, times["ask "+call])
		}
	}
	answers := texts(w.state(t, "t1", ""))
	kids := w.children(t, run)
	if len(kids) != crewSize {
		t.Errorf("%d helpers", len(kids))
	}
	for _, kid := range kids {
		call := callOf(t, kid)
		if kid.Status != runs.Success || !strings.Contains(answers, "tool:success: report of "+call) {
			t.Errorf("%s is %s:\n%s", call, kid.Status, answers)
		}
		if got := total(t, kid.Usage); got != [2]int{9, 0} {
			t.Errorf("%s used %v", call, got)
		}
	}
	if got := total(t, run.Usage); got != [2]int{1 + 9*crewSize, 9 * crewSize} {
		t.Errorf("the run used %v", got)
	}
}

func total(t *testing.T, usage json.RawMessage) [2]int {
	t.Helper()
	var u struct {
		Total    int `json:"total_tokens"`
		Subagent int `json:"subagent_tokens"`
	}
	must.Do(t, json.Unmarshal(usage, &u))
	return [2]int{u.Total, u.Subagent}
}
