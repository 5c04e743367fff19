package agent_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"fawn/agent"
	"fawn/agent/agenttest/must"
)

// pairingProblem tells the first rule of a provider which a request breaks, or "".
//
//   - Chat completions (OpenAI, DeepSeek and those which copy them): behind a message with
//     calls stand the results of all its calls, before anything else; no other results.
//   - Messages (Anthropic): ids of calls are unique in the request and each is answered once.
//   - Contents (Gemini): the results of a turn are as many as its calls, in their order.
//   - All: ids and names are not blank, arguments are JSON objects.
func pairingProblem(msgs []*agent.Message) string {
	seen := map[string]bool{}
	for i := 0; i < len(msgs); i++ {
		m := msgs[i]
		switch {
		case m.Type == agent.TypeTool:
			return fmt.Sprintf("[%d] a result stands behind no call", i)
		case m.Type == agent.TypeRemove:
			return fmt.Sprintf("[%d] a removal is sent", i)
		case m.Type != agent.TypeAI:
			continue
		case len(m.Invalid) > 0:
			return fmt.Sprintf("[%d] an invalid call is sent", i)
		}
		for place, c := range m.ToolCalls {
			var args map[string]json.RawMessage
			switch {
			case strings.TrimSpace(c.ID) == "":
				return fmt.Sprintf("[%d] call %d has no id", i, place)
			case seen[c.ID]:
				return fmt.Sprintf("[%d] call %d repeats id %q", i, place, c.ID)
			case c.Name == "":
				return fmt.Sprintf("[%d] call %d has no name", i, place)
			case json.Unmarshal(c.Args, &args) != nil || args == nil:
				return fmt.Sprintf("[%d] call %d has arguments %q", i, place, c.Args)
			}
			seen[c.ID] = true
			at := i + 1 + place
			if at >= len(msgs) || msgs[at].Type != agent.TypeTool || msgs[at].ToolCallID != c.ID {
				return fmt.Sprintf("[%d] call %d (%s) is not answered in its place", i, place, c.ID)
			}
		}
		i += len(m.ToolCalls)
	}
	return ""
}

// say writes a request as one line: type:id or call>result.
func say(msgs []*agent.Message) string {
	var out []string
	for _, m := range msgs {
		switch {
		case m.Type == agent.TypeTool:
			out = append(out, fmt.Sprintf("%s<%s", m.ID, m.ToolCallID))
		case len(m.Calls()) > 0:
			out = append(out, fmt.Sprintf("%s(%s)", m.ID, strings.Join(m.Calls(), ",")))
		default:
			out = append(out, m.ID)
		}
	}
	return strings.Join(out, " ")
}

func TestPairToolCalls(t *testing.T) {
	cases := []struct {
		name string
		msgs []*agent.Message
		want string
	}{
		{"nothing to do", []*agent.Message{human("h", ""), ai("1", "", "a", "b"), result("2", "a", ""),
			result("3", "b", ""), ai("4", "x")}, "h 1(a,b) 2<a 3<b 4"},
		{"results in call order", []*agent.Message{ai("1", "", "a", "b"), result("2", "b", ""), result("3", "a", "")},
			"1(a,b) 3<a 2<b"},
		{"results come behind their call", []*agent.Message{ai("1", "", "a"), human("h", ""), result("2", "a", "")},
			"1(a) 2<a h"},
		{"a call that never came back", []*agent.Message{ai("1", "", "a", "b"), result("2", "b", ""), human("h", "")},
			"1(a,b) missing:a<a 2<b h"},
		{"a result whose call is gone", []*agent.Message{human("h", ""), result("2", "a", ""), ai("1", "x")}, "h 1"},
		{"a result before its call is not its own", []*agent.Message{result("2", "a", ""), ai("1", "", "a")}, "1(a) missing:a<a"},
		{"two results for one call", []*agent.Message{ai("1", "", "a"), result("2", "a", ""), result("3", "a", "")}, "1(a) 2<a"},
		{"an id used again by a later answer",
			[]*agent.Message{ai("1", "", "a"), result("2", "a", ""), ai("3", "", "a"), result("4", "a", "")},
			"1(a) 2<a 3(fawn_call_2_call_0) 4<fawn_call_2_call_0"},
		{"a lost call does not take the result of its namesake",
			[]*agent.Message{ai("1", "", "a"), human("h", ""), ai("3", "", "a"), result("4", "a", "")},
			"1(a) missing:a<a h 3(fawn_call_2_call_0) 4<fawn_call_2_call_0"},
		{"an id used twice in one answer",
			[]*agent.Message{ai("1", "", "a", "a"), result("2", "a", ""), result("3", "a", "")},
			"1(a,fawn_call_0_call_1) 2<a 3<fawn_call_0_call_1"},
		{"blank ids", []*agent.Message{human("h", ""), ai("1", "", "", " "), result("2", "", ""), result("3", " ", "")},
			"h 1(fawn_call_1_call_0,fawn_call_1_call_1) 2<fawn_call_1_call_0 3<fawn_call_1_call_1"},
		{"an id that looks repaired", []*agent.Message{ai("1", "", "fawn_call_1_call_0"), ai("2", "", "")},
			"1(fawn_call_1_call_0) missing:fawn_call_1_call_0<fawn_call_1_call_0 2(fawn_call_1_call_0_) missing:fawn_call_1_call_0_<fawn_call_1_call_0_"},
		{"an invalid call", []*agent.Message{invalid("1", "a")}, "1(a) missing:a<a"},
		{"an invalid call with its result", []*agent.Message{invalid("1", "a"), result("2", "a", "")}, "1(a) 2<a"},
		{"removals are never sent", []*agent.Message{human("h", ""), remove("x")}, "h"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			before := say(c.msgs)
			got := agent.PairToolCalls(c.msgs)
			if say(got) != c.want {
				t.Errorf("\n got %s\nwant %s", say(got), c.want)
			}
			if p := pairingProblem(got); p != "" {
				t.Error(p)
			}
			if say(c.msgs) != before {
				t.Errorf("the log became %s", say(c.msgs))
			}
		})
	}
}

