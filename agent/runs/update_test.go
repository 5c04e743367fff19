package runs_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"fawn/agent"
	"fawn/agent/agenttest"
	"fawn/agent/agenttest/must"
	"fawn/agent/runs"
	"fawn/agent/runs/runevent"
	"fawn/store"
)

func (w *world) update(t *testing.T, thread string, u runs.Update) store.Checkpoint {
	t.Helper()
	cp := must.Get(w.m.UpdateState(t.Context(), thread, u))(t)
	return cp
}

func values(s string) runs.Update { return runs.Update{Values: json.RawMessage(s)} }

// UpdateGoesThroughTheReducers writes every kind of field from outside.
func (s suite) UpdateGoesThroughTheReducers(t *testing.T) {
	w := s.open(t, t.TempDir(), parrotAgent())
	w.end(t, w.start(t, "t1", "one"), runs.Success)
	answer := w.state(t, "t1", "").Messages[1].ID
	w.update(t, "t1", values(`{"title":"A","artifacts":["/a"],"todos":[{"content":"x"}],"viewed_images":{"/i":{"mime_type":"image/png","size":1}}}`))
	w.update(t, "t1", values(`{"artifacts":["/b","/a"],"title":null,"viewed_images":{"/j":{"mime_type":"image/png","size":2}},"sandbox":{"sandbox_id":"evil"},"thread_data":{"workspace_path":"/etc"},"unknown":1}`))
	cp := w.update(t, "t1",
		values(`{"todos":[],"messages":[{"type":"ai","id":"`+answer+
			`","content":"edited"},{"type":"human","id":"h2","content":"two"}]}`))
	st := w.state(t, "t1", "")
	if got := texts(st); got != "human:one\nai:edited\nhuman:two" {
		t.Errorf("messages:\n%s", got)
	}
	got := fmt.Sprint(*st.Title, st.Artifacts, st.Todos, len(st.ViewedImages), st.Sandbox, st.ThreadData)
	if got != "A[/a /b] [] 2 <nil> <nil>" {
		t.Errorf("fields: %s", got)
	}
	if cp.Source != "update" || cp.ID != w.head(t, "t1").ID || strings.Join(cp.Next, ",") != "model" {
		t.Errorf("checkpoint = %+v", cp)
	}
	if th, _ := w.db.Thread(t.Context(), "t1"); th.Title != "A" || th.Status != runs.ThreadInterrupted {
		t.Errorf("thread = %+v", th)
	}
	w.update(t, "t1", values(`{"messages":[{"type":"remove","id":"h2"}]}`))
	w.update(t, "t1", values(`{"messages":[{"type":"remove","id":"__remove_all__"},{"type":"human","content":"anew"}]}`))
	if got := texts(w.state(t, "t1", "")); got != "human:anew" {
		t.Errorf("messages:\n%s", got)
	}
	w.end(t, w.goOn(t, runs.Request{Thread: "t1"}), runs.Success)
	if got := texts(w.state(t, "t1", "")); got != "human:anew\nai:re: anew" {
		t.Errorf("messages:\n%s", got)
	}
	w.sound(t)
}

func (s suite) UpdateRefusesWhatItCannotDo(t *testing.T) {
	w := s.open(t, t.TempDir(), parrotAgent())
	w.end(t, w.start(t, "t1", "one"), runs.Success)
	before := w.head(t, "t1").ID
	for _, c := range []struct {
		name, thread string
		u            runs.Update
		want         error
	}{
		{"unknown thread", "nothing", values(`{"title":"x"}`), runs.ErrNotFound},
		{"unknown checkpoint", "t1", runs.Update{Checkpoint: "nothing"}, runs.ErrNotFound},
		{"no object", "t1", values(`[]`), runs.ErrInput},
		{"wrong type", "t1", values(`{"title":7}`), runs.ErrInput},
		{"bad message", "t1", values(`{"messages":[{"content":"x"}]}`), runs.ErrInput},
		{"unknown message", "t1", values(`{"messages":[{"type":"remove","id":"nothing"}]}`), runs.ErrInput},
		{"unknown field", "t1", runs.Update{Values: json.RawMessage(`{"color":1}`), Strict: true}, runs.ErrInput},
		{"hidden field", "t1", runs.Update{Values: json.RawMessage(`{"notes":[]}`), Strict: true}, runs.ErrInput},
	} {
		if _, err := w.m.UpdateState(t.Context(), c.thread, c.u); !errors.Is(err, c.want) {
			t.Errorf("%s: %v, want %v", c.name, err, c.want)
		}
	}
	if after := w.head(t, "t1").ID; after != before {
		t.Error("something was written")
	}
	run := w.start(t, "t1", "hang")
	if _, err := w.m.UpdateState(t.Context(), "t1", values(`{"title":"x"}`)); !errors.Is(err, runs.ErrBusy) {
		t.Errorf("during a run: %v", err)
	}
	must.Do(t, w.m.Cancel(t.Context(), "t1", run.ID, true))
	w.sound(t)
}

