package chain_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"fawn/agent"
	"fawn/agent/config"
	"fawn/agent/lead"
	"fawn/agent/middleware"
	"fawn/web/e2e/scriptmodel"
)

// TestALongReportIsAFile with a beginning in the result, and older arguments are read.
func TestALongReportIsAFile(t *testing.T) {
	w := open(t, helping)
	report := "It begins. " + strings.Repeat("All of it. ", 400) + "It ends."
	old := call("task", `{"instruction":"dig deep","context":"The mine is old.","tools":["file:read"]}`)
	w.when("Mine", old, say("Found."))
	w.when("dig deep", say(report))
	evs := told(t, w.run(t, "Mine it", ultra))
	end := evs[len(evs)-1]
	if end["type"] != "task_completed" || end["result"] != report || evs[0]["description"] != "The mine is old." {
		t.Errorf("%v", evs[0])
	}
	helper := w.asked(t, "dig deep")[0]
	holds(t, "the helper's task", helper.lines(), "The mine is old.\n\ndig deep")
	if helper.offers("write_file") || helper.offers("bash") || !helper.offers("read_file") {
		t.Errorf("the helper is offered %+v", helper.Tools)
	}
	result := w.tools(t)[0]
	path, _ := result.Kwargs["subagent_result_ref"].(string)
	if len(result.Content) > 2400 || !strings.HasPrefix(result.Content, "Task Succeeded. Result: It begins.") ||
		!strings.Contains(result.Content, "All of it is in "+path) {
		t.Errorf("%d bytes: %.100s … %s", len(result.Content), result.Content, path)
	}
	if got := w.send(t, "GET", "/api/threads/t1/artifacts"+path, ""); got != report {
		t.Errorf("the file has %d bytes", len(got))
	}
	holds(t, "the ledger", string(w.values(t)["delegations"]), `"result_ref":"`+path+`"`)
}

// TestAHelperEndsAtItsLimits of turns and tokens, with what it has.
func TestAHelperEndsAtItsLimits(t *testing.T) {
	for reason, change := range map[string]func(*config.File){
		"turn_capped": func(f *config.File) { f.Subagents.MaxTurns = 2 },
		"token_capped": func(f *config.File) {
			f.Subagents.CustomAgents = map[string]config.CustomAgent{"general-purpose": {Description: "x",
				SystemPrompt: "Be <quick>.", MaxTurns: 9, Timeout: time.Hour, Model: "helper",
				TokenBudget: &config.SubagentBudget{Enabled: true, MaxTokens: 1000, WarnThreshold: 0.5}}}
		},
	} {
		w := open(t, helping, func(f *config.File, _ *lead.Options) { change(f) })
		looks := func(n int) scriptmodel.Turn {
			turn := call("ls", fmt.Sprintf(`{"description":"look","path":"/mnt/user-data/workspace/%d"}`, n))
			turn.Usage = &scriptmodel.Usage{Prompt: 500, Completion: 10}
			return turn
		}
		w.when("Count", sends("endless job"), say("Enough."))
		w.when("endless job", looks(1), looks(2), looks(3)) // the last turn is asked without tools
		evs := told(t, w.run(t, "Count them", ultra))
		if end := evs[len(evs)-1]; end["type"] != "task_completed" || end["result"] != "Scripted reply." {
			t.Errorf("%s: %v", reason, end)
		}
		r := w.tools(t)[0]
		if r.Kwargs["subagent_stop_reason"] != reason || !strings.HasPrefix(r.Content, "Task Succeeded (capped: ") {
			t.Errorf("%s: %+v", reason, r)
		}
		helper := w.asked(t, "endless job")
		if reason == "token_capped" &&
			(helper[0].Model != "helper-1" || !strings.Contains(helper[0].system(), "Be &lt;quick&gt;.") ||
				evs[0]["model_name"] != "helper") {
			t.Errorf("the kind's own model or prompt is missing: %s, %v", helper[0].Model, evs[0])
		}
	}
}

// TestNoHelpersUnlessTheyAreOn: not by the owner's choice, and not without the caller's.
func TestNoHelpersUnlessTheyAreOn(t *testing.T) {
	for options, enabled := range map[string]bool{ultra: false, `{}`: true, `{"subagent_enabled":false}`: true} {
		w := open(t, helping, func(f *config.File, _ *lead.Options) { f.Subagents.Enabled = enabled })
		w.when("Hello", say("hi"))
		w.run(t, "Hello", options)
		if r := w.request(t, 0); r.offers("task") || strings.Contains(r.system(), "subagent_system") {
			t.Errorf("%s, enabled %v: helpers are offered", options, enabled)
		}
	}
}

