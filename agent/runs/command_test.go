package runs_test

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"

	"fawn/agent"
	"fawn/agent/agenttest"
	"fawn/agent/agenttest/must"
	"fawn/agent/runs"
	"fawn/agent/runs/request"
	"fawn/agent/runs/runevent"
	"fawn/store"
)

// asking is an agent that asks which colour, then says its last words.
func asking() (*agent.Agent, *agenttest.Script) {
	ask := &agent.Tool{Name: "ask_clarification", Run: func(context.Context, *agent.Turn,
		agent.ToolCall) (agent.Result, error) {
		return agent.Result{Content: agent.Text("Which colour?"), End: true,
			Artifact: json.RawMessage(`{"human_input":{"version":1,"kind":"human_input_request",` +
				`"request_id":"r1","question":"Which colour?","input_mode":"choice_with_other","options":[{"id":"option-1","label":"Blue","value":"blue"},{"id":"option-2","label":"Red","value":"red"}]}}`)}, nil
	}}
	script := &agenttest.Script{Replies: []agenttest.Reply{agenttest.Call("q1", "ask_clarification", `{}`),
		agenttest.Say("It ", "is.")}}
	return &agent.Agent{Tools: []*agent.Tool{ask}, Model: script}, script
}

func (w *world) command(t *testing.T, thread, command string) store.Run {
	t.Helper()
	return w.goOn(t, runs.Request{Thread: thread, Command: json.RawMessage(command)})
}

func (s suite) ResumeAnswersTheOpenQuestion(t *testing.T) {
	for _, c := range []struct {
		name, resume, content, response string
	}{
		{"a text", `"green, please"`, "green, please", `"response_kind":"text","source":"ask_clarification","value":"green, please"`},
		{"an option's value", `"red"`, "red", `"option_id":"option-2","request_id":"r1","response_kind":"option"`},
		{"an option's label", `"Blue"`, "Blue", `"option_id":"option-1"`},
		{"an option's id", `"option-2"`, "red", `"response_kind":"option"`},
		{"an object with the value", `{"value":"red","option_id":"option-2"}`, "red", `"option_id":"option-2"`},
		{"any other object", `{"size":3}`, `{"size":3}`, `"response_kind":"text"`},
		{"a number", `7`, "7", `"response_kind":"text"`},
		{"a map by interrupt", `{"INTERRUPT":"red"}`, "red", `"option_id":"option-2"`},
	} {
		t.Run(c.name, func(t *testing.T) {
			a, _ := asking()
			w := s.open(t, t.TempDir(), a)
			w.end(t, w.start(t, "t1", "paint it"), runs.Success)
			head := w.head(t, "t1")
			if !slices.Equal(head.Next, []string{agent.NodeInterrupt}) || w.status(t, "t1") != runs.ThreadInterrupted {
				t.Fatalf("next %v, thread %s", head.Next, w.status(t, "t1"))
			}
			asked := w.state(t, "t1", "").Messages
			id := request.InterruptID(asked[len(asked)-1])
			run := w.command(t, "t1", `{"resume":`+strings.ReplaceAll(c.resume, "INTERRUPT", id)+`}`)
			w.end(t, run, runs.Success)
			got := shape(w.read(t, run.ID, 0))
			if got != "meta step(__input__) msg text(It ) text(is.) finish step(model) end" {
				t.Errorf("events: %s", got)
			}
			msgs := w.state(t, "t1", "").Messages
			said := msgs[len(msgs)-2]
			response, err := agent.Encode(said.Kwargs["human_input_response"])
			if err != nil || said.Type != agent.TypeHuman || said.Content.String() != c.content ||
				!strings.Contains(string(response), c.response) {
				t.Errorf("answer %s %q with %s", said.Type, said.Content.String(), response)
			}
			if w.status(t, "t1") != runs.Idle {
				t.Errorf("thread is %s", w.status(t, "t1"))
			}
			w.sound(t)
		})
	}
}

func (s suite) ResumeWithoutItsQuestionRunsNothing(t *testing.T) {
	a, script := asking()
	w := s.open(t, t.TempDir(), a)
	w.end(t, w.start(t, "t1", "paint it"), runs.Success)
	other := `{"resume":{"` + strings.Repeat("0", 32) + `":"red"}}`
	asked := w.state(t, "t1", "").Messages
	var unasked *request.InterruptError
	for _, thread := range []string{"t1", "none"} {
		_, err := w.m.Start(t.Context(), runs.Request{Thread: thread, Command: json.RawMessage(other)})
		if !errors.As(err, &unasked) {
			t.Errorf("an answer to another question: %v", err)
		} else if open := unasked.Open; thread == "t1" &&
			!slices.Equal(open, []string{request.InterruptID(asked[len(asked)-1])}) {
			t.Errorf("open: %q", open)
		}
	}
	w.end(t, w.command(t, "t1", `{"resume":"red"}`), runs.Success)
	run := w.command(t, "t1", `{"resume":"again"}`)
	w.end(t, run, runs.Success)
	if got := shape(w.read(t, run.ID, 0)); got != "meta end" {
		t.Errorf("nothing is asked: %s", got)
	}
	run = w.command(t, "new", `{"resume":"x"}`)
	w.end(t, run, runs.Success)
	if n := len(script.Requests()); n != 2 {
		t.Errorf("%d model calls", n)
	}
	w.sound(t)
}