// ForkIsANewCheckpointWithTheSameState goes back without writing anything.
func (s suite) ForkIsANewCheckpointWithTheSameState(t *testing.T) {
	w := s.open(t, t.TempDir(), parrotAgent())
	w.end(t, w.start(t, "t1", "one"), runs.Success)
	done := w.head(t, "t1")
	w.end(t, w.start(t, "t1", "two"), runs.Success)
	for _, v := range []string{"", "null", "{}"} {
		for base, next := range map[string]string{done.ID: "", done.Parent: "model"} {
			cp := w.update(t, "t1", runs.Update{Values: json.RawMessage(v), Checkpoint: base})
			if cp.Source != "fork" || cp.Parent != base || strings.Join(cp.Next, ",") != next ||
				cp.ID != w.head(t, "t1").ID {
				t.Errorf("values %q: %+v", v, cp)
			}
			if got, want := texts(w.state(t, "t1", "")), texts(w.state(t, "t1", base)); got != want {
				t.Errorf("values %q:\n%s\nwant\n%s", v, got, want)
			}
		}
	}
	w.sound(t)
}

// AsNodeSaysWhatComesNext is the table of nodes a write can be made as.
func (s suite) AsNodeSaysWhatComesNext(t *testing.T) {
	const call = `{"type":"ai","id":"a1","content":"","tool_calls":[{"id":"c1","name":"t","args":{}}]}`
	const result = `,{"type":"tool","tool_call_id":"c1","content":"r"}`
	const question = `,{"type":"tool","name":"ask_clarification","tool_call_id":"c1","content":"?","artifact":{"human_input":{"question":"?"}}}`
	w := s.open(t, t.TempDir(), &agent.Agent{Model: &agenttest.Script{}})
	for i, c := range []struct{ node, messages, next, status string }{
		{"user", `{"type":"human","content":"x"}`, "model", runs.ThreadInterrupted},
		{"", `{"type":"human","content":"x"}`, "model", runs.ThreadInterrupted},
		{"whatever", `{"type":"human","content":"x"}`, "model", runs.ThreadInterrupted},
		{"__start__", `{"type":"human","content":"x"}`, "model", runs.ThreadInterrupted},
		{"model", call, "tools", runs.ThreadInterrupted},
		{"agent", call, "tools", runs.ThreadInterrupted},
		{"lead_agent", `{"type":"ai","content":"done"}`, "", runs.Idle},
		{"tools", call + result, "model", runs.ThreadInterrupted},
		{"tools", call + question, "__interrupt__", runs.ThreadInterrupted},
		{"user", call + question + `,{"type":"human","content":"that one"}`, "model", runs.ThreadInterrupted},
	} {
		thread := fmt.Sprint("t", i)
		w.end(t, w.goOn(t, runs.Request{Thread: thread}), runs.Success)
		cp := w.update(t, thread, runs.Update{Values: json.RawMessage(`{"messages":[` + c.messages + `]}`),
			AsNode: c.node})
		if got := strings.Join(cp.Next, ","); got != c.next || w.status(t, thread) != c.status {
			t.Errorf("as %q after %s: next %q, thread %s", c.node, c.messages, got, w.status(t, thread))
		}
	}
}

// StepsOfUpdatesHaveNumbersOfTheirOwn: the log of a thread stays one sequence, and the
// readers of runs do not see what was written between them.
func (s suite) StepsOfUpdatesHaveNumbersOfTheirOwn(t *testing.T) {
	w := s.open(t, t.TempDir(), parrotAgent())
	first := w.end(t, w.start(t, "t1", "one"), runs.Success)
	w.update(t, "t1", values(`{"title":"x"}`))
	second := w.end(t, w.start(t, "t1", "two"), runs.Success)
	if second.FirstSeq <= first.LastSeq+1 {
		t.Errorf("the update has no number between %d and %d", first.LastSeq, second.FirstSeq)
	}
	for _, run := range []store.Run{first, second} {
		evs := w.read(t, run.ID, 0)
		if evs[0].Seq != run.FirstSeq || evs[len(evs)-1].To != run.LastSeq ||
			slices.ContainsFunc(evs, func(e runevent.Event) bool {
				return e.Step != nil && e.Step.Node == "update"
			}) {
			t.Errorf("run %d..%d: %s", run.FirstSeq, run.LastSeq, shape(evs))
		}
	}
}
