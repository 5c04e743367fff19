package agent_test

import (
	"fmt"
	"strings"
	"testing"

	"fawn/agent"
)

// listOf reads "id:content:status" items; a status may be left out.
func listOf(s string) (out []agent.Todo) {
	for item := range strings.FieldsSeq(s) {
		p := append(strings.Split(item, ":"), "pending")
		out = append(out, agent.Todo{ID: p[0], Content: p[1], Title: p[1], Status: p[2]})
	}
	return out
}

func written(list []agent.Todo) string {
	var out []string
	for _, t := range list {
		s := t.ID + ":" + t.Content
		if t.Status != "pending" {
			s += ":" + t.Status
		}
		out = append(out, s)
	}
	return strings.Join(out, " ")
}

func TestAPersonsChangeOfThePlanIsMadeInWhatWasWrittenMeanwhile(t *testing.T) {
	const before = "1:look 2:write 3:send"
	for _, c := range []struct{ name, after, other, want string }{
		{"nothing else was written", "1:look 3:send u1:check", before, "1:look 3:send u1:check"},
		{"struck", "1:look 3:send", "1:look:completed 2:write:in_progress 3:send", "1:look:completed 3:send"},
		{"struck and already left out", "1:look 3:send", "1:look", "1:look"},
		{"rewritten", "1:look 2:draft 3:send", "1:look:completed 2:write:in_progress 3:send", "1:look:completed 2:draft:in_progress 3:send"},
		{"rewritten and left out", "1:look 2:draft 3:send", "1:look 3:send", "1:look 2:draft 3:send"},
		{"added in the middle", "1:look u1:check 2:write 3:send", "1:look:completed 2:write 4:ask", "1:look:completed u1:check 2:write 4:ask"},
		{"added in front", "u1:check 1:look 2:write 3:send", "1:look:completed 2:write", "u1:check 1:look:completed 2:write"},
		{"added behind what is gone", "1:look 2:write 3:send u1:check", "7:all", "u1:check 7:all"},
		{"moved", "3:send 1:look 2:write", "1:look:completed 2:write 3:send 4:ask", "3:send 1:look:completed 2:write 4:ask"},
		{"ticked", "1:look:completed 2:write 3:send", "1:look:in_progress 2:write", "1:look:completed 2:write"},
		{"another plan altogether", "1:look 2:write", "4:a 5:b", "4:a 5:b"},
		{"all struck", "", "1:look:completed 2:write 3:send 4:more", "4:more"},
		{"cleared by the other", "1:look 2:write 3:send u1:check", "", "u1:check"},
	} {
		t.Run(c.name, func(t *testing.T) {
			e := agent.PlanEdit{Before: listOf(before), After: listOf(c.after)}
			got := e.Merge(listOf(c.other))
			if written(got) != c.want {
				t.Errorf("%q, want %q", written(got), c.want)
			}
			if again := e.Merge(got); written(again) != written(got) {
				t.Errorf("a second time: %q", written(again))
			}
		})
	}
	s := written(agent.NumberTodos([]agent.Todo{{Content: "a", Status: "pending"},
		{ID: "4", Content: "b", Status: "pending"}, {ID: "4", Content: "c", Status: "pending"}}))
	if s != "5:a 4:b 6:c" {
		t.Errorf("numbered: %s", s)
	}
}

func TestEditsInARowAreOne(t *testing.T) {
	var list []agent.PlanEdit
	for _, c := range []struct{ before, after, want string }{
		{"1:a", "1:a 2:b", "[1:a > 1:a 2:b]"},
		{"1:a 2:b", "2:b", "[1:a > 2:b]"},
		{"2:b 3:c", "3:c", "[1:a > 2:b] [2:b 3:c > 3:c]"},
		{"3:c", "2:b 3:c", "[1:a > 2:b]"},
		{"2:b", "1:a", ""},
	} {
		list = agent.AddPlanEdit(list, agent.PlanEdit{Before: listOf(c.before), After: listOf(c.after)})
		var got []string
		for _, e := range list {
			got = append(got, fmt.Sprintf("[%s > %s]", written(e.Before), written(e.After)))
		}
		if s := strings.Join(got, " "); s != c.want {
			t.Errorf("%q, want %q", s, c.want)
		}
	}
}
