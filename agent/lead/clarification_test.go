package lead_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"fawn/agent"
	"fawn/agent/agenttest"
	"fawn/agent/runs"
)

// TestAQuestionEndsTheRunAndTheNextMessageAnswersIt: other calls of the same answer are
// done first, the thread waits, and the model reads question and answer in the next run.
func TestAQuestionEndsTheRunAndTheNextMessageAnswersIt(t *testing.T) {
	w := newWorld(t, []agenttest.Reply{
		agenttest.Call("c1", "ask_clarification",
			`{"question":"Which one?","clarification_type":"approach_choice","context":"There are two.","options":["red","blue"]}`,
			"c2", "write_file", `{"path":"/mnt/user-data/workspace/x.txt","content":"x"}`),
		agenttest.Say("Blue it is."),
	})
	run := w.say(t, "paint it", "")
	if run.Status != runs.Success || run.StopReason != "" {
		t.Fatalf("run %s %s %s", run.Status, run.StopReason, run.Error)
	}
	if next := w.head(t).Next; !slices.Equal(next, []string{agent.NodeInterrupt}) {
		t.Errorf("next %v", next)
	}
	th, err := w.db.Thread(t.Context(), "t1")
	if err != nil || th.Status != runs.ThreadInterrupted {
		t.Errorf("thread %s, %v", th.Status, err)
	}
	s := w.state(t)
	q := agent.Question(&s)
	if q == nil || q.ID != "clarification:c1" || q.ToolCallID != "c1" || q.Status != "success" ||
		q.Content.Text != "🔀 There are two.\n\nWhich one?\n\n  1. red\n  2. blue" {
		t.Fatalf("question %+v", q)
	}
	var artifact struct {
		Input map[string]any `json:"human_input"`
	}
	if err := json.Unmarshal(q.Artifact, &artifact); err != nil || artifact.Input["request_id"] != q.ID ||
		artifact.Input["input_mode"] != "choice_with_other" || artifact.Input["version"] != 1.0 ||
		artifact.Input["tool_call_id"] != "c1" || len(artifact.Input["options"].([]any)) != 2 {
		t.Errorf("artifact %s", q.Artifact)
	}
	if m := s.Messages[len(s.Messages)-1]; m.ToolCallID != "c2" || m.Content.Text != "OK" {
		t.Errorf("the other call: %+v", m)
	}
	if !strings.Contains(w.log.String(), "[ClarificationMiddleware] Intercepted clarification request") {
		t.Error("the log does not say it")
	}

	if run := w.say(t, "blue", ""); run.Status != runs.Success {
		t.Fatalf("run %s %s", run.Status, run.Error)
	}
	if next := w.head(t).Next; len(next) != 0 {
		t.Errorf("next %v", next)
	}
	if got := lines(w.request(t, 1)); !strings.Contains(got, "1. red\n  2. blue\n") || !strings.Contains(got, "blue") {
		t.Errorf("the model read\n%s", got)
	}
	if agent.Question(new(w.state(t))) != nil {
		t.Error("the question is still open")
	}
}

// TestARunWithoutInputDoesNotPassAnOpenQuestion: "go on" asks the model nothing.
func TestARunWithoutInputDoesNotPassAnOpenQuestion(t *testing.T) {
	w := newWorld(t,
		[]agenttest.Reply{
			agenttest.Call("c1", "ask_clarification", `{"question":"Sure?","clarification_type":"risk_confirmation"}`),
		})
	w.say(t, "delete it", "")
	if run := w.run(t, nil, ""); run.Status != runs.Success || len(w.script.Requests()) != 1 {
		t.Errorf("run %s, %d calls", run.Status, len(w.script.Requests()))
	}
	if next := w.head(t).Next; !slices.Equal(next, []string{agent.NodeInterrupt}) {
		t.Errorf("next %v", next)
	}
}

// TestWhenNobodyCanAnswerTheModelDecides: the option turns questions into a hint.
func TestWhenNobodyCanAnswerTheModelDecides(t *testing.T) {
	w := newWorld(t, []agenttest.Reply{
		agenttest.Call("c1", "ask_clarification", `{"question":"Which?","clarification_type":"missing_info"}`),
		agenttest.Say("I took red."),
	})
	if run := w.say(t, "paint", `{"disable_clarification":true}`); run.Status != runs.Success {
		t.Fatalf("run %s", run.Status)
	}
	if got := lines(w.request(t, 1)); !strings.Contains(got, "best judgement") {
		t.Error(got)
	}
	if next := w.head(t).Next; len(next) != 0 {
		t.Errorf("next %v", next)
	}
}

// TestTheSameCallIDTwiceIsTwoQuestions: models count their calls from nought in each turn.
func TestTheSameCallIDTwiceIsTwoQuestions(t *testing.T) {
	ask := agenttest.Call("call_0", "ask_clarification", `{"question":"Which?","clarification_type":"missing_info"}`)
	w := newWorld(t, []agenttest.Reply{ask, ask})
	w.say(t, "one", "")
	w.say(t, "two", "")
	ids := map[string]bool{}
	for _, m := range w.state(t).Messages {
		if m.Type == agent.TypeTool {
			ids[m.ID] = true
		}
	}
	if len(ids) != 2 {
		t.Errorf("ids %v", ids)
	}
}
