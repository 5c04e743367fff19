package api_test

import (
	"fmt"
	"strings"
	"testing"

	"fawn/web/webtest"
)

// names are the events of a stream with their values' numbers of messages, in order.
func names(t *testing.T, stream string) string {
	t.Helper()
	var out []string
	for _, f := range frames(t, stream) {
		name := f.event
		if name == "values" {
			name += fmt.Sprint(len(decode[map[string]any](t, f.data)["messages"].([]any)))
		}
		out = append(out, name)
	}
	return strings.Join(out, " ")
}

// TestDurabilityExitLeavesOneCheckpoint of each run, while its stream shows every step, live
// and afterwards.
func TestDurabilityExitLeavesOneCheckpoint(t *testing.T) {
	const modes = `{"input":{"messages":[{"role":"user","content":"weather please","id":"h1"}]},"stream_mode":["values","messages-tuple","updates","tasks","events"]`
	want := names(t, open(t, toolAgent()).send(t, "POST", "/threads/t1/runs/stream", modes+`}`).body)
	for _, asked := range []string{`"durability":"exit"`, `"checkpoint_during":false`} {
		w := open(t, toolAgent())
		a := w.send(t, "POST", "/threads/t1/runs/stream", modes+","+asked+"}")
		webtest.Same(t, fmt.Sprintf("%s: stream", asked), names(t, a.body), want)
		again := w.send(t, "GET", a.header.Get("Content-Location")+"/stream?stream_mode=values", "").body
		webtest.Same(t, fmt.Sprintf("%s: joined", asked), names(t, again), "metadata values1 values2 values3 values4 end")
		first := decode[[]map[string]any](t, w.send(t, "POST", "/threads/t1/history", "").body)
		if len(first) != 1 || first[0]["parent_checkpoint"] != nil ||
			len(first[0]["values"].(map[string]any)["messages"].([]any)) != 4 {
			t.Fatalf("%s: history %v", asked, first)
		}
		w.ok(t, "POST", "/threads/t1/state", `{"values":{"title":"named"}}`)
		w.send(t, "POST", "/threads/t1/runs/wait",
			`{"durability":"exit","input":{"messages":[{"role":"user","content":"more"}]}}`)
		list := decode[[]map[string]any](t, w.send(t, "POST", "/threads/t1/history", "").body)
		if len(list) != 3 || list[0]["parent_checkpoint_id"] != list[1]["checkpoint_id"] ||
			list[2]["checkpoint_id"] != first[0]["checkpoint_id"] {
			t.Errorf("%s: after the second run %v", asked, list)
		}
	}
}

func TestDurabilityIsChecked(t *testing.T) {
	w := open(t, sayAgent("hi"))
	w.send(t, "POST", "/threads/t1/runs/wait", `{"input":{"messages":"hi"},"durability":"none"}`).want(t, "the answer", 422, "durability")
	for _, d := range []string{"sync", "async"} {
		w.ok(t, "POST", "/threads/"+d+"/runs/wait", `{"input":{"messages":"hi"},"durability":"`+d+`"}`)
		if n := len(w.ids(t, d, "")); n < 2 {
			t.Errorf("%s leaves %d checkpoints", d, n)
		}
	}
}