// QueuedResumeAnswersTheQuestionOfItsTurn: what a command means is decided when the run
// starts, not when it is sent.
func (s suite) QueuedResumeAnswersTheQuestionOfItsTurn(t *testing.T) {
	a, script := asking()
	gate := make(chan struct{})
	script.Replies[0].Before = gate
	w := s.open(t, t.TempDir(), a)
	first := w.start(t, "t1", "paint it")
	second := w.command(t, "t1", `{"resume":"red"}`)
	close(gate)
	w.end(t, first, runs.Success)
	w.end(t, second, runs.Success)
	if got := texts(w.state(t, "t1", "")); got != "human:paint it\nai:\ntool:Which colour?\nhuman:red\nai:It is." {
		t.Errorf("messages:\n%s", got)
	}
	w.sound(t)
}

// QueuedResumeOfAnotherQuestionFails: what is known only when the run starts is an
// error too, and the question can still be answered.
func (s suite) QueuedResumeOfAnotherQuestionFails(t *testing.T) {
	a, script := asking()
	gate := make(chan struct{})
	script.Replies[0].Before = gate
	w := s.open(t, t.TempDir(), a)
	first := w.start(t, "t1", "paint it")
	second := w.command(t, "t1", `{"resume":{"`+strings.Repeat("0", 32)+`":"red"}}`)
	close(gate)
	w.end(t, first, runs.Success)
	if row := w.end(t, second, runs.Failed); !strings.Contains(row.Error, "no open question has the id 000") {
		t.Errorf("error %q", row.Error)
	}
	w.end(t, w.command(t, "t1", `{"resume":"red"}`), runs.Success)
	w.sound(t)
}

func (s suite) CommandUpdatesAndGoesTo(t *testing.T) {
	for _, c := range []struct {
		name, command, events, messages, title string
		next                                   []string
	}{
		{"an update alone is all there is", `{"update":{"title":"T"}}`, "meta step(__input__) end", "human:hi\nai:re: hi", "T", nil},
		{"an update of pairs", `{"update":[["title","P"]]}`, "meta step(__input__) end", "human:hi\nai:re: hi", "P", nil},
		{"an update with a question is answered", `{"update":{"messages":[{"role":"user","content":"more"}]}}`,
			"meta step(__input__) msg text(re: ) text(more) finish step(model) end",
			"human:hi\nai:re: hi\nhuman:more\nai:re: more", "", nil},
		{"the model again", `{"goto":"agent"}`, "meta step(__input__) msg text(re: ) text(hi) finish step(model) end", "human:hi\nai:re: hi\nai:re: hi", "", nil},
		{"a list, the end in it says nothing", `{"goto":["__end__","model","lead_agent"],"update":{"title":"L"}}`,
			"meta step(__input__) msg text(re: ) text(hi) finish step(model) end", "human:hi\nai:re: hi\nai:re: hi",
			"L", nil},
		{"the end", `{"goto":"__end__","update":{"messages":["never answered"]}}`, "meta step(__input__) end", "human:hi\nai:re: hi\nhuman:never answered", "", nil},
		{"nothing at all", `{}`, "meta end", "human:hi\nai:re: hi", "", nil},
		{"only nulls", `{"resume":null,"update":null,"goto":null}`, "meta end", "human:hi\nai:re: hi", "", nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := s.open(t, t.TempDir(), parrotAgent())
			w.end(t, w.start(t, "t1", "hi"), runs.Success)
			run := w.command(t, "t1", c.command)
			w.end(t, run, runs.Success)
			if got := shape(w.read(t, run.ID, 0)); got != c.events {
				t.Errorf("events: %s", got)
			}
			st := w.state(t, "t1", "")
			if got := texts(st); got != c.messages {
				t.Errorf("messages:\n%s", got)
			}
			if title := st.Title; c.title != "" && (title == nil || *title != c.title) {
				t.Errorf("title %v", title)
			}
			if next := w.head(t, "t1").Next; len(next) != 0 || w.status(t, "t1") != runs.Idle {
				t.Errorf("next %v, thread %s", next, w.status(t, "t1"))
			}
			w.sound(t)
		})
	}
}

