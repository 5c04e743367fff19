package api_test

import (
	"fmt"
	"strings"
	"testing"

	"fawn/agent"
	"fawn/agent/agenttest"
	"fawn/agent/config"
	"fawn/web/route"
	"fawn/web/webtest"
)

// turn is a message of the lists DeerFlow's gateway has.
type turn struct {
	Run      *string `json:"run_id"`
	Seq      int     `json:"seq"`
	Type     string  `json:"event_type"`
	Content  struct{ ID, Type string }
	Feedback map[string]any `json:"feedback"`
}

func turnsOf(list []turn) string {
	out := ""
	for _, t := range list {
		out += fmt.Sprint(t.Seq, t.Content.Type, " ")
	}
	return out
}

func TestGoalOfAThread(t *testing.T) {
	w := open(t, sayAgent("hi"))
	w.ok(t, "POST", "/threads", `{"thread_id":"t1"}`)
	const path = "/api/threads/t1/goal"
	w.table(t, []row{
		{"none", "GET", path, "", 200, `{"goal":null}`},
		{"set", "PUT", path, `{"objective":" Write the report "}`, 200, `"objective":"Write the report","status":"active"`},
		{"read", "GET", path, "", 200, `"max_continuations":8`},
		{"in the state", "GET", "/threads/t1/state", "", 200, `"objective":"Write the report"`},
		{"change", "PUT", path, `{"objective":"Other","max_continuations":0}`, 200, `"max_continuations":0`},
		{"clear", "DELETE", path, "", 200, `{"goal":null}`},
		{"cleared", "GET", path, "", 200, `{"goal":null}`},
		{"empty", "PUT", path, `{"objective":" "}`, 422, `"objective"`},
		{"long", "PUT", path, `{"objective":"` + strings.Repeat("x", 4001) + `"}`, 422, `"objective"`},
		{"too many", "PUT", path, `{"objective":"x","max_continuations":9}`, 422, `"max_continuations"`},
		{"unknown field", "PUT", path, `{"objective":"x","y":1}`, 422, `"loc":["body","y"]`},
		{"unknown thread", "GET", "/api/threads/none/goal", "", 404, `not found`},
		{"set on an unknown thread", "PUT", "/api/threads/none/goal", `{"objective":"x"}`, 404, `not found`},
		{"natively only", "GET", "/threads/t1/goal", "", 404, ``},
	})
	w.table(t, []row{{"somebody else", "GET", path, "", 404, `not found`},
		{"somebody else sets", "PUT", path, `{"objective":"x"}`, 404, `not found`}}, "X-Owner", "eve")
	busy := open(t, hangAgent())
	busy.send(t, "POST", "/threads/t1/runs", `{"input":{"messages":"x"}}`)
	busy.table(t, []row{{"at work", "PUT", path, `{"objective":"x"}`, 409, `run in flight`}})
}

