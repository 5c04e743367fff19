package middleware_test

import (
	"encoding/json"
	"strings"
	"testing"

	"fawn/agent"
	"fawn/agent/agenttest"
	"fawn/agent/agenttest/must"
	"fawn/agent/middleware"
)

// ask runs one call through the stage.
func ask(t testing.TB, args string) agent.Result {
	t.Helper()
	stage := middleware.Clarification()
	turn := agenttest.Turn("x", &agenttest.Sink{})
	r := must.Get(stage.WrapTool(nil)(t.Context(), turn,
		agent.ToolCall{ID: "c1", Name: "ask_clarification", Args: json.RawMessage(args)}))(t)
	return r
}

type drawn struct {
	Input struct {
		Version int    `json:"version"`
		Mode    string `json:"input_mode"`
		Type    string `json:"clarification_type"`
		Options []struct{ ID, Label, Value string }
		Fields  []struct {
			Name, Label, Type string
			Required          bool
			Options           []struct{ ID, Value string }
		}
	} `json:"human_input"`
}

func draw(t testing.TB, r agent.Result) drawn {
	t.Helper()
	var d drawn
	if err := json.Unmarshal(r.Artifact, &d); err != nil {
		t.Fatalf("%v: %s", err, r.Artifact)
	}
	return d
}

func TestQuestionsOfAllKinds(t *testing.T) {
	for _, c := range []struct{ name, args, text, mode string }{
		{"missing information", `{"question":"Where?","clarification_type":"missing_info"}`, "❓ Where?", "free_text"},
		{"ambiguous", `{"question":"Where?","clarification_type":"ambiguous_requirement"}`, "🤔 Where?", "free_text"},
		{"choice", `{"question":"Where?","clarification_type":"approach_choice","options":["a","b"]}`, "🔀 Where?\n\n  1. a\n  2. b", "choice_with_other"},
		{"risk", `{"question":"Delete?","clarification_type":"risk_confirmation","context":"All goes."}`, "⚠️ All goes.\n\nDelete?", "free_text"},
		{"suggestion", `{"question":"OK?","clarification_type":"suggestion"}`, "💡 OK?", "free_text"},
		{"unknown kind", `{"question":"Where?","clarification_type":"whim"}`, "❓ Where?", "free_text"},
		{"options as JSON text", `{"question":"Where?","options":"[\"a\",\"b\"]"}`, "❓ Where?\n\n  1. a\n  2. b", "choice_with_other"},
		{"options as objects", `{"question":"Where?","options":[{"label":"a"},{"x":"b","y":"c"}]}`, "❓ Where?\n\n  1. a\n  2. b\n  3. c", "choice_with_other"},
		{"options with markup", `{"question":"Where?","options":["<option>a < b</option>"," ","a < b"]}`, "❓ Where?\n\n  1. a < b", "choice_with_other"},
		{"form", `{"question":"Who?","options":["a"],"fields":[{"name":"n","label":"Name","required":true},{"name":"s","type":"select","options":["x","y"]}]}`,
			"❓ Who?\n\n  - Name *\n  - s: x, y", "form"},
		{"form with a field twice", `{"question":"Who?","options":["a"],"fields":[{"name":"n"},{"name":"n"}]}`, "❓ Who?\n\n  1. a", "choice_with_other"},
		{"form with a name scripts trip over", `{"question":"Who?","fields":[{"name":"__proto__"}]}`, "❓ Who?", "free_text"},
		{"form that is none", `{"question":"Who?","fields":{"name":"n"}}`, "❓ Who?", "free_text"},
	} {
		r := ask(t, c.args)
		d := draw(t, r)
		if r.Content.Text != c.text || d.Input.Mode != c.mode || !r.End || r.IsError {
			t.Errorf("%s: %q %s, want %q %s", c.name, r.Content.Text, d.Input.Mode, c.text, c.mode)
		}
	}
}

func TestFormFieldsAreNormal(t *testing.T) {
	d := draw(t, ask(t, `{"question":"Who?","fields":[{"name":"a","type":"wish"},{"name":"b","type":"select"},{"name":"c","type":"multi_select","options":["x","x","y"]}]}`))
	if d.Input.Version != 2 || len(d.Input.Fields) != 3 {
		t.Fatalf("%+v", d)
	}
	f := d.Input.Fields
	if f[0].Type != "text" || f[1].Type != "text" || f[2].Type != "multi_select" || len(f[2].Options) != 2 ||
		f[2].Options[1].ID != "c-option-2" {
		t.Errorf("%+v", f)
	}
	many := `{"name":"x"},`
	if d := draw(t,
		ask(t, `{"question":"Who?","fields":[`+strings.Repeat(many, 17)[:17*len(many)-1]+
			`]}`)); d.Input.Mode != "free_text" {
		t.Errorf("17 fields: %s", d.Input.Mode)
	}
}

func TestAQuestionWithoutWordsIsNotAsked(t *testing.T) {
	for _, args := range []string{`{}`, `{"question":"  "}`, `{"question":7}`, `[]`, `{`} {
		if r := ask(t, args); !r.IsError || r.End || len(r.Artifact) > 0 {
			t.Errorf("%s: %+v", args, r)
		}
	}
}

// FuzzQuestion: whatever a model sends, a question can be drawn and is bounded.
func FuzzQuestion(f *testing.F) {
	f.Add(`{"question":"Where?","options":["a",{"b":["c"]}],"fields":[{"name":"n","type":"select","options":"[1,2]"}]}`)
	f.Add(`{"question":"<","options":"<a","context":3}`)
	f.Fuzz(func(t *testing.T, args string) {
		r := ask(t, args)
		if r.IsError {
			return
		}
		d := draw(t, r)
		if len(d.Input.Options) > 24 || len(d.Input.Fields) > 16 || r.Content.Text == "" {
			t.Errorf("%d options, %d fields, %q", len(d.Input.Options), len(d.Input.Fields), r.Content.Text)
		}
		for _, o := range d.Input.Options {
			if n := len([]rune(o.Label)); n == 0 || n > 200 || o.ID == "" {
				t.Errorf("option %+v", o)
			}
		}
	})
}
