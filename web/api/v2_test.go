package api_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"fawn/agent"
	"fawn/agent/agenttest"
	"fawn/agent/agenttest/must"
	"fawn/web/httpx"
	"fawn/web/webtest"
)

// told is one event of the thread protocol.
type told struct {
	ID     string `json:"event_id"`
	Seq    int64  `json:"seq"`
	Method string `json:"method"`
	Params struct {
		NS   []string        `json:"namespace"`
		At   int64           `json:"timestamp"`
		Node string          `json:"node"`
		Data json.RawMessage `json:"data"`
	} `json:"params"`
}

// member is a string inside the data.
func (e told) member(t *testing.T, name string) string {
	t.Helper()
	v := decode[map[string]any](t, string(e.Params.Data))[name]
	if v == nil {
		return ""
	}
	return fmt.Sprint(v)
}

// over tells whether a run of the root ended.
func (e told) over(t *testing.T) bool {
	if e.Method != "lifecycle" || len(e.Params.NS) > 0 {
		return false
	}
	return slices.Contains([]string{"completed", "failed", "interrupted"}, e.member(t, "event"))
}

const everything = `"channels":["values","updates","messages","tools","custom","lifecycle","input","checkpoints"]`

// listen reads a thread's events until n runs have ended.
func (w *world) listen(t *testing.T, thread, body string, n int, headers ...string) []told {
	t.Helper()
	return w.attendEvents(t, thread, body, headers...)(n)
}

// attendEvents opens a stream of a thread's events; from then on nothing is missed. What it
// returns reads up to the nth end of a run, and closes it.
func (w *world) attendEvents(t *testing.T, thread, body string, headers ...string) func(n int) []told {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	t.Cleanup(cancel)
	res := w.request(t, ctx, "POST", "/threads/"+thread+"/stream/events", body, headers...)
	t.Cleanup(func() { res.Body.Close() })
	if res.StatusCode != http.StatusOK || res.Header.Get("Content-Type") != "text/event-stream" {
		t.Fatalf("%d %s", res.StatusCode, res.Header.Get("Content-Type"))
	}
	return func(n int) []told {
		t.Helper()
		defer cancel()
		defer res.Body.Close()
		var out []told
		lines := bufio.NewScanner(res.Body)
		lines.Buffer(nil, 16<<20)
		for n > 0 && lines.Scan() {
			data, ok := strings.CutPrefix(lines.Text(), "data: ")
			if !ok {
				continue
			}
			e := decode[told](t, data)
			if out = append(out, e); e.over(t) {
				n--
			}
		}
		if n > 0 {
			t.Fatalf("the stream ended with %d runs to go: %v", n, lines.Err())
		}
		return out
	}
}

// command sends a command that must succeed and returns its result.
func (w *world) command(t *testing.T, thread, method, params string) map[string]any {
	t.Helper()
	a := w.ok(t, "POST", "/threads/"+thread+"/commands",
		fmt.Sprintf(`{"id":7,"method":%q,"params":%s}`, method, params))
	if a["type"] != "success" || a["id"] != 7.0 {
		t.Fatalf("%s: %v", method, a)
	}
	return a["result"].(map[string]any)
}

// refused sends a command that must not succeed and returns the code.
func (w *world) refused(t *testing.T, thread, method, params string) string {
	t.Helper()
	a := w.ok(t, "POST", "/threads/"+thread+"/commands",
		fmt.Sprintf(`{"id":7,"method":%q,"params":%s}`, method, params))
	if a["type"] != "error" || a["message"] == "" {
		t.Fatalf("%s: %v", method, a)
	}
	return a["error"].(string)
}

const startWeather = `{"assistant_id":"lead_agent","input":{"messages":[{"role":"user","content":"weather please","id":"h1"}]}}`

// brief is a line for each event: where, what, and the words that tell most.
func brief(t *testing.T, list []told) string {
	t.Helper()
	var b strings.Builder
	for _, e := range list {
		place := ""
		for _, ns := range e.Params.NS {
			name, _, _ := strings.Cut(ns, ":")
			place += name + " "
		}
		fmt.Fprintf(&b, "%s%s", place, e.Method)
		d := decode[map[string]any](t, string(e.Params.Data))
		for _, name := range []string{"event", "role", "index", "content", "delta", "reason", "tool_name", "input",
			"source", "payload", "error"} {
			if v, ok := d[name]; ok {
				one, err := json.Marshal(v)
				must.Do(t, err)
				fmt.Fprintf(&b, " %s", one)
			}
		}
		if e.Params.Node != "" && e.Method == "updates" {
			b.WriteString(" " + e.Params.Node)
		}
		b.WriteString("\n")
	}
	return b.String()
}

