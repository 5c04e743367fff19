package turns

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"fawn/agent"
	"fawn/agent/runs"
	"fawn/agent/runs/request"
	"fawn/agent/runs/runevent"
	"fawn/store"
	"fawn/views"
)

// sketch writes turns in one line each: the steps, then the answer, then what else there is.
func sketch(turns []views.Turn) string {
	var lines []string
	for _, t := range turns {
		var parts []string
		if t.User != nil {
			parts = append(parts, "user("+t.User.Text+")")
		}
		for _, s := range t.Trail.Steps {
			switch s.Kind {
			case views.StepTool:
				parts = append(parts, s.Tool+":"+string(s.State))
			default:
				parts = append(parts, string(s.Kind)+"("+s.Text+")")
			}
		}
		if t.Answer != nil {
			parts = append(parts, "answer("+t.Answer.Text+")")
		}
		for _, f := range t.Files {
			parts = append(parts, "file("+f.Path+")")
		}
		lines = append(lines, strings.Join(parts, " "))
	}
	return strings.Join(lines, " | ")
}

func messages(t *testing.T, raw string) []*agent.Message {
	t.Helper()
	list, err := agent.ParseMessages(json.RawMessage(raw))
	if err != nil {
		t.Fatal(err)
	}
	for i, m := range list {
		if m.ID == "" {
			m.ID = fmt.Sprintf("m%d", i)
		}
	}
	return list
}

func TestMessagesBecomeTurns(t *testing.T) {
	const call = `{"type":"ai","content":%q,"tool_calls":[{"id":"c1","name":%q,"args":%s}]}`
	for name, c := range map[string]struct{ messages, want string }{
		"nothing":               {`[]`, ""},
		"question and answer":   {`[{"type":"human","content":"q"},{"type":"ai","content":"a"}]`, "user(q) answer(a)"},
		"blocks":                {`[{"type":"human","content":[{"type":"text","text":"q"},{"type":"image_url","image_url":"x"}]}]`, "user(q)"},
		"two turns":             {`[{"type":"human","content":"1"},{"type":"ai","content":"a"},{"type":"human","content":"2"}]`, "user(1) answer(a) | user(2)"},
		"begins with an answer": {`[{"type":"ai","content":"hello"},{"type":"human","content":"q"}]`, "answer(hello) | user(q)"},
		"thinking":              {`[{"type":"human","content":"q"},{"type":"ai","content":"a","additional_kwargs":{"reasoning_content":"hm"}}]`, "user(q) reasoning(hm) answer(a)"},
		"words before a call":   {`[{"type":"human","content":"q"},` + fmt.Sprintf(call, "look", "ls", "{}") + `,{"type":"tool","tool_call_id":"c1","content":"x"},{"type":"ai","content":"a"}]`, "user(q) note(look) ls:done answer(a)"},
		"a call that failed":    {`[{"type":"human","content":"q"},` + fmt.Sprintf(call, "", "ls", "{}") + `,{"type":"tool","tool_call_id":"c1","content":"Error","status":"error"}]`, "user(q) ls:fail"},
		"a command that failed": {`[{"type":"human","content":"q"},` + fmt.Sprintf(call, "", "bash", "{}") +
			`,{"type":"tool","tool_call_id":"c1","content":"Exit Code: 3","additional_kwargs":{"exit_code":3}}]`, "user(q) bash:fail"},
		"a call cut off":        {`[{"type":"human","content":"q"},` + fmt.Sprintf(call, "", "ls", "{}") + `,{"type":"tool","tool_call_id":"c1","content":"` + agent.InterruptedResult + `","status":"error"}]`, "user(q) ls:stop"},
		"a call without result": {`[{"type":"human","content":"q"},` + fmt.Sprintf(call, "", "ls", "{}") + `]`, "user(q) ls:stop"},
		"an id used again":      {`[{"type":"human","content":"q"},` + fmt.Sprintf(call, "", "ls", "{}") + `,{"type":"tool","tool_call_id":"c1","content":"x"},` + fmt.Sprintf(call, "", "glob", "{}") + `,{"type":"tool","tool_call_id":"c1","content":"x","status":"error"}]`, "user(q) ls:done glob:fail"},
		"an answer goes on":     {`[{"type":"human","content":"q"},{"type":"ai","content":"half"},{"type":"ai","content":"whole"}]`, "user(q) note(half) answer(whole)"},
		"an empty message":      {`[{"type":"human","content":"q"},{"type":"ai","content":"a"},{"type":"ai","content":" \n"}]`, "user(q) answer(a)"},
		"hidden and system":     {`[{"type":"system","content":"s"},{"type":"human","content":"q"},{"type":"human","content":"x","additional_kwargs":{"hide_from_ui":true}},{"type":"human","content":"y","name":"summary"},{"type":"ai","content":"a"}]`, "user(q) answer(a)"},
		"a stray result":        {`[{"type":"human","content":"q"},{"type":"tool","tool_call_id":"zz","content":"x"}]`, "user(q)"},
		"files once each": {`[{"type":"human","content":"q"},` + fmt.Sprintf(call, "", "present_files",
			`{"filepaths":["/mnt/user-data/outputs/a","/mnt/user-data/outputs/a","/etc/passwd"]}`) +
			`,{"type":"tool","tool_call_id":"c1","content":"x"}]`,
			"user(q) present_files:done file(mnt/user-data/outputs/a)"},
	} {
		t.Run(name, func(t *testing.T) {
			b := New("t", func(p string) views.File { return views.File{Path: strings.TrimPrefix(p, "/")} })
			for _, m := range messages(t, c.messages) {
				b.Add(m)
			}
			for i := range b.Turns {
				Settle(&b.Turns[i], nil)
			}
			if got := sketch(b.Turns); got != c.want {
				t.Errorf("got  %s\nwant %s", got, c.want)
			}
		})
	}
}