func TestPairToolCallsSaysWhy(t *testing.T) {
	m := &agent.Message{ID: "1", Type: agent.TypeAI}
	m.AddCall("a", "write_file", `{"path":`)
	m.AddCall("b", "", `{}`)
	got := agent.PairToolCalls([]*agent.Message{m})
	if c := got[0].ToolCalls; len(c) != 2 || c[0].Name != "unknown_tool" || c[1].Name != "write_file" ||
		string(c[1].Args) != "{}" {
		t.Fatalf("calls = %+v", c)
	}
	if got[1].Content.Text != agent.InterruptedResult || got[1].Status != "error" {
		t.Errorf("open call: %+v", got[1])
	}
	if text := got[2].Content.Text; got[2].Status != "error" || !strings.Contains(text, `"write_file"`) ||
		!strings.Contains(text, "unexpected end") {
		t.Errorf("invalid call: %+v", got[2])
	}
}

func TestInvalidArgumentsIsShortAndWhole(t *testing.T) {
	text := agent.InvalidArguments(agent.InvalidCall{Name: "f", Error: "x" + strings.Repeat("漢", 400)})
	if len(text) > 700 || !utf8.ValidString(text) {
		t.Errorf("%d bytes, valid %v", len(text), utf8.ValidString(text))
	}
}

func FuzzPairToolCalls(f *testing.F) {
	f.Add([]byte{0, 3, 0, 0, 0, 6, 0, 2})
	f.Add([]byte{0, 23, 0, 0, 0, 1, 0, 1, 1, 1, 1, 0, 6, 1, 7, 0, 3, 0, 0, 0, 6, 0})
	f.Add([]byte{3, 3, 0, 0, 3, 4, 1, 2, 3, 5, 0, 5, 6, 3, 6, 5, 9, 1, 3, 6, 0, 0})
	f.Fuzz(func(t *testing.T, data []byte) {
		log := generate(data)
		whole := agent.PairToolCalls(log)
		for n := range len(log) + 1 {
			got := agent.PairToolCalls(log[:n])
			if p := pairingProblem(got); p != "" {
				t.Fatalf("%s\nlog  %s\nsent %s", p, say(log[:n]), say(got))
			}
			if again := agent.PairToolCalls(got); encode(t, again) != encode(t, got) {
				t.Fatalf("pairing twice makes\n%s of\n%s", say(again), say(got))
			}
			var own []string // every answer is a result of the log, used once, or said to be missing
			for _, m := range got {
				if m.Type == agent.TypeTool && !strings.HasPrefix(m.ID, "missing:") {
					own = append(own, m.ID)
				}
			}
			slices.Sort(own)
			if len(slices.Compact(slices.Clone(own))) != len(own) {
				t.Fatalf("a result is sent twice: %s", say(got))
			}
			// What was sent stays as it was, unless a call of it was still open.
			if !strings.Contains(say(got), "missing:") {
				if len(whole) < len(got) || encode(t, whole[:len(got)]) != encode(t, got) {
					t.Fatalf("later messages changed what was sent:\n%s\nnow\n%s", say(got), say(whole))
				}
			}
		}
	})
}

// encode is the stored form of v as text.
func encode(t testing.TB, v any) string {
	t.Helper()
	b := must.Get(agent.Encode(v))(t)
	return string(b)
}