func TestAThreadTellsItsRunAsBlocks(t *testing.T) {
	w := open(t, toolAgent())
	if got := w.command(t, "t1", "run.start", startWeather)["run_id"]; got == "" || got == nil {
		t.Errorf("run_id = %v", got)
	}
	list := w.listen(t, "t1", `{`+everything+`}`, 1)
	want := `lifecycle "running"
checkpoints "input"
values
messages "message-start" "ai"
messages "content-block-start" 0 {"reasoning":"","type":"reasoning"}
messages "content-block-delta" 0 {"reasoning":"thinking","type":"reasoning-delta"}
messages "content-block-finish" 0 {"reasoning":"thinking","type":"reasoning"}
messages "content-block-start" 1 {"text":"","type":"text"}
messages "content-block-delta" 1 {"text":"Let ","type":"text-delta"}
messages "content-block-delta" 1 {"text":"me.","type":"text-delta"}
messages "content-block-finish" 1 {"text":"Let me.","type":"text"}
messages "content-block-start" 2 {"args":"","id":"call_1","name":"get_weather","type":"tool_call_chunk"}
messages "content-block-delta" 2 {"fields":{"args":"{\"city\":","id":"call_1","name":"get_weather","type":"tool_call_chunk"},"type":"block-delta"}
messages "content-block-delta" 2 {"fields":{"args":"{\"city\":\"Paris\"}","id":"call_1","name":"get_weather","type":"tool_call_chunk"},"type":"block-delta"}
messages "content-block-finish" 2 {"args":{"city":"Paris"},"id":"call_1","name":"get_weather","type":"tool_call"}
messages "message-finish" "tool_calls"
updates model
checkpoints "loop"
values
tools "tool-started" "get_weather" {"city":"Paris"}
tools "tool-finished"
updates tools
checkpoints "loop"
values
messages "message-start" "ai"
messages "content-block-start" 0 {"text":"","type":"text"}
messages "content-block-delta" 0 {"text":"It is ","type":"text-delta"}
messages "content-block-delta" 0 {"text":"sunny.","type":"text-delta"}
messages "content-block-finish" 0 {"text":"It is sunny.","type":"text"}
messages "message-finish" "stop"
updates model
checkpoints "loop"
values
lifecycle "completed"
`
	webtest.Same(t, "got", brief(t, list), want)
	ids, last := map[string]bool{}, int64(0)
	for _, e := range list {
		if ids[e.ID] || e.Seq < last || e.Params.At == 0 || e.Params.NS == nil {
			t.Errorf("event %s after %d: %+v", e.ID, last, e)
		}
		ids[e.ID], last = true, e.Seq
	}
	var final map[string]any
	for _, e := range list {
		if e.Method == "values" {
			final = decode[map[string]any](t, string(e.Params.Data))
		}
	}
	webtest.Same(t, "messages in the last values", len(final["messages"].([]any)), 4)
}

func TestAReaderGetsTheSameEventsWhateverElseItAsksFor(t *testing.T) {
	w := open(t, toolAgent())
	w.command(t, "t1", "run.start", startWeather)
	all := w.listen(t, "t1", `{`+everything+`}`, 1)
	plain := func(e told) string { return e.ID + " " + e.Method + " " + string(e.Params.Data) }
	for name, c := range map[string]struct {
		body string
		keep func(told) bool
	}{
		"channels":    {`{"channels":["messages","lifecycle"]}`, func(e told) bool { return e.Method == "messages" || e.Method == "lifecycle" }},
		"the root":    {`{` + everything + `,"namespaces":[[]],"depth":0}`, func(e told) bool { return len(e.Params.NS) == 0 }},
		"one deep":    {`{` + everything + `,"namespaces":[[]],"depth":1}`, func(e told) bool { return len(e.Params.NS) <= 1 }},
		"since":       {fmt.Sprintf(`{`+everything+`,"since":%d}`, all[20].Seq), func(e told) bool { return e.Seq > all[20].Seq }},
		"last event":  {`{` + everything + `,"unknown":1}`, func(told) bool { return true }},
		"a new kind":  {`{"channels":["lifecycle","sound"]}`, func(e told) bool { return e.Method == "lifecycle" }},
		"other nodes": {`{"channels":["lifecycle","messages"],"namespaces":[["tools"],[]]}`, func(e told) bool { return e.Method == "lifecycle" || e.Method == "messages" }},
	} {
		t.Run(name, func(t *testing.T) {
			var want, got []string
			for _, e := range all {
				if c.keep(e) {
					want = append(want, plain(e))
				}
			}
			for _, e := range w.listen(t, "t1", c.body, 1) {
				got = append(got, plain(e))
			}
			if !slices.Equal(got, want) {
				t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
			}
		})
	}
}