func TestMessagesOfAConversation(t *testing.T) {
	w := open(t, toolAgent())
	for _, say := range []string{"one", "two"} {
		w.send(t, "POST", "/threads/t1/runs/wait", `{"input":{"messages":"`+say+`"}}`)
	}
	all := decode[[]turn](t, w.send(t, "GET", "/api/threads/t1/messages?limit=200", "").body)
	if len(all) < 5 || all[0].Type != "llm.human.input" || all[0].Seq != 1 || all[1].Type != "llm.ai.response" ||
		all[2].Type != "llm.tool.result" {
		t.Fatalf("%s", turnsOf(all))
	}
	first, last := *all[0].Run, *all[len(all)-1].Run
	if first == last || *all[1].Run != first {
		t.Errorf("runs %s and %s", first, last)
	}
	type pageOf struct {
		Data []turn
		More bool `json:"has_more"`
		Next *int `json:"next_before_seq"`
	}
	seen, path := "", "/api/threads/t1/messages/page?limit=2"
	for cursor := ""; ; {
		p := decode[pageOf](t, w.send(t, "GET", path+cursor, "").body)
		seen = turnsOf(p.Data) + seen
		if p.More != (p.Next != nil) {
			t.Fatalf("%+v", p)
		}
		if !p.More {
			break
		}
		cursor = fmt.Sprint("&before_seq=", *p.Next)
	}
	webtest.Same(t, "pages \nwhole", seen, turnsOf(all))
	own := decode[pageOf](t, w.send(t, "GET", "/api/threads/t1/runs/"+last+"/messages", "").body)
	for _, one := range own.Data {
		webtest.Same(t, "a message of", *one.Run, last)
	}
	if len(own.Data) == 0 || own.Data[0].Type != "llm.human.input" || own.More {
		t.Errorf("%+v", own)
	}
	w.send(t, "GET", "/api/runs/"+last+"/messages?limit=1&after_seq=1", "").holds(t, "short", `"has_more":true`)
	w.table(t, []row{
		{"forward pages", "GET", "/api/threads/t1/messages/page?after_seq=1", "", 422, `"after_seq"`},
		{"limit", "GET", "/api/threads/t1/messages?limit=201", "", 422, `"limit"`},
		{"unknown thread", "GET", "/api/threads/none/messages", "", 404, `not found`},
		{"unknown run", "GET", "/api/threads/t1/runs/none/messages", "", 404, `not found`},
	})
	w.table(t, []row{{"somebody else", "GET", "/api/threads/t1/messages", "", 404, `not found`},
		{"somebody else's run", "GET", "/api/runs/" + last + "/messages", "", 404, `not found`}}, "X-Owner", "eve")
}

func TestEventsOfARun(t *testing.T) {
	w := open(t, toolAgent())
	w.send(t, "POST", "/threads/t1/runs/wait", toolBody)
	run := decode[[]map[string]any](t, w.send(t, "GET", "/threads/t1/runs", "").body)[0]["run_id"].(string)
	path := "/api/threads/t1/runs/" + run + "/events"
	type record struct {
		Seq  int64
		Type string `json:"event_type"`
	}
	names := func(query string) string {
		out, last := "", int64(0)
		for _, e := range decode[[]record](t, w.send(t, "GET", path+query, "").body) {
			if e.Seq <= last {
				t.Errorf("%s: %d follows %d", query, e.Seq, last)
			}
			last, out = e.Seq, out+e.Type+" "
		}
		return strings.TrimSpace(out)
	}
	all := names("")
	if !strings.HasPrefix(all, "run.start ") || !strings.HasSuffix(all, " run.end") ||
		!strings.Contains(all, "tool.start") || !strings.Contains(all, "tool.end") {
		t.Errorf("%s", all)
	}
	webtest.Same(t, "?event_types=run.start,run.end", names("?event_types=run.start,run.end"), "run.start run.end")
	webtest.Same(t, "?limit=1", names("?limit=1"), "run.start")
	first := decode[[]record](t, w.send(t, "GET", path+"?limit=1", "").body)[0].Seq
	webtest.Same(t, "behind the first: \nall", "run.start "+names(fmt.Sprint("?after_seq=", first)), all)
	w.table(t, []row{{"limit", "GET", path + "?limit=2001", "", 422, `"limit"`},
		{"unknown", "GET", "/api/threads/t1/runs/none/events", "", 404, `not found`}})
}