// TestWhatAHelperInherits of the run that sends it, row by row of docs/subagents.md.
func TestWhatAHelperInherits(t *testing.T) {
	looks := call("ls", `{"description":"look","path":"/mnt/user-data/workspace"}`)
	again := looks
	again.Repeat = 9
	for _, c := range []struct {
		name, options string
		change        setup
		turns         []scriptmodel.Turn
		check         func(t *testing.T, w *world, helper []request)
	}{
		{"guards", ultra, func(f *config.File, _ *lead.Options) {
			f.Guardrails.Enabled, f.Guardrails.Provider.Config = true, map[string]any{"denied_tools": []any{"ls"}}
		}, []scriptmodel.Turn{looks, say("It is closed.")}, func(t *testing.T, _ *world, helper []request) {
			holds(t, "the refusal", helper[1].lines(), "Guardrail denied: tool 'ls' was blocked")
		}},
		{"authorization", ultra, func(f *config.File, _ *lead.Options) {
			f.Authorization.Enabled = true
			f.Authorization.Provider.Config = map[string]any{
				"roles": map[string]any{"user": map[string]any{"tools": map[string]any{"deny": []any{"ls"}}}},
			}
		}, []scriptmodel.Turn{looks, say("It is closed.")}, func(t *testing.T, _ *world, helper []request) {
			holds(t, "the refusal", helper[1].lines(), "tool 'ls' was blocked")
		}},
		{"loops", ultra, nil, []scriptmodel.Turn{again}, func(t *testing.T, w *world, _ []request) {
			r := w.tools(t)[0]
			if r.Kwargs["subagent_stop_reason"] != "loop_capped" ||
				!strings.Contains(r.Content, "capped: repeated tool-call loop") {
				t.Errorf("%+v", r)
			}
		}},
		{"the budget of the run", ultra, func(f *config.File, _ *lead.Options) { f.TokenBudget.MaxTokens = 50_000 },
			[]scriptmodel.Turn{{ToolCalls: looks.ToolCalls, Usage: &scriptmodel.Usage{Prompt: 60_000, Completion: 1}}},
			func(t *testing.T, w *world, helper []request) {
				r := w.tools(t)[0]
				if len(helper) != 2 || len(helper[1].Tools) != 0 || r.Kwargs["subagent_stop_reason"] != "token_capped" {
					t.Errorf("%d requests, %+v", len(helper), r)
				}
			}},
		{"the budget of the thread", ultra, func(f *config.File, _ *lead.Options) {
			f.TokenBudget.MaxThreadTokens = 50_000
		},
			[]scriptmodel.Turn{{ToolCalls: looks.ToolCalls, Usage: &scriptmodel.Usage{Prompt: 60_000, Completion: 1}}},
			func(t *testing.T, w *world, _ []request) {
				before := len(w.model.Requests())
				w.when("Anything", say("no"))
				w.run(t, "Anything else", ultra)
				if r := w.request(t, before); len(r.Tools) != 0 {
					t.Error("a thread whose helpers have spent its budget goes on")
				}
			}},
		{"no plan, memory or goal", `{"subagent_enabled":true,"is_plan_mode":true}`,
			func(_ *config.File, o *lead.Options) {
				o.Memory = func(context.Context, *agent.Turn, []string) (middleware.Recalled, error) {
					return middleware.Recalled{Text: "likes tea", IDs: []string{"tea"}}, nil
				}
			}, []scriptmodel.Turn{say("Done.")}, func(t *testing.T, w *world, helper []request) {
				holds(t, "the lead", w.request(t, 0).lines(), "likes tea")
				holds(t, "the helper", helper[0].lines()+helper[0].system(), "!likes tea", "!todo_list_system")
				if helper[0].offers("write_todos") || !w.request(t, 0).offers("write_todos") {
					t.Error("the plan belongs to the lead")
				}
			}},
		{"long results", ultra, func(f *config.File, o *lead.Options) {
			o.Tools = []*agent.Tool{tool("long", strings.Repeat("word ", 4000))}
		}, []scriptmodel.Turn{call("long", `{}`), say("Done.")}, func(t *testing.T, _ *world, helper []request) {
			holds(t, "the result", helper[1].lines(), "/mnt/user-data/outputs/.tool-results/long-")
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			change := []setup{helping}
			if c.change != nil {
				change = append(change, c.change)
			}
			w := open(t, change...)
			w.when("Inherit", sends("small job"), say("Good."))
			w.when("small job", c.turns...)
			w.run(t, "Inherit it", c.options)
			c.check(t, w, w.asked(t, "small job"))
		})
	}
}