func TestAThreadsEventsGoOnBehindAnyOfThem(t *testing.T) {
	w := open(t, toolAgent())
	w.command(t, "t1", "run.start", startWeather)
	all := w.listen(t, "t1", `{`+everything+`}`, 1)
	for i, e := range all[:len(all)-1] {
		if a, b := httpx.ParseID(e.ID), httpx.ParseID(all[i+1].ID); a.Compare(b) >= 0 {
			t.Errorf("%s comes before %s", e.ID, all[i+1].ID)
		}
		rest := w.listen(t, "t1", `{`+everything+`}`, 1, "Last-Event-ID", e.ID)
		if !slices.EqualFunc(rest, all[i+1:], func(a, b told) bool { return a.ID == b.ID && a.Method == b.Method }) {
			t.Fatalf("behind %s (%s):\n%s", e.ID, e.Method, brief(t, rest))
		}
	}
}

func TestAThreadIsHeardFromBeforeItExistsAndFromRunToRun(t *testing.T) {
	w := open(t,
		&agent.Agent{Model: &agenttest.Script{Replies: []agenttest.Reply{agenttest.Say("one"), agenttest.Say("two")}}})
	hear := w.attendEvents(t, "new", `{"channels":["messages","lifecycle"]}`)
	for range 2 {
		w.command(t, "new", "run.start", `{"assistant_id":"lead_agent","input":{"messages":"hi"}}`)
	}
	var text, roots string
	for _, e := range hear(2) {
		if e.Method == "messages" {
			d := decode[struct {
				Delta struct {
					Text string `json:"text"`
				} `json:"delta"`
			}](t, string(e.Params.Data))
			text += d.Delta.Text
		} else if len(e.Params.NS) == 0 {
			roots += e.member(t, "event") + " "
		}
	}
	if text != "onetwo" || roots != "running completed running completed " {
		t.Errorf("%q %q", text, roots)
	}
}

func TestAQuestionIsToldAndAnswered(t *testing.T) {
	w := open(t, askAgent())
	w.command(t, "t1", "run.start", startWeather)
	list := w.listen(t, "t1", `{"channels":["input","lifecycle"],"namespaces":[[]],"depth":0}`, 1)
	var asked told
	for _, e := range list {
		if e.Method == "input.requested" {
			asked = e
		}
	}
	if list[len(list)-1].member(t, "event") != "interrupted" ||
		!strings.Contains(string(asked.Params.Data), "Which colour?") {
		t.Fatalf("%s", brief(t, list))
	}
	id := asked.member(t, "interrupt_id")
	got := w.refused(t, "t1", "input.respond", `{"interrupt_id":"nope","response":"x"}`)
	webtest.Same(t, "a foreign interrupt", got, "no_such_interrupt")
	w.command(t, "t1", "input.respond", fmt.Sprintf(`{"namespace":[],"interrupt_id":%q,"response":"blue"}`, id))
	list = w.listen(t, "t1", fmt.Sprintf(`{`+everything+`,"since":%d}`, list[len(list)-1].Seq), 1)
	if list[len(list)-1].member(t, "event") != "completed" || !strings.Contains(brief(t, list), "Blue ") {
		t.Errorf("%s", brief(t, list))
	}
	state := w.command(t, "t1", "state.get", `{}`)
	if b, err := json.Marshal(state); err != nil || !strings.Contains(string(b), `"content":"blue"`) {
		t.Errorf("%s %v", b, err)
	}
	webtest.Same(t, "answered twice", w.refused(t, "t1", "input.respond", fmt.Sprintf(`{"interrupt_id":%q,"response":"x"}`, id)), "invalid_argument")
}

