package api_test

import (
	"context"
	"strings"
	"testing"

	"fawn/agent"
	"fawn/agent/agenttest"
	"fawn/agent/lead"
	"fawn/agent/middleware"
	"fawn/web/route"
)

// TestCompactHidesAndSaysWhat: the log stays, the next request begins with the summary, and
// what runs next stays what it was.
func TestCompactHidesAndSaysWhat(t *testing.T) {
	script := &agenttest.Script{Replies: []agenttest.Reply{agenttest.Say(strings.Repeat("long ", 500)),
		agenttest.Say("two"), agenttest.Say("three")}}
	var wish lead.Wish
	off := false
	w := open(t, &agent.Agent{Model: script}, func(d *route.Deps) {
		d.Compact = func(ctx context.Context, s *agent.State, given lead.Wish) (agent.State, error) {
			if wish = given; off {
				return agent.State{}, lead.ErrNoCompaction
			}
			keep := middleware.CompactionOptions{Keep: middleware.Amount{Type: "messages", Value: 2}}
			return middleware.CompactionRules{CompactionOptions: keep,
				Ask: func(context.Context, string) (string, error) { return "The gist.", nil }}.Compact(ctx, s,
				given.Force)
		}
	})
	for _, text := range []string{"one", "two"} {
		w.ok(t, "POST", "/threads/t1/runs/wait", `{"input":{"messages":[{"type":"human","content":"`+text+`"}]}}`)
	}
	got := w.ok(t, "POST", "/api/threads/t1/compact", `{"keep":{"type":"messages","value":2}}`)
	if got["compacted"] != true || got["removed_message_count"] != 2.0 || got["preserved_message_count"] != 2.0 ||
		got["summary_updated"] != true || got["thread_id"] != "t1" || !wish.Force {
		t.Errorf("%v %+v", got, wish)
	}
	state := w.ok(t, "GET", "/threads/t1/state", "")
	if v := state["values"].(map[string]any); len(v["messages"].([]any)) != 4 || v["summary_text"] != "The gist." ||
		state["checkpoint_id"] != got["checkpoint_id"] || len(state["next"].([]any)) != 0 {
		t.Errorf("%v", state)
	}
	w.ok(t, "POST", "/threads/t1/runs/wait", `{"input":{"messages":[{"type":"human","content":"three"}]}}`)
	reqs := script.Requests()
	first := reqs[len(reqs)-1].Messages[0]
	if first.Name != "summary" || !strings.Contains(first.Content.Text, "The gist.") {
		t.Errorf("%+v", first)
	}
	for _, c := range []struct {
		body   string
		status int
	}{{`{"keep":{"type":"pages","value":2}}`, 422}, {`{"keep":{"type":"fraction","value":2}}`, 422}, {`[`, 422},
		{``, 200}, {`{"force":false}`, 200}, {`{"agent_name":"nobody"}`, 422}, {`{"agent_name":"lead-agent"}`, 200}} {
		w.send(t, "POST", "/threads/t1/compact", c.body).want(t, c.body, c.status)
	}
	w.ok(t, "POST", "/threads", `{"thread_id":"empty"}`)
	if got := w.ok(t, "POST", "/threads/empty/compact", ""); got["compacted"] != false {
		t.Errorf("nothing was said in this thread: %v", got)
	}
	if off = true; w.send(t, "POST", "/threads/t1/compact", "").status != 409 {
		t.Error("switched off is no conflict")
	}
	w.send(t, "POST", "/threads/none/compact", "").want(t, "/threads/none/compact", 404)
}
