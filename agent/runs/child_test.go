package runs_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"fawn/agent"
	"fawn/agent/agenttest"
	"fawn/agent/agenttest/must"
	"fawn/agent/runs"
	"fawn/agent/runs/runevent"
	"fawn/store"
)

// report is what a helper says at length.
var report = strings.Repeat("A helper's long report. ", 200)

// household builds a parent that gives each helper its tasks and the helpers. hang holds the
// helpers still behind the first half of their report.
type household struct {
	m       *runs.Manager
	hang    bool
	abandon chan struct{} // not nil: the parent waits for its helper only until it hangs
	parents []string
}

func (h *household) build(_ context.Context, s runs.Spec) (*agent.Agent, error) {
	if s.Parent != "" {
		h.parents = append(h.parents, s.Parent)
		return &agent.Agent{Tools: []*agent.Tool{agenttest.Echo("echo")}, Model: modelOf(h.helper)}, nil
	}
	return &agent.Agent{Tools: []*agent.Tool{{Name: "task", Run: h.task}}, Model: modelOf(lead)}, nil
}

func lead(_ context.Context, req *agent.Request, yield func(agent.Chunk, error) bool) {
	if last := req.Messages[len(req.Messages)-1]; last.Type == agent.TypeTool {
		yield(agent.Chunk{Text: "heard: " + last.Content.Text[:8]}, nil)
		return
	}
	yield(agent.Chunk{Calls: []agent.CallDelta{{ID: "call_a", Name: "task", Args: `{"prompt":"look"}`}}}, nil)
}

func (h *household) helper(ctx context.Context, req *agent.Request, yield func(agent.Chunk, error) bool) {
	if req.Messages[len(req.Messages)-1].Type != agent.TypeTool {
		yield(agent.Chunk{Text: "I look."}, nil)
		yield(agent.Chunk{Calls: []agent.CallDelta{{ID: "inner", Name: "echo", Args: `{"a":1}`}}}, nil)
		yield(agent.Chunk{Finish: "tool_calls", Usage: &agent.Usage{Input: 7, Output: 3, Total: 10}}, nil)
		return
	}
	yield(agent.Chunk{Text: report[:1000]}, nil)
	if h.hang {
		if h.abandon != nil {
			close(h.abandon)
		}
		hang(ctx, yield)
		return
	}
	yield(agent.Chunk{Text: report[1000:]}, nil)
	yield(agent.Chunk{Finish: "stop", Usage: &agent.Usage{Input: 20, Output: 5, Total: 25}}, nil)
}

func (h *household) task(ctx context.Context, t *agent.Turn, c agent.ToolCall) (agent.Result, error) {
	prompt := &agent.Message{Type: agent.TypeHuman, Content: agent.Text("look")}
	task := runs.Task{Call: c.ID, AssistantID: "lead_agent", Input: agent.State{Messages: []*agent.Message{prompt}}}
	if h.abandon != nil {
		go h.m.Child(context.WithoutCancel(ctx), t, task)
		<-h.abandon
		return agent.TextResult("sent off"), nil
	}
	run, _, err := h.m.Child(ctx, t, task)
	if err != nil && run.Status == runs.Interrupted && ctx.Err() == nil {
		return agent.ErrorResult("the helper was stopped"), nil
	}
	if err != nil {
		return agent.Result{}, err
	}
	return agent.TextResult("the helper is " + run.Status), nil
}

func (s suite) openHousehold(t *testing.T, dir string, h *household) *world {
	t.Helper()
	w := s.openWith(t, dir, runs.Config{Build: h.build})
	h.m = w.m
	return w
}

// children are the rows of a run's children.
func (w *world) children(t *testing.T, run store.Run) []store.Run {
	t.Helper()
	ids := must.Get(w.db.ChildRuns(t.Context(), run.ID))(t)
	var list []store.Run
	for _, id := range ids {
		r := must.Get(w.db.Run(t.Context(), id))(t)
		list = append(list, r)
	}
	return list
}

