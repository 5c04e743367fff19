package agent_test

import (
	"fmt"
	"strings"
	"testing"

	"fawn/agent"
	"fawn/agent/agenttest/must"
)

// sent writes a request's messages as "id:text".
func sent(s *agent.State) string {
	return list(agent.BuildRequest("", s, nil, agent.ModelOptions{}).Messages)
}

func TestNotesStandAtTheirAnchors(t *testing.T) {
	s := agent.State{
		Messages: []*agent.Message{human("h", "hi"), ai("a", "ok")},
		Notes: []agent.Note{
			{ID: "1", Message: "h", Place: agent.Before, Kind: "memory", Text: "before 1"},
			{ID: "2", Message: "h", Place: agent.Prefix, Kind: "uploads", Text: "prefix 1"},
			{ID: "3", Message: "h", Place: agent.After, Kind: "skill", Text: "after 1"},
			{ID: "4", Message: "h", Place: agent.Prefix, Kind: "date", Text: "prefix 2"},
			{ID: "5", Message: "h", Place: agent.Before, Text: "before 2"},
			{ID: "6", Message: "h", Place: agent.After, Text: "after 2"},
			{ID: "7", Message: "nobody", Place: agent.Before, Text: "lost"},
			{ID: "8", Message: "a", Place: "nowhere", Text: "lost"},
		},
	}
	want := "note:1:before 1 note:5:before 2 h:prefix 1\n\nprefix 2\n\nhi note:3:after 1 note:6:after 2 a:ok"
	if got := sent(&s); got != want {
		t.Errorf("\n got %q\nwant %q", got, want)
	}
	first := agent.BuildRequest("", &s, nil, agent.ModelOptions{}).Messages[0]
	if first.Type != agent.TypeHuman || first.Name != "memory" {
		t.Errorf("note is sent as %+v", first)
	}
	if got := list(s.Messages); got != "h:hi a:ok" {
		t.Errorf("the log became %q", got)
	}
}

func TestPrefixNoteGoesInFrontOfBlocks(t *testing.T) {
	m := human("h", "")
	must.Do(t, m.Content.UnmarshalJSON([]byte(`[{"type":"image_url","image_url":"u"}]`)))
	s := agent.State{Messages: []*agent.Message{m},
		Notes: []agent.Note{{ID: "1", Message: "h", Place: agent.Prefix, Text: "a <b>"}}}
	got := agent.BuildRequest("", &s, nil, agent.ModelOptions{}).Messages[0].Content
	if body := encode(t, got); body != `[{"text":"a <b>","type":"text"},{"type":"image_url","image_url":"u"}]` {
		t.Errorf("sent %s", body)
	}
	if body := encode(t, m.Content); body != `[{"type":"image_url","image_url":"u"}]` {
		t.Errorf("the log became %s", body)
	}
}

func TestNotesNeverPartCallsFromResults(t *testing.T) {
	for _, place := range []agent.Place{agent.Before, agent.Prefix, agent.After} {
		s := agent.State{Messages: []*agent.Message{human("h", "hi"), ai("a", "", "c", "d"), result("r", "c", "x"),
			result("q", "d", "y")}}
		for _, anchor := range []string{"h", "a", "r", "q"} {
			s.Notes = append(s.Notes, agent.Note{ID: anchor, Message: anchor, Place: place, Text: "n"})
		}
		if p := pairingProblem(agent.BuildRequest("", &s, nil, agent.ModelOptions{}).Messages); p != "" {
			t.Errorf("%s: %s", place, p)
		}
	}
}

// TestWhatWasSentStaysTheSame grows a thread turn by turn, with notes of every place at
// each message when it is new, and stores and loads it in between: every later request
// begins with the bytes of the earlier one.
func TestWhatWasSentStaysTheSame(t *testing.T) {
	var s agent.State
	step := func(p agent.State) {
		t.Helper()
		must.Do(t, s.Apply(p))
	}
	before := ""
	for turn := range 6 {
		id := func(kind string) string { return fmt.Sprint(kind, turn) }
		var notes []agent.Note
		for i, place := range []agent.Place{agent.Before, agent.Prefix, agent.After, agent.Prefix} {
			notes = append(notes, agent.Note{ID: fmt.Sprint(id("n"), i), Message: id("h"), Place: place, Kind: "k",
				Text: fmt.Sprint(place, turn)})
		}
		step(agent.State{Messages: []*agent.Message{human(id("h"), "question")}, Notes: notes})
		for range 2 {
			msgs := agent.BuildRequest("", &s, nil, agent.ModelOptions{}).Messages
			lines := make([]string, len(msgs))
			for i, m := range msgs {
				lines[i] = encode(t, m)
			}
			now := strings.Join(lines, "\n")
			if !strings.HasPrefix(now, before) {
				t.Fatalf("turn %d sends\n%s\nafter\n%s", turn, now, before)
			}
			before = now
			s = reload(t, &s)
		}
		a := ai(id("a"), "")
		a.AddCall("call_0", "f", ` { "a" : 1 } `) // the same id in every turn
		a.AddCall(id("g"), "g", `{"b":`)
		step(agent.State{Messages: []*agent.Message{a}})
		step(agent.State{Messages: []*agent.Message{result(id("r"), "call_0", "x"), result(id("q"), id("g"), "y")},
			Notes: []agent.Note{{ID: id("late"), Message: id("q"), Place: agent.After, Text: "image"}}})
	}
}