func TestRunsSettleTurns(t *testing.T) {
	at := time.Now()
	run := func(status, reason, err string, seconds int) store.Run {
		return store.Run{ID: "r", Status: status, StopReason: reason, Error: err, CreatedAt: at,
			UpdatedAt: at.Add(time.Duration(seconds) * time.Second), Usage: json.RawMessage(`{"total_tokens":7}`)}
	}
	for name, c := range map[string]struct {
		runs    []store.Run
		state   views.TurnState
		kind    views.FailureKind
		elapsed time.Duration
		tokens  int
	}{
		"none":         {nil, views.TurnDone, "", 0, 0},
		"good":         {[]store.Run{run(runs.Success, "", "", 3)}, views.TurnDone, "", 3 * time.Second, 7},
		"very short":   {[]store.Run{run(runs.Success, "", "", 0)}, views.TurnDone, "", 100 * time.Millisecond, 7},
		"stopped":      {[]store.Run{run(runs.Interrupted, "", "", 1)}, views.TurnStopped, "", time.Second, 7},
		"shut down":    {[]store.Run{run(runs.Interrupted, "shutdown", "", 1)}, views.TurnFailed, views.FailureInterrupted, time.Second, 7},
		"crashed":      {[]store.Run{run(runs.Interrupted, runs.StopOrphan, "", 1)}, views.TurnFailed, views.FailureInterrupted, time.Second, 7},
		"timeout":      {[]store.Run{run(runs.Timeout, "", "", 1)}, views.TurnFailed, views.FailureTimeout, time.Second, 7},
		"failed, fine": {[]store.Run{run(runs.Failed, "", "x", 1), run(runs.Success, "", "", 2)}, views.TurnDone, "", 3 * time.Second, 14},
		"disk":         {[]store.Run{run(runs.Failed, "", "store step: "+runs.ErrStorage.Error()+": full", 1)}, views.TurnFailed, views.FailureStorage, time.Second, 7},
		"auth":         {[]store.Run{run(runs.Failed, "", "the model provider answered 401: bad key", 1)}, views.TurnFailed, views.FailureAuth, time.Second, 7},
		"rate":         {[]store.Run{run(runs.Failed, "", "the model provider answered 429: slow down", 1)}, views.TurnFailed, views.FailureRateLimit, time.Second, 7},
		"cut":          {[]store.Run{run(runs.Failed, "model_cut_off", "The answer was cut off: the provider stopped the answer (abort).", 1)}, views.TurnFailed, views.FailureCut, time.Second, 7},
		"length":       {[]store.Run{run(runs.Success, "model_length_capped", "", 1)}, views.TurnFailed, views.FailureLength, time.Second, 7},
		"network":      {[]store.Run{run(runs.Failed, "", "the model call failed: dial tcp: connection refused", 1)}, views.TurnFailed, views.FailureUnreachable, time.Second, 7},
		"other":        {[]store.Run{run(runs.Failed, "", "panic", 1)}, views.TurnFailed, views.FailureOther, time.Second, 7},
	} {
		t.Run(name, func(t *testing.T) {
			turn := views.Turn{Trail: views.Trail{Steps: []views.Step{{State: views.StepRun}, {State: views.StepDone}}}}
			Settle(&turn, c.runs)
			kind := views.FailureKind("")
			if turn.Failure != nil {
				kind = turn.Failure.Kind
			}
			if turn.State != c.state || kind != c.kind || turn.Elapsed != c.elapsed || turn.Tokens != c.tokens {
				t.Errorf("%s %s %s %d", turn.State, kind, turn.Elapsed, turn.Tokens)
			}
			if turn.Trail.Steps[0].State != views.StepStop || turn.Trail.Steps[1].State != views.StepDone {
				t.Error("open steps are not closed")
			}
		})
	}
}