// speaking waits until the helper hangs.
func (w *world) speaking(t *testing.T, run store.Run) {
	t.Helper()
	w.until(t, run, func(e runevent.Event) bool {
		return e.NS != "" && e.Kind == runevent.KindText && strings.HasPrefix(e.Text, "A helper")
	})
}

// AChildWorksInItsParentsThread: its conversation is in the parent's events, in a namespace,
// live and stored alike, and nowhere in the thread's state; its texts are stored once.
func (s suite) AChildWorksInItsParentsThread(t *testing.T) {
	h := &household{}
	w := s.openHousehold(t, t.TempDir(), h)
	run := w.start(t, "t1", "go")
	live := w.read(t, run.ID, 0)
	row := w.end(t, run, runs.Success)
	for after := int64(-1); after <= live[len(live)-1].To; after++ {
		got, want := fmt.Sprint(allLines(w.read(t, run.ID, after))), fmt.Sprint(allLines(past(live, after)))
		if got != want {
			t.Fatalf("after %d:\nlive   %s\nstored %s", after, want, got)
		}
	}
	var inner []runevent.Event
	for _, e := range live {
		if e.NS == "tools:call_a" {
			inner = append(inner, e)
		} else if e.NS != "" {
			t.Errorf("namespace %q", e.NS)
		}
	}
	want := "msg text(I look.) call finish step(model) start result step(tools) " +
		"msg text(" + report[:1000] + ") text(" + report[1000:] + ") finish step(model)"
	if got := shape(inner); got != want {
		t.Errorf("the helper's events are %s", short(got))
	}
	got := texts(w.state(t, "t1", ""))
	if strings.Contains(got, "report") || !strings.Contains(got, "heard: the help") {
		t.Errorf("state: %s", got)
	}
	kids := w.children(t, row)
	if len(kids) != 1 || kids[0].Parent != run.ID || kids[0].Status != runs.Success || kids[0].ThreadID != "t1" {
		t.Fatalf("children: %+v", kids)
	}
	if fmt.Sprint(h.parents) != fmt.Sprint([]string{run.ID}) {
		t.Errorf("built for children of %v", h.parents)
	}
	var used struct {
		Total int `json:"total_tokens"`
	}
	if err := json.Unmarshal(kids[0].Usage, &used); err != nil || used.Total != 35 {
		t.Errorf("usage %s, %v", kids[0].Usage, err)
	}
	if list, err := w.db.Runs(t.Context(), "t1", "", 0, 0); err != nil || len(list) != 1 {
		t.Errorf("the thread lists %d runs, %v", len(list), err)
	}
	events := must.Get(w.db.Events(t.Context(), "t1", 0, 0, 0))(t)
	stored := ""
	for _, e := range events {
		stored += string(e.Data)
	}
	for _, text := range []string{report, "I look.", `{"a":1}`} {
		if got := strings.Count(stored, text); got != 1 {
			t.Errorf("%q is stored %d times", short(text), got)
		}
	}
	w.sound(t)
}

// ChildrenEndBeforeTheirParent, whatever ends it.
func (s suite) ChildrenEndBeforeTheirParent(t *testing.T) {
	h := &household{hang: true}
	w := s.openHousehold(t, t.TempDir(), h)
	run := w.start(t, "t1", "go")
	w.speaking(t, run)
	must.Do(t, w.m.Cancel(t.Context(), "t1", run.ID, true))
	row := w.end(t, run, runs.Interrupted)
	kids := w.children(t, row)
	if len(kids) != 1 || kids[0].Status != runs.Interrupted || kids[0].UpdatedAt.After(row.UpdatedAt) {
		t.Fatalf("children: %+v", kids)
	}
	run = w.start(t, "t1", "go")
	w.speaking(t, run)
	must.Do(t, w.m.Rollback(t.Context(), "t1", run.ID, true))
	if kids := w.children(t, run); len(kids) != 0 {
		t.Errorf("a rolled back run has left %+v", kids)
	}
	run = w.start(t, "t1", "go")
	w.speaking(t, run)
	must.Do(t, w.m.DeleteThread(t.Context(), "t1"))
	if open, err := w.db.OpenRuns(t.Context()); err != nil || len(open) != 0 || held(w.m) != 0 {
		t.Errorf("%+v, %v, %d are held", open, err, held(w.m))
	}
}

