package chain_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"fawn/agent/agenttest/must"
	"fawn/agent/config"
	"fawn/agent/lead"
	"fawn/sandbox"
	"fawn/web/webtest"
)

// tells is a provider whose commands say how long the secret TOKEN is, as that is masked.
type tells struct{ sandbox.Provider }

func (tells) Name() string { return "tells" }

func (tells) Acquire(context.Context, sandbox.ThreadRef, sandbox.Policy) (sandbox.Sandbox, error) {
	return tellsBox{}, nil
}

type tellsBox struct{ sandbox.Sandbox }

func (tellsBox) Exec(_ context.Context, req sandbox.ExecReq) (sandbox.ExecResult, error) {
	return sandbox.ExecResult{Output: fmt.Appendf(nil, "the token has %d bytes", len(req.Secrets["TOKEN"]))}, nil
}

// bodies are the requests of a conversation as they arrived.
func (w *world) bodies(t *testing.T, prompt string) (list []map[string]any) {
	t.Helper()
	for i, r := range w.model.Requests() {
		if !strings.Contains(strings.SplitN(w.request(t, i).lines(), "assistant:", 2)[0], prompt) {
			continue
		}
		body := webtest.Decode[map[string]any](t, string(r.Body))
		list = append(list, body)
	}
	return list
}

// TestAHelperThinksAsItsRunDoes, as far as its own model can.
func TestAHelperThinksAsItsRunDoes(t *testing.T) {
	const asked = `{"subagent_enabled":true,"thinking_enabled":true,"reasoning_effort":"high"}`
	for _, able := range []bool{true, false} {
		w := open(t, helping, func(f *config.File, _ *lead.Options) {
			for i := range f.Models {
				f.Models[i].SupportsThinking, f.Models[i].SupportsReasoningEffort = i == 0 || able, i == 0 || able
				f.Models[i].WhenThinkingEnabled = config.Extra{"thinks": true}
			}
			f.Subagents.Agents = map[string]config.SubagentTweak{"general-purpose": {Model: "helper"}}
		})
		w.when("Think", sends("small job"), say("Good."))
		w.when("small job", say("Done."))
		w.run(t, "Think it over", asked)
		lead, helper := w.bodies(t, "Think")[0], w.bodies(t, "small job")[0]
		if lead["thinks"] != true || lead["reasoning_effort"] != "high" || helper["model"] != "helper-1" {
			t.Fatalf("the lead thinks %v with effort %v, the helper has %v", lead["thinks"], lead["reasoning_effort"],
				helper["model"])
		}
		if (helper["thinks"] == true) != able || (helper["reasoning_effort"] == "high") != able {
			t.Errorf("a model that can (%v) thinks %v with effort %v", able, helper["thinks"],
				helper["reasoning_effort"])
		}
	}
}

// TestAHelperIsInTheZoneOfItsRun: the date it is told is that of the person.
func TestAHelperIsInTheZoneOfItsRun(t *testing.T) {
	w := open(t, helping, func(f *config.File, _ *lead.Options) { f.Timezone = "Pacific/Pago_Pago" })
	w.when("Date", sends("small job"), say("Good."))
	w.when("small job", say("Done."))
	zone, err := time.LoadLocation("Pacific/Kiritimati") // where it is another day than in Pago Pago at all times
	must.Do(t, err)
	today := func() string { return time.Now().In(zone).Format("<current_date>2006-01-02") }
	before := today()
	w.run(t, "Date it", `{"subagent_enabled":true,"timezone":"Pacific/Kiritimati"}`)
	told := w.asked(t, "small job")[0].lines()
	if !strings.Contains(told, before) && !strings.Contains(told, today()) {
		t.Errorf("want %s in\n%s", before, told)
	}
}

// TestAHelperHasTheSecretsOfItsRun, in its commands alone, and what it runs is recorded.
func TestAHelperHasTheSecretsOfItsRun(t *testing.T) {
	w := open(t, helping, func(_ *config.File, o *lead.Options) { o.Sandbox = tells{} })
	w.when("Sign", sends("small job"), say("Good."))
	w.when("small job", call("bash", `{"description":"sign","command":"sign it"}`), say("Signed."))
	w.run(t, "Sign it", `{"subagent_enabled":true,"secrets":{"TOKEN":"abcdef-123456"}}`)
	helper := w.asked(t, "small job")
	holds(t, "the result", helper[1].lines(), "the token has 13 bytes", "!abcdef-123456")
	kid, record := w.kids(t)[0], <-w.audited
	if record.Command != "sign it" || record.Run != kid.ID || !strings.HasPrefix(record.NS, "tools:") {
		t.Errorf("%+v", record)
	}
}

// TestAHelperHasNothingOfTheConversation with people: no goal, no uploads of the turn, no part in
// the title.
func TestAHelperHasNothingOfTheConversation(t *testing.T) {
	w := open(t, helping, func(f *config.File, _ *lead.Options) { f.Title.Enabled, f.Title.ModelName = true, "helper" })
	w.when("Name this conversation", say("Red paint"))
	w.when("A user set a goal", say(`{"satisfied":true,"blocker":"none","reason":"x","evidence_summary":"x"}`))
	w.when("Paint", sends("small job"), say("Painted."))
	w.when("small job", say("Done."))
	w.send(t, "POST", "/threads", `{"thread_id":"t1"}`)
	w.send(t, "PUT", "/api/threads/t1/goal", `{"objective":"a red wall"}`)
	w.upload(t, "colours.txt", []byte("red"))
	w.run(t, "Paint it", ultra)
	webtest.Until(t, "the title", func() bool { return string(w.values(t)["title"]) == `"Red paint"` })

	own := []string{"a red wall\n</session_goal>", "<uploaded_files>", "colours.txt"}
	holds(t, "the lead", w.asked(t, "Paint")[0].lines(), own...)
	for _, words := range own {
		holds(t, "the helper", w.asked(t, "small job")[0].lines(), "!"+words)
	}
	for _, job := range []string{"Name this conversation", "A user set a goal"} {
		webtest.Same(t, fmt.Sprintf("%q was asked … times", job), len(w.asked(t, job)), 1)
	}
}