// reload stores a state and loads it.
func reload(t testing.TB, s *agent.State) agent.State {
	t.Helper()
	var back agent.State
	for _, m := range s.Messages {
		p := must.Get(agent.ParseMessage([]byte(encode(t, m))))(t)
		back.Messages = append(back.Messages, p)
	}
	for _, f := range agent.Fields {
		if !f.Set(s) {
			continue
		}
		must.Do(t, f.Decode(&back, []byte(encoded(t, s, f.Name))))
	}
	return back
}

func TestViewHidesButKeepsTheLog(t *testing.T) {
	log := []*agent.Message{human("h1", "1"), ai("a1", "", "c"), result("r1", "c", "long"), ai("a2", "ok"),
		human("h2", "2"), ai("a3", "", "d"), result("r2", "d", "long too")}
	const gone = "[Earlier output left out.]"
	all := "h1:1 a1: r1:long a2:ok h2:2 a3: r2:long too"
	cases := []struct {
		name string
		view *agent.View
		want string
	}{
		{"none", nil, all},
		{"cleared", &agent.View{}, all},
		{"an anchor which is gone", &agent.View{From: "x", Summary: "s", Cut: []string{"r1"}}, all},
		{"summary and anchor", &agent.View{From: "h2", Summary: "s"}, "summary:h2:s h2:2 a3: r2:long too"},
		{"anchor only", &agent.View{From: "h2"}, "h2:2 a3: r2:long too"},
		{"an anchor between call and result", &agent.View{From: "r1", Summary: "s"}, "summary:r1:s a2:ok h2:2 a3: r2:long too"},
		{"outputs cut behind the anchor", &agent.View{From: "a1", Summary: "s", Cut: []string{"r1"}}, "summary:a1:s a1: r1:" + gone + " a2:ok h2:2 a3: r2:long too"},
		{"a summary of nothing", &agent.View{Summary: "s", Cut: []string{"r2"}}, "h1:1 a1: r1:long a2:ok h2:2 a3: r2:" + gone},
		{"outputs cut only", &agent.View{Cut: []string{"r1", "h1"}}, "h1:1 a1: r1:" + gone + " a2:ok h2:2 a3: r2:long too"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			s := agent.State{Messages: log, View: c.view}
			req := agent.BuildRequest("", &s, nil, agent.ModelOptions{})
			if got := list(req.Messages); got != c.want {
				t.Errorf("\n got %s\nwant %s", got, c.want)
			}
			if p := pairingProblem(req.Messages); p != "" {
				t.Error(p)
			}
			if got := list(s.Messages); got != all {
				t.Errorf("the log became %s", got)
			}
			if strings.HasPrefix(req.Messages[0].ID, "summary:") &&
				(req.Messages[0].Genuine() || req.Messages[0].Type != agent.TypeHuman) {
				t.Errorf("the summary counts as written by a person: %+v", req.Messages[0])
			}
		})
	}
}

func TestRequestListsAreItsOwn(t *testing.T) {
	s := agent.State{Messages: []*agent.Message{human("h", "1"), ai("a", "2")}}
	tools := []*agent.Tool{{Name: "x"}, {Name: "y"}}
	req := agent.BuildRequest("sys", &s, tools, agent.ModelOptions{Effort: "low"})
	if req.System != "sys" || req.Options.Effort != "low" || len(req.Tools) != 2 {
		t.Errorf("request = %+v", req)
	}
	req.Messages[0], req.Tools[0] = human("z", ""), nil
	req.Messages = append(req.Messages, human("z", ""))
	if list(s.Messages) != "h:1 a:2" || tools[0] == nil {
		t.Error("a stage that changes the request changes the state or the agent")
	}
}

// TestRequestsHaveNoBlankAnswers: some providers refuse them.
func TestRequestsHaveNoBlankAnswers(t *testing.T) {
	thought := &agent.Message{ID: "b", Type: agent.TypeAI, Kwargs: map[string]any{"reasoning_content": "hm"}}
	failed := (&agent.Message{ID: "c", Type: agent.TypeAI,
		Content: agent.Text("The provider is gone.")}).With(agent.ErrorFallback, true)
	s := agent.State{Messages: []*agent.Message{{ID: "a", Type: agent.TypeHuman, Content: agent.Text("q")},
		{ID: "x", Type: agent.TypeAI, Content: agent.Text(" \n")}, thought, failed}}
	req := agent.BuildRequest("", &s, nil, agent.ModelOptions{})
	if len(req.Messages) != 2 || req.Messages[1].ID != "b" ||
		req.Messages[1].Content.Text != "[This answer ended before its first word.]" || thought.Content.Text != "" {
		t.Errorf("%d messages: %+v", len(req.Messages), req.Messages[len(req.Messages)-1])
	}
}
