package channels

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"

	"fawn/agent"
	"fawn/agent/channels/chat"
	"fawn/agent/runs"
	"fawn/agent/runs/runevent"
)

// logOf draws the log of a run. What people may read is in small letters; all else has the letter X.
func logOf(t *rapid.T) []runevent.Event {
	words := rapid.SliceOfN(rapid.StringMatching(`[a-w ]{0,12}[\n ]?`), 0, 12)
	var log []runevent.Event
	add := func(ev runevent.Event) {
		ev.To = int64(len(log) + 1)
		log = append(log, ev)
	}
	data := func(v any) json.RawMessage {
		raw, err := json.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		return raw
	}
	for i := range rapid.IntRange(1, 6).Draw(t, "steps") {
		id := fmt.Sprint("m", i)
		msg := &runevent.Msg{ID: id}
		text := ""
		for _, w := range words.Draw(t, "words") {
			switch rapid.IntRange(0, 6).Draw(t, "beside") {
			case 0:
				add(runevent.Event{Kind: runevent.KindReasoning, Msg: msg, Text: "X thought"})
			case 1:
				add(runevent.Event{Kind: runevent.KindText, NS: "tools:c", Msg: &runevent.Msg{ID: "h", NS: "tools:c"},
					Text: "X helper"})
			case 2:
				add(runevent.Event{Kind: runevent.KindToolOutput,
					Data: data(map[string]string{"id": "c", "output": "X output"})})
			case 3:
				add(runevent.Event{Kind: runevent.KindCustom, Data: data(map[string]string{"note": "X"})})
			}
			add(runevent.Event{Kind: runevent.KindText, Msg: msg, Text: w})
			text += w
		}
		switch rapid.IntRange(0, 5).Draw(t, "end of step") {
		case 0:
			add(runevent.Event{Kind: runevent.KindWithdraw, Data: data(runevent.Withdrawal{ID: id})})
		case 1:
			add(runevent.Event{Kind: runevent.KindToolStart, Data: data(agent.ToolCall{ID: "c", Name: "bash"})})
			tool := agent.Message{ID: "t" + id, Type: agent.TypeTool, Content: agent.Text("X result")}
			add(runevent.Event{Kind: runevent.KindToolResult,
				Data: data(runevent.ToolEnd{ID: "c", Name: "bash", Message: data(tool)})})
			add(runevent.Event{Kind: runevent.KindStep,
				Step: &runevent.StepData{Messages: []json.RawMessage{data(tool)}, Whole: []bool{true}}})
		case 2: // stored in another form than it was streamed
			m := agent.Message{ID: id, Type: agent.TypeAI, Content: agent.Text(strings.ToLower(text) + "b")}
			add(runevent.Event{Kind: runevent.KindStep,
				Step: &runevent.StepData{Messages: []json.RawMessage{data(m)}, Whole: []bool{false}}})
		case 3:
			human := agent.Message{ID: "u" + id, Type: agent.TypeHuman, Content: agent.Text("X question")}
			add(runevent.Event{Kind: runevent.KindStep,
				Step: &runevent.StepData{Messages: []json.RawMessage{data(human)}, Whole: []bool{true}}})
		}
	}
	status := rapid.SampledFrom([]string{runs.Success, runs.Interrupted, runs.Failed}).Draw(t, "status")
	add(runevent.Event{Kind: runevent.KindEnd, Data: data(runevent.End{Status: status})})
	return log
}

// TestAnAnswerDependsOnTheLogAlone: however the log comes, and however often it is begun anew, the chat ends the same;
// what it showed before is a beginning of that unless something was taken back; and nothing but the words for people is
// ever seen.
func TestAnAnswerDependsOnTheLogAlone(t *testing.T) {
	limits := chat.Limits{Max: 40, Count: utf8.RuneCountInString}
	rapid.Check(t, func(t *rapid.T) {
		log := logOf(t)
		whole := &answer{}
		for _, ev := range log {
			whole.take(ev)
		}
		var fresh split
		want := fresh.pieces(join(whole.solid(), whole.ending()), whole.cut, limits)
		a, s := &answer{}, split{}
		var shown []string
		cut := 0
		for i, ev := range log {
			a.take(ev)
			if rapid.IntRange(0, 3).Draw(t, "look") > 0 && i < len(log)-1 {
				continue // merged with what follows
			}
			if rapid.IntRange(0, 9).Draw(t, "restart") == 0 {
				a, s = &answer{}, split{}
				for _, ev := range log[:i+1] {
					a.take(ev)
				}
			}
			now := s.pieces(a.solid(), a.cut, limits)
			for _, p := range now {
				if strings.Contains(p, "X") {
					t.Fatalf("people see %q", p)
				}
				if limits.Count(p) > limits.Max {
					t.Fatalf("a piece of %d: %q", limits.Count(p), p)
				}
			}
			if n := len(shown) - 1; a.cut == cut && n > 0 && (len(now) < n || !slices.Equal(now[:n], shown[:n])) {
				t.Fatalf("pieces that are not the last have changed: %q, before %q", now, shown)
			}
			shown, cut = now, a.cut
		}
		got := s.pieces(join(a.solid(), a.ending()), a.cut, limits)
		if !slices.Equal(got, want) {
			t.Fatalf("the chat ends with %q, want %q", got, want)
		}
		if text := strings.Join(strings.Fields(strings.Join(got, " ")), ""); text !=
			strings.Join(strings.Fields(join(whole.solid(), whole.ending())), "") {
			t.Fatalf("the pieces say %q", text)
		}
	})
}
