package ui_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"fawn/agent"
	"fawn/agent/agenttest"
	"fawn/web/webtest"
)

// patrol is a run that calls one tool many times in a row, one by one and at once.
func patrol() *typist {
	calls := func(tool string, args ...string) agenttest.Reply {
		var r agenttest.Reply
		for i, a := range args {
			r.Chunks = append(r.Chunks,
				agent.Chunk{
					Calls: []agent.CallDelta{{Index: i, ID: fmt.Sprintf("%s_%d_%x", tool, i, a), Name: tool, Args: a}},
				})
		}
		r.Chunks = append(r.Chunks, agent.Chunk{Finish: "tool_calls", Model: "m-1"})
		return r
	}
	file := func(name string) string { return fmt.Sprintf(`{"path":"/mnt/user-data/workspace/%s"}`, name) }
	part := func(n int) string {
		return fmt.Sprintf(`{"path":"/mnt/user-data/workspace/a.txt","start_line":%d,"end_line":%d}`, n, n)
	}
	return &typist{pause: time.Millisecond, Script: agenttest.Script{Replies: []agenttest.Reply{
		calls("write_file", `{"path":"/mnt/user-data/workspace/a.txt","content":"1\n2\n3\n4\n5\n"}`),
		calls("read_file", part(1)), calls("read_file", part(2)), calls("read_file", part(3)),
		calls("read_file", part(4)),
		calls("read_file", part(5), part(1), file("none.txt"), part(2), part(3), part(4)),
		calls("ls", file(""), file("none"), file("")),
		agenttest.Say("All ", "read."),
	}}}
}

func TestCallsInARowAreOneGroupLiveAsOnAFreshPage(t *testing.T) {
	for seed := range uint64(4) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			t.Parallel()
			w := open(t, patrol())
			w.begin("t1", "Look around")
			r := w.reader("t1")
			if seed == 0 {
				r.read(0)
			}
			random := rand.New(rand.NewPCG(seed, 7))
			r.stroll(random, 5)
			w.settle("t1")
			r.equalsPage()
			s := r.dom.section("turns")
			webtest.Same(t, "groups, want the reads before and after the failed one", strings.Count(s, `id="g-`), 2)
			webtest.Holds(t, "is not on the page", s, "6 parts", "3 parts", "14 steps")
		})
	}
}
