package chain_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"fawn/agent/config"
	"fawn/agent/lead"
	"fawn/agent/runs"
	"fawn/web/webtest"
)

// TestWithoutAModelTheStagesCanBeSeen: the built-in model keeps a plan, asks which file is
// meant, and its threads have titles and suggestions, all by rule.
func TestWithoutAModelTheStagesCanBeSeen(t *testing.T) {
	w := open(t, func(f *config.File, _ *lead.Options) { f.Models, f.Title.Enabled = nil, true })
	w.send(t, "POST", "/threads", `{"thread_id":"t1"}`)
	w.run(t, "Please analyse my csv file", "")
	w.asks(t, "Which file should I work on?")
	w.upload(t, "north.csv", []byte("day,amount\n2024-01-01,1\n2024-01-02,3\n"))
	w.upload(t, "south.csv", []byte("day,amount\n2024-01-01,10\n2024-01-02,30\n"))
	stream := w.run(t, "Here they are", `{"is_plan_mode":true}`)
	values := w.values(t)
	holds(t, "answer", string(values["messages"]), "north.csv", "south.csv", "Saved: `report.md`")
	var plan []struct{ Content, Status string }
	if err := json.Unmarshal(values["todos"], &plan); err != nil || len(plan) != 3 {
		t.Fatal(plan, err)
	}
	for _, item := range plan {
		if item.Status != "completed" {
			t.Errorf("%+v", item)
		}
	}
	at := 0
	for _, state := range []string{`"pending"`, `"in_progress"`, `"completed"`} { // each item goes through them
		next := strings.Index(stream[at:], state)
		if next < 0 {
			t.Fatalf("the plan is never %s after %d bytes of the stream", state, at)
		}
		at += next
	}
	w.run(t, "Show a histogram", "")
	w.asks(t, "Which file do you mean?", "1. north.csv", "2. south.csv", "3. All of them")
	w.run(t, "south.csv", "")
	messages := string(w.values(t)["messages"])
	holds(t, "answer", messages[strings.LastIndex(messages, "Which file do you mean?"):], "report-2.md", "south.csv",
		"!Distribution of north")
	webtest.Same(t, "title", string(w.values(t)["title"]), `"Please analyse my csv file"`)
	holds(t, "suggestions",
		w.send(t, "POST", "/api/threads/t1/suggestions", `{"messages":[{"role":"user","content":"make a report"}]}`),
		"Show the distribution as a histogram.")
	holds(t, "suggestions after a summary", w.send(t, "POST", "/api/threads/t1/suggestions",
		`{"messages":[{"role":"user","content":"Summarise these notes"}]}`), "Which files did I upload?", "!histogram")
	if r := w.last(t); r.Status != runs.Success || len(w.model.Requests()) != 0 {
		t.Errorf("%+v, %d requests", r, len(w.model.Requests()))
	}
	w.run(t, "analyse the file", `{"disable_clarification":true}`)
	if r := w.last(t); r.Status != runs.Success {
		t.Errorf("%+v", r)
	}
	webtest.Holds(t, "it asked although nobody answers", w.send(t, "GET", "/threads/t1/state", ""), `!"next":["__interrupt__"]`)
}

// asks fails the test unless the thread waits with a question of these words.
func (w *world) asks(t *testing.T, words ...string) {
	t.Helper()
	s := webtest.Decode[struct {
		Next   []string
		Values struct {
			Messages []struct{ Content any }
		}
	}](t, w.send(t, "GET", "/threads/t1/state", ""))
	if len(s.Next) != 1 || s.Next[0] != "__interrupt__" {
		t.Errorf("next %v", s.Next)
	}
	holds(t, "question", fmt.Sprint(s.Values.Messages[len(s.Values.Messages)-1].Content), words...)
}

// TestWithoutAModelFilesAreSplitAmongHelpers: one a file, the reports are joined, and the plan
// is true at each step.
func TestWithoutAModelFilesAreSplitAmongHelpers(t *testing.T) {
	w := open(t, helping, func(f *config.File, _ *lead.Options) { f.Models = nil })
	w.send(t, "POST", "/threads", `{"thread_id":"t1"}`)
	for i, name := range []string{"north", "south", "east", "west"} {
		w.upload(t, name+".csv", fmt.Appendf(nil, "day,amount\n2024-01-01,%d\n2024-01-02,%d\n", i+1, 10*i+3))
	}
	stream := w.run(t, "Please analyse north.csv, south.csv, east.csv and west.csv",
		`{"subagent_enabled":true,"is_plan_mode":true}`)
	values := w.values(t)
	messages := webtest.Decode[[]struct {
		Type, Content string
		ToolCalls     []struct{ Name string } `json:"tool_calls"`
		Kwargs        map[string]any          `json:"additional_kwargs"`
	}](t, string(values["messages"]))
	var batches []string
	for _, m := range messages {
		sent := ""
		for _, c := range m.ToolCalls {
			sent += c.Name + " "
		}
		if sent != "" {
			batches = append(batches, strings.TrimSpace(sent))
		}
		if s, ok := m.Kwargs["subagent_status"]; ok && s != "completed" {
			t.Errorf("a helper is %v: %s", s, m.Content)
		}
	}
	got := strings.Join(batches, ", ")
	webtest.Same(t, "calls", got, "task task task write_todos, task write_todos, present_files write_todos, write_todos")
	answer := messages[len(messages)-1].Content
	for _, name := range []string{"north", "south", "east", "west"} {
		holds(t, "answer", answer, "## `"+name+".csv`", "`report-"+name+".md`")
	}
	holds(t, "artifacts", string(values["artifacts"]), "report-north.md", "report-west.md")
	var plan []struct{ Content, Status string }
	if err := json.Unmarshal(values["todos"], &plan); err != nil || len(plan) != 5 {
		t.Fatal(plan, err)
	}
	for _, item := range plan {
		if item.Status != "completed" {
			t.Errorf("%+v", item)
		}
	}
	r := w.last(t)
	if r.Status != runs.Success || !strings.Contains(stream, "task_completed") && len(w.model.Requests()) != 0 {
		t.Errorf("%+v", r)
	}
}