// ACancelledChildLeavesItsParent at work.
func (s suite) ACancelledChildLeavesItsParent(t *testing.T) {
	h := &household{hang: true}
	w := s.openHousehold(t, t.TempDir(), h)
	run := w.start(t, "t1", "go")
	w.speaking(t, run)
	kid := w.children(t, run)[0]
	if err := w.m.Cancel(t.Context(), "other", kid.ID, false); !errors.Is(err, runs.ErrNotFound) {
		t.Errorf("by another thread: %v", err)
	}
	must.Do(t, w.m.Cancel(t.Context(), "t1", kid.ID, false))
	w.end(t, run, runs.Success)
	if kids := w.children(t, run); kids[0].Status != runs.Interrupted {
		t.Errorf("%+v", kids)
	}
}

// NoChildOutlivesItsParent, also one whose parent does not wait for it.
func (s suite) NoChildOutlivesItsParent(t *testing.T) {
	h := &household{hang: true, abandon: make(chan struct{})}
	w := s.openHousehold(t, t.TempDir(), h)
	run := w.start(t, "t1", "go")
	row := w.end(t, run, runs.Success)
	for _, kid := range w.children(t, row) {
		if !runs.Done(kid.Status) {
			t.Errorf("%+v", kid)
		}
	}
	_, _, err := w.m.Child(t.Context(), &agent.Turn{ThreadID: "t1", RunID: run.ID}, runs.Task{Call: "c"})
	if !errors.Is(err, runs.ErrNotFound) {
		t.Errorf("a child of a run that has ended: %v", err)
	}
}

// cutHousehold is the scene in which a helper hangs.
func cutHousehold(dir string) error {
	ctx := context.Background()
	db, err := openOwn(ctx, dir)
	if err != nil {
		return err
	}
	h := &household{hang: true}
	h.m = runs.New(runs.Config{DB: db, Log: quiet(), Build: h.build})
	run, err := h.m.Start(ctx, runs.Request{Thread: "t1", Input: human("go")})
	if err != nil {
		return err
	}
	r, err := h.m.Follow(ctx, run.ID)
	if err != nil {
		return err
	}
	for after := int64(0); ; {
		evs, err := r.Next(ctx, after)
		if err != nil || evs == nil {
			return firstOf(err, fmt.Errorf("the run ended"))
		}
		for _, e := range evs {
			after = e.To
			if e.NS != "" && strings.HasPrefix(e.Text, "A helper") {
				fmt.Println("hangs")
				select {}
			}
		}
	}
}

// AChildIsCutOffWithItsParent: after a crash the parent goes on, told that the call was
// cut off; the child has ended, and what it said is still to be read, once.
func (s suite) AChildIsCutOffWithItsParent(t *testing.T) {
	dir := t.TempDir()
	cut(t, dir, "helper")
	w := s.openHousehold(t, dir, &household{})
	run := w.end(t, w.only(t, "t1"), runs.Success)
	kids := w.children(t, run)
	if len(kids) != 1 || kids[0].Status != runs.Interrupted || kids[0].StopReason != runs.StopOrphan {
		t.Fatalf("children: %+v", kids)
	}
	if got := texts(w.state(t, "t1", "")); strings.Contains(got, "report") || !strings.Contains(got, "heard: ") {
		t.Errorf("state: %s", got)
	}
	said := 0
	for _, e := range w.read(t, run.ID, 0) {
		if e.NS != "" && e.Kind == runevent.KindText && e.Text == report[:1000] {
			said++
		}
	}
	if said != 1 {
		t.Errorf("the half report is told %d times", said)
	}
	w.sound(t)
}