func TestFeedbackOnARun(t *testing.T) {
	w := open(t, sayAgent("hi"))
	w.send(t, "POST", "/threads/t1/runs/wait", `{"input":{"messages":"x"}}`)
	run := decode[[]map[string]any](t, w.send(t, "GET", "/threads/t1/runs", "").body)[0]["run_id"].(string)
	path := "/api/threads/t1/runs/" + run + "/feedback"
	w.table(t, []row{
		{"none", "GET", path, "", 200, `[]`},
		{"put", "PUT", path, `{"rating":1,"comment":"good"}`, 200, `"rating":1,"comment":"good"`},
		{"put again", "PUT", path, `{"rating":-1}`, 200, `"rating":-1,"comment":null`},
		{"stats", "GET", path + "/stats", "", 200, `{"negative":1,"positive":0,"run_id":"` + run + `","total":1}`},
		{"post", "POST", path, `{"rating":1,"message_id":"m1"}`, 200, `"message_id":"m1"`},
		{"stats of two", "GET", path + "/stats", "", 200, `"total":2`},
		{"by run", "GET", "/api/runs/" + run + "/feedback", "", 200, `"rating":-1`},
		{"rating", "PUT", path, `{"rating":2}`, 400, `rating must be +1 or -1`},
		{"no rating", "POST", path, `{}`, 400, `rating`},
		{"unknown field", "POST", path, `{"rating":1,"x":1}`, 422, `"x"`},
		{"long comment", "POST", path, `{"rating":1,"comment":"` + strings.Repeat("x", 5000) + `"}`, 422, `"comment"`},
		{"unknown run", "PUT", "/api/threads/t1/runs/none/feedback", `{"rating":1}`, 404, `not found`},
		{"delete unknown", "DELETE", path + "/none", "", 404, `Feedback not found`},
	})
	list := decode[[]turn](t, w.send(t, "GET", "/api/threads/t1/messages", "").body)
	if f := list[len(list)-1].Feedback; f == nil || f["rating"] != -1.0 {
		t.Errorf("at the answer: %v", f)
	}
	one := decode[[]map[string]any](t, w.send(t, "GET", path, "").body)[0]["feedback_id"].(string)
	w.table(t, []row{{"somebody else", "GET", path, "", 404, `not found`},
		{"somebody else deletes", "DELETE", path + "/" + one, "", 404, `not found`}}, "X-Owner", "eve")
	w.table(t, []row{
		{"delete one", "DELETE", path + "/" + one, "", 200, `"success":true`},
		{"delete the rest", "DELETE", path, "", 200, `"success":true`},
		{"nothing is left", "GET", path, "", 200, `[]`},
	})
}

func TestTokenUsageOfAThread(t *testing.T) {
	usage := &agent.Usage{Input: 100, Output: 20, Total: 120}
	say := agenttest.Reply{Chunks: []agent.Chunk{{Text: "hi"}, {Usage: usage, Finish: "stop", Model: "big"}}}
	w := open(t, &agent.Agent{Model: &agenttest.Script{Replies: []agenttest.Reply{say, say}}},
		withConfig(func(s *config.Snapshot) {
			s.File.Models = []config.Model{{Name: "mine", Model: "big", ContextWindow: 1000}}
		}))
	for range 2 {
		w.send(t, "POST", "/threads/t1/runs/wait", `{"input":{"messages":"x"}}`)
	}
	w.table(t, []row{
		{"sums", "GET", "/api/threads/t1/token-usage", "", 200, `{"thread_id":"t1","total_tokens":240,"total_input_tokens":200,"total_output_tokens":40,"total_runs":2,"by_model":{"big":{"tokens":240,"runs":2}},"by_caller":{"lead_agent":240,"middleware":0,"subagent":0},"context_usage":{"token_count":120,"max_context_tokens":1000,"percentage":12}}`},
		{"with active ones", "GET", "/api/threads/t1/token-usage?include_active=true", "", 200, `"total_runs":2`},
		{"flag", "GET", "/api/threads/t1/token-usage?include_active=x", "", 422, `"include_active"`},
		{"unknown", "GET", "/api/threads/none/token-usage", "", 404, `not found`},
	})
}

// TestTokenUsageKnowsLearnedWindows: what a server or a refusal told counts as what is configured.
func TestTokenUsageKnowsLearnedWindows(t *testing.T) {
	say := agenttest.Reply{
		Chunks: []agent.Chunk{{Text: "hi"}, {Usage: &agent.Usage{Input: 100, Output: 20, Total: 120}, Finish: "stop",
			Model: "big"}},
	}
	w := open(t, &agent.Agent{Model: &agenttest.Script{Replies: []agenttest.Reply{say}}}, func(d *route.Deps) {
		d.Window = func(_, provider string) int {
			if provider != "big" {
				return 0
			}
			return 2400
		}
	})
	w.send(t, "POST", "/threads/t1/runs/wait", `{"input":{"messages":"x"}}`)
	w.table(t,
		[]row{{"learned", "GET", "/api/threads/t1/token-usage", "", 200,
			`"context_usage":{"token_count":120,"max_context_tokens":2400,"percentage":5}`}})
}