func (s suite) CommandsThatCannotBeCarriedOut(t *testing.T) {
	w := s.open(t, t.TempDir(), parrotAgent())
	for name, command := range map[string]string{
		"no object": `"x"`, "an unknown node": `{"goto":"titler"}`,
		"a node with an input of its own": `{"goto":{"node":"tools","input":{}}}`,
		"two nodes at a time":             `{"goto":["model","tools"]}`, "an update that is none": `{"update":"x"}`,
		"pairs without names":    `{"update":[[1,2]]}`,
		"a message that is none": `{"update":{"messages":[{"content":"x"}]}}`, "a list of what": `{"goto":[1]}`,
	} {
		_, err := w.m.Start(t.Context(), runs.Request{Thread: "t1", Command: json.RawMessage(command)})
		if !errors.Is(err, runs.ErrInput) {
			t.Errorf("%s: %v", name, err)
		}
	}
	run := w.command(t, "t1", `{"goto":"tools"}`) // only the run can know that
	row := w.end(t, run, runs.Failed)
	if !strings.Contains(row.Error, "no tool call waits") {
		t.Errorf("error %q", row.Error)
	}
	w.sound(t)
}

func (s suite) BreakpointEndsTheRunAndNoInputGoesOn(t *testing.T) {
	w := s.open(t, t.TempDir(), toolAgent())
	run := must.Get(w.m.Start(t.Context(),
		runs.Request{Thread: "t1", Input: human("hi"), InterruptBefore: request.Strings{"tools"}}))(t)
	row := w.end(t, run, runs.Interrupted)
	if row.StopReason != agent.StopBreakpoint || w.status(t, "t1") != runs.ThreadInterrupted {
		t.Errorf("stop reason %q, thread %s", row.StopReason, w.status(t, "t1"))
	}
	evs := w.read(t, run.ID, 0)
	if got := shape(evs); got != "meta step(__input__) msg think(hm) text(Let ) text(me.) call finish step(model) halt end" {
		t.Errorf("events: %s", got)
	}
	var halt runevent.Halt
	if err := json.Unmarshal(evs[len(evs)-2].Data, &halt); err != nil || halt.Checkpoint != w.head(t, "t1").ID ||
		!slices.Equal(halt.Next, []string{"tools"}) {
		t.Errorf("halt %+v %v", halt, err)
	}
	w.close()
	w = s.open(t, w.dir, &agent.Agent{Tools: []*agent.Tool{agenttest.Echo("echo")},
		Model: &agenttest.Script{Replies: []agenttest.Reply{agenttest.Say("All ", "good.")}}})
	again := w.read(t, run.ID, 0)
	if !slices.Equal(allLines(again), allLines(evs)) {
		t.Errorf("after a restart:\n%v\n%v", allLines(again), allLines(evs))
	}
	on := w.goOn(t, runs.Request{Thread: "t1", InterruptBefore: request.Strings{"tools"}})
	w.end(t, on, runs.Success)
	got := shape(w.read(t, on.ID, 0))
	if got != "meta start result step(tools) msg text(All ) text(good.) finish step(model) end" {
		t.Errorf("events: %s", got)
	}
	w.sound(t)
}

func FuzzCommand(f *testing.F) {
	for _, s := range []string{`{"resume":"x"}`, `{"goto":["model",{"node":"x"}]}`, `{"update":[["title","x"]]}`,
		`{"resume":{"a":1},"update":{"messages":["hi"]}}`, `[]`, `{"goto":null}`} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		req := runs.Request{Command: raw}
		if err := req.CheckCommand(); err != nil && !errors.Is(err, runs.ErrInput) {
			t.Fatalf("%v is no input error", err)
		}
	})
}

// ATitleDoesNotMoveTheThread: a write without messages and without a node leaves the
// thread where it stands, be it ended by a command or at a breakpoint.
func (s suite) ATitleDoesNotMoveTheThread(t *testing.T) {
	w := s.open(t, t.TempDir(), parrotAgent())
	title := runs.Update{Values: json.RawMessage(`{"title":"T"}`)}
	w.end(t, w.command(t, "t1", `{"update":{"messages":["never answered"]},"goto":"__end__"}`), runs.Success)
	held := must.Get(w.m.Start(t.Context(),
		runs.Request{Thread: "t2", Input: human("hi"), InterruptBefore: request.Strings{"*"}}))(t)
	w.end(t, held, runs.Interrupted)
	for thread, want := range map[string]string{"t1": "", "t2": agent.NodeModel} {
		cp, err := w.m.UpdateState(t.Context(), thread, title)
		if err != nil || strings.Join(cp.Next, " ") != want {
			t.Errorf("thread %s: next %v, %v", thread, cp.Next, err)
		}
	}
	w.sound(t)
}
