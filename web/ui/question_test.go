package ui_test

import (
	"net/http"
	"net/url"
	"strings"
	"testing"

	"fawn/agent"
	"fawn/agent/agenttest"
	"fawn/agent/agenttest/must"
	"fawn/web/webtest"
)

// asking is a model that asks, and is thankful for the answer.
func asking(input string) *agenttest.Script {
	return &agenttest.Script{Replies: []agenttest.Reply{
		{Chunks: []agent.Chunk{{Calls: []agent.CallDelta{{ID: "q1", Name: "ask_clarification", Args: input}}},
			{Finish: "tool_calls"}}},
		agenttest.Say("Thank ", "you."),
	}}
}

const (
	tariffs = `{"question":"Which [tariff] & why?","context":"It changes the sum.","clarification_type":"approach_choice","options":["Base tariff","Off-peak tariff"]}`
	house   = `{"question":"About the house","fields":[{"name":"size","label":"Size","type":"number","required":true},` +
		`{"name":"kind","label":"Kind","type":"select","options":["old","new"]},` +
		`{"name":"rooms","label":"Rooms","type":"multi_select","options":["Kitchen","Bath","Hall"]},` +
		`{"name":"garden","label":"Garden","type":"checkbox"},{"name":"note","label":"Note","type":"textarea"},{"name":"since","label":"Since","type":"date"}]}`
)

func TestQuestionIsACardThatTheNextMessageAnswers(t *testing.T) {
	for name, c := range map[string]struct {
		question string
		open     []string // on the open card
		answer   url.Values
		text     string // what is said
		kind     string // of the record
	}{
		"option": {tariffs, []string{"Which [tariff] &amp; why?", "Which approach?", "It changes the sum.", `value="1"`,
			"Off-peak"}, url.Values{"ask": {"clarification:q1"}, "option": {"1"}}, "Off-peak tariff", "option"},
		"own words": {tariffs, []string{"Base"}, url.Values{"text": {"Neither"}}, "Neither", "text"},
		"free text": {`{"question":"Which town?"}`, []string{"Which town?", "Type your answer below."}, url.Values{"text": {"Lyon"}}, "Lyon", "text"},
		"form": {house, []string{`type="number"`, `type="date"`, "<select", "<textarea", "Kitchen", "Garden"},
			url.Values{"ask": {"clarification:q1"}, "f0": {"120"}, "f1": {"1"}, "f2": {"0", "2"}, "f3": {"1"}},
			"Size: 120\nKind: new\nRooms: Kitchen, Hall\nGarden: yes", "form"},
	} {
		for _, scripted := range []bool{false, true} {
			t.Run(name+map[bool]string{true: " with script"}[scripted], func(t *testing.T) {
				t.Parallel()
				w := open(t, asking(c.question))
				w.begin("t1", "Compare")
				r := w.reader("t1")
				r.read(0)
				w.settle("t1")
				r.equalsPage()
				s := r.dom.section("turns")
				webtest.Holds(t, "is not on the card", s, c.open...)
				if scripted {
					f := decodeFrame(t, w.post("/ui/threads/t1/messages", c.answer, script()...).body)
					if err := r.dom.apply(f); err != nil || f.Error != "" {
						t.Fatal(err, f.Error)
					}
					if f.Running { // else it is over already, and all is in the frame
						r.cursor, r.dom.done = f.Cursor, false
						r.read(0)
					}
				} else if a := w.post("/ui/threads/t1/messages", c.answer); a.StatusCode != http.StatusSeeOther {
					t.Fatal(a.StatusCode, a.body)
				}
				w.settle("t1")
				if scripted {
					r.equalsPage()
				}
				page := w.page("/workspace/chats/t1")
				if !strings.Contains(page, "Thank you.") || !strings.Contains(page, "calm") ||
					strings.Contains(page, `name="ask"`) ||
					strings.Count(page, c.text) < 2 { // on the card and as the message
					t.Fatal(page)
				}
				head, err := w.db.Snapshot(t.Context(), "t1", "")
				must.Do(t, err)
				for _, row := range head.Messages {
					m, err := agent.ParseMessage(row.Body)
					must.Do(t, err)
					if m.Type != agent.TypeHuman || m.Content.String() == "Compare" {
						continue
					}
					record, _ := m.Kwargs["human_input_response"].(map[string]any)
					if m.Content.String() != c.text || record["response_kind"] != c.kind ||
						record["request_id"] != "clarification:q1" || record["value"] != c.text {
						t.Errorf("said %q with %v", m.Content.String(), record)
					}
				}
			})
		}
	}
}

func TestAnswersThatDoNotFitAreRefused(t *testing.T) {
	w := open(t, asking(house))
	w.begin("t1", "Compare")
	w.settle("t1")
	a := w.post("/ui/threads/t1/messages", url.Values{"ask": {"clarification:q1"}, "f1": {"1"}}, script()...)
	webtest.Same(t, "an empty field is "+a.body, a.StatusCode, http.StatusUnprocessableEntity)
	w.post("/ui/threads/t1/messages", url.Values{"ask": {"another"}, "option": {"0"}}, script()...).want(t, "a question that is not open", http.StatusConflict)
	webtest.Holds(t, "the question is no longer open", w.page("/workspace/chats/t1"), `name="ask"`)
}

func TestPlanIsOnTheMessageBoxLiveAsOnAFreshPage(t *testing.T) {
	plan := func(id, a, b string) agenttest.Reply {
		args := `{"todos":[{"content":"Collect <prices>","status":"` + a +
			`"},{"content":"Write the report","status":"` + b + `"}]}`
		return agenttest.Reply{
			Chunks: []agent.Chunk{{Calls: []agent.CallDelta{{ID: id, Name: "write_todos", Args: args}}},
				{Finish: "tool_calls"}},
		}
	}
	model := &agenttest.Script{Replies: []agenttest.Reply{plan("p1", "in_progress", "pending"),
		plan("p2", "completed", "in_progress"), agenttest.Say("Done.")}}
	w := open(t, model)
	w.begin("t1", "Plan it")
	r := w.reader("t1")
	r.read(0)
	w.settle("t1")
	r.equalsPage()
	s := r.dom.section("todos")
	webtest.Holds(t, "is not in the plan", s, "Plan 1 of 2", "Collect &lt;prices&gt;", `<li class="done"`, `<li class="run"`)
	w.begin("t2", "No plan")
	w.settle("t2")
	webtest.Holds(t, "a thread without a plan shows one", w.page("/workspace/chats/t2"), `!id="plan"`)
}