func TestTheLastTurnCanBePreparedForAnotherRun(t *testing.T) {
	w := open(t,
		&agent.Agent{
			Model: &agenttest.Script{Replies: []agenttest.Reply{agenttest.Say("one"), agenttest.Say("two"),
				agenttest.Say("again")}},
		})
	for _, say := range []string{"first", "second"} {
		w.send(t, "POST", "/threads/t1/runs/wait",
			`{"input":{"messages":[{"role":"user","id":"h-`+say+`","content":"`+say+`"}]}}`)
	}
	list := decode[[]turn](t, w.send(t, "GET", "/api/threads/t1/messages", "").body)
	last, run := list[3].Content.ID, *list[3].Run
	const regenerate, edit = "/api/threads/t1/runs/regenerate/prepare", "/api/threads/t1/runs/edit-regenerate/prepare"
	w.table(t, []row{
		{"an older answer", "POST", regenerate, `{"message_id":"` + list[1].Content.ID + `"}`, 409, `Only the latest`},
		{"no answer", "POST", regenerate, `{"message_id":"nope"}`, 404, `Message nope not found`},
		{"no id", "POST", regenerate, `{}`, 422, `"message_id"`},
		{"unknown field", "POST", regenerate, `{"message_id":"x","y":1}`, 422, `"y"`},
		{"unknown thread", "POST", "/api/threads/none/runs/regenerate/prepare", `{"message_id":"x"}`, 404, `not found`},
		{"an older question", "POST", edit, `{"human_message_id":"h-first","replacement_text":"x"}`, 409, `Only the latest`},
		{"the same text", "POST", edit, `{"human_message_id":"h-second","replacement_text":"second"}`, 409, `same as before`},
		{"no text", "POST", edit, `{"human_message_id":"h-second"}`, 422, `"replacement_text"`},
		{"edit", "POST", edit, `{"human_message_id":"h-second","replacement_text":"third"}`, 200, `"replacement_human_message_id":"`},
	})
	p := w.ok(t, "POST", regenerate, `{"message_id":"`+last+`"}`)
	if p["target_run_id"] != run || !strings.Contains(fmt.Sprint(p["metadata"]), "regenerate_from_message_id:"+last) {
		t.Errorf("%v", p)
	}
	cp := p["checkpoint"].(map[string]any)["checkpoint_id"].(string)
	before := w.ok(t, "GET", "/threads/t1/state/"+cp, "")
	if strings.Contains(fmt.Sprint(before["values"]), "second") ||
		!strings.Contains(fmt.Sprint(before["values"]), "one") {
		t.Errorf("the base is %v", before["values"])
	}
	w.ok(t, "POST", "/api/threads/t1/runs/wait",
		fmt.Sprintf(`{"input":{"messages":[{"role":"user","id":"h-second","content":"second"}]},"checkpoint_id":%q}`, cp))
	now := decode[[]turn](t, w.send(t, "GET", "/api/threads/t1/messages", "").body)
	if len(now) != 4 || now[3].Content.ID == last || *now[3].Run == run {
		t.Errorf("after running again: %s", turnsOf(now))
	}
	old := decode[struct{ Data []turn }](t, w.send(t, "GET", "/api/threads/t1/runs/"+run+"/messages", "").body)
	if len(old.Data) != 2 || old.Data[1].Content.ID != last {
		t.Errorf("the run that was replaced: %+v", old)
	}
	w.ok(t, "PUT", "/api/threads/t1/goal", `{"objective":"x"}`)
	w.table(t,
		[]row{{"with a goal", "POST", edit, `{"human_message_id":"h-second","replacement_text":"third"}`, 409,
			`active goal`}})
}