func TestAnInputThatNamesTheInterruptIsTheAnswer(t *testing.T) {
	w := open(t, askAgent())
	w.command(t, "t1", "run.start", startWeather)
	list := w.listen(t, "t1", `{"channels":["input","lifecycle"]}`, 1)
	id := ""
	for _, e := range list {
		if e.Method == "input.requested" {
			id = e.member(t, "interrupt_id")
		}
	}
	w.command(t, "t1", "run.start", fmt.Sprintf(`{"assistant_id":"lead_agent","input":{%q:"green"}}`, id))
	w.listen(t, "t1", fmt.Sprintf(`{"channels":["lifecycle"],"since":%d}`, list[len(list)-1].Seq), 1)
	webtest.Holds(t, "the answer", w.send(t, "GET", "/threads/t1/state", "").body, `"content":"green"`)
}

func TestAFailedRunIsTold(t *testing.T) {
	w := open(t, failAgent())
	w.command(t, "t1", "run.start", startWeather)
	list := w.listen(t, "t1", `{"channels":["messages","lifecycle"]}`, 1)
	last := list[len(list)-1]
	if last.member(t, "event") != "failed" || last.member(t, "error") != "kaboom" {
		t.Errorf("%s", brief(t, list))
	}
	starts, ends := 0, 0
	for _, e := range list {
		switch e.member(t, "event") {
		case "message-start":
			starts++
		case "message-finish", "error":
			ends++
		}
	}
	if starts == 0 || starts != ends {
		t.Errorf("%d messages began and %d ended:\n%s", starts, ends, brief(t, list))
	}
}

func TestCommands(t *testing.T) {
	w := open(t,
		&agent.Agent{Model: &agenttest.Script{Replies: []agenttest.Reply{agenttest.Say("one"), agenttest.Say("two")}}})
	for name, c := range map[string]struct{ method, params, want string }{
		"unknown":              {"bogus.method", `{}`, "unknown_command"},
		"no assistant":         {"run.start", `{}`, "invalid_argument"},
		"an unknown assistant": {"run.start", `{"assistant_id":"nobody"}`, "invalid_argument"},
		"a wrong type":         {"run.start", `{"assistant_id":7}`, "invalid_argument"},
		"a wrong strategy":     {"run.start", `{"assistant_id":"lead_agent","multitaskStrategy":"never"}`, "invalid_argument"},
		"a wrong message":      {"run.start", `{"assistant_id":"lead_agent","input":{"messages":[{"content":"x"}]}}`, "invalid_argument"},
		"no run":               {"input.respond", `{"interrupt_id":"x","response":"y"}`, "no_such_run"},
		"no answer":            {"input.respond", `{}`, "invalid_argument"},
		"no thread":            {"state.get", `{}`, "no_such_run"},
		"a namespace":          {"state.get", `{"namespace":["tools:1"]}`, "no_such_namespace"},
		"not offered":          {"input.inject", `{}`, "not_supported"},
		"no checkpoint":        {"state.fork", `{}`, "invalid_argument"},
	} {
		webtest.Same(t, name, w.refused(t, "none", c.method, c.params), c.want)
	}
	w.send(t, "GET", "/threads/none", "").want(t, "a refused command made a thread", 404)
	w.command(t, "t1", "run.start", `{"assistant_id":"lead_agent","input":{"messages":"hi"}}`)
	w.listen(t, "t1", `{"channels":["lifecycle"]}`, 1)
	state := w.command(t, "t1", "state.get", `{"namespace":[],"keys":["title"]}`)
	values := state["values"].(map[string]any)
	if len(values) != 1 || state["checkpoint"].(map[string]any)["id"] == "" {
		t.Errorf("state = %v", state)
	}
	list := w.command(t, "t1", "state.listCheckpoints", `{"limit":2}`)["checkpoints"].([]any)
	if len(list) != 2 {
		t.Fatalf("checkpoints = %v", list)
	}
	webtest.Same(t, "fork of nothing", w.refused(t, "t1", "state.fork", `{"checkpoint_id":"nope"}`), "no_such_checkpoint")
	all := w.command(t, "t1", "state.listCheckpoints", `{}`)["checkpoints"].([]any)
	first := all[len(all)-1].(map[string]any)["id"].(string)
	before := w.listen(t, "t1", `{"channels":["lifecycle"]}`, 1)
	w.command(t, "t1", "state.fork", fmt.Sprintf(`{"checkpoint_id":%q,"input":{"messages":"again"}}`, first))
	w.listen(t, "t1", fmt.Sprintf(`{"channels":["lifecycle"],"since":%d}`, before[len(before)-1].Seq), 1)
	if tree := w.command(t, "t1", "agent.getTree", `{}`)["tree"].(map[string]any); tree["status"] != "completed" {
		t.Errorf("tree = %v", tree)
	}
}