func TestRunsFindTheirTurn(t *testing.T) {
	spans := []Span{{"a", 0}, {"b", 4}, {"c", 6}}
	for name, c := range map[string]struct {
		kwargs string
		before int
		want   string
	}{
		"by id":               {`{"input":{"messages":[{"type":"human","id":"b"}]}}`, 0, "b"},
		"a bare list":         {`{"input":[{"role":"user","id":"c"}]}`, -1, "c"},
		"first, no id":        {`{"input":{"messages":[{"type":"human"}]}}`, 0, "a"},
		"second, no id":       {`{"input":{"messages":[{"type":"human"}]}}`, 4, "b"},
		"goes on":             {`{}`, 6, "b"},
		"goes on at the end":  {`{"input":null}`, 9, "c"},
		"not on this page":    {`{"input":{"messages":[{"type":"human","id":"z"}]}}`, 99, ""},
		"nothing is known":    {`{}`, -1, ""},
		"nonsense":            {`[]`, -1, ""},
		"input without words": {`{"input":{"title":"x"}}`, 5, "b"},
	} {
		t.Run(name, func(t *testing.T) {
			if got := TurnOf(request.StartOf(store.Run{Kwargs: json.RawMessage(c.kwargs)}), c.before, spans); got != c.want {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}

func TestWholeFields(t *testing.T) {
	for in, want := range map[string]string{
		``:                                   `{}`,
		`[1]`:                                `{}`,
		`{`:                                  `{}`,
		`{"a":1`:                             `{}`,
		`{"a":1,`:                            `{"a":1}`,
		`{"path":"x","content":"half`:        `{"path":"x"}`,
		`{"path":"x","list":[1,{"b":2}],"c"`: `{"path":"x","list":[1,{"b":2}]}`,
		`{"a":"x"}`:                          `{"a":"x"}`,
		`{"a":"x"} trailing`:                 `{"a":"x"}`,
		`{"a" "b"}`:                          `{}`,
	} {
		if got := string(wholeFields([]byte(in))); got != want {
			t.Errorf("%s: got %s, want %s", in, got, want)
		}
	}
}

func FuzzWholeFields(f *testing.F) {
	f.Add([]byte(`{"path":"x","content":"half`))
	f.Add([]byte(`{"a":{"b":[1,2,`))
	f.Fuzz(func(t *testing.T, raw []byte) {
		if out := wholeFields(raw); !json.Valid(out) || out[0] != '{' {
			t.Errorf("%q became %q", raw, out)
		}
	})
}

// FuzzDeltasEndLikeTheStoredMessage streams a message in pieces and then stores it: the
// turn must be the one a fresh page builds.
func FuzzDeltasEndLikeTheStoredMessage(f *testing.F) {
	f.Add("think", "text", `{"a":1}`, uint8(3), true)
	f.Add("", "x", "", uint8(1), false)
	f.Fuzz(func(t *testing.T, reasoning, text, args string, size uint8, called bool) {
		reasoning, text, args = strings.ToValidUTF8(reasoning, ""), strings.ToValidUTF8(text, ""),
			strings.ToValidUTF8(args, "")
		file := func(string) views.File { return views.File{} }
		human := &agent.Message{ID: "h", Type: agent.TypeHuman, Content: agent.Text("q")}
		live, fresh := New("t", file), New("t", file)
		live.Add(human)
		fresh.Add(human)
		msg := &runevent.Msg{ID: "m"}
		live.Event(runevent.Event{Kind: runevent.KindMessage, Msg: msg})
		var c agent.Collector
		feed := func(kind runevent.Kind, s string) {
			for len(s) > 0 {
				n := min(len(s), int(size)+1)
				ev := runevent.Event{Kind: kind, Msg: msg, Text: s[:n]}
				switch kind {
				case runevent.KindText:
					c.Add(agent.Chunk{Text: s[:n]})
				case runevent.KindReasoning:
					c.Add(agent.Chunk{Reasoning: s[:n]})
				case runevent.KindCall:
					d := agent.CallDelta{ID: "c", Name: "ls", Args: s[:n]}
					c.Add(agent.Chunk{Calls: []agent.CallDelta{d}})
					ev.Data, _ = json.Marshal(d)
				}
				live.Event(ev)
				live.Sync()
				s = s[n:]
			}
		}
		feed(runevent.KindReasoning, reasoning)
		feed(runevent.KindText, text)
		if called {
			feed(runevent.KindCall, args)
		}
		m := c.Message("m", true)
		body, err := agent.Encode(m)
		if err != nil {
			t.Fatal(err)
		}
		live.Event(runevent.Event{Kind: runevent.KindStep, Step: &runevent.StepData{Messages: []json.RawMessage{body}}})
		stored, err := agent.ParseMessage(body)
		if err != nil {
			t.Skip()
		}
		fresh.Add(stored)
		if got, want := sketch(live.Turns), sketch(fresh.Turns); got != want {
			t.Errorf("live  %s\nfresh %s", got, want)
		}
	})
}

func TestASearchNamesItsSites(t *testing.T) {
	for name, c := range map[string]struct {
		result string
		want   []string
	}{
		"members": {`{"results":[{"title":"A","url":"https://www.ADEME.fr/a","content":"see https://other.example"},{"url" : "http://cre.fr"},{"link":"https://ademe.fr/b"}]}`, []string{"ademe.fr", "cre.fr"}},
		"prose":   {"1. A https://a.example/x\n2. B (http://b.example)", []string{"a.example", "b.example"}},
		"none":    {"nothing was found", nil},
	} {
		if got := sites(c.result); !slices.Equal(got, c.want) {
			t.Errorf("%s: %v", name, got)
		}
	}
}
