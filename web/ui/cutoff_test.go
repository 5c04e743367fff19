package ui

import (
	"encoding/json"
	"strings"
	"testing"

	"fawn/agent/runs"
	"fawn/views"
	"fawn/views/chat"
	"fawn/views/i18n"
)

// saying are the events of a message that is not finished.
func saying(id, text string) []runs.Event {
	m := &runs.Msg{ID: id}
	return []runs.Event{{Kind: runs.KindMessage, Msg: m}, {Kind: runs.KindText, Msg: m, Text: text}}
}

func TestTextThatACrashCutOffIsFoldedAndNotDoubled(t *testing.T) {
	back := runs.Event{Kind: runs.KindWithdraw, Data: json.RawMessage(`{"id":"a1"}`)}
	for name, c := range map[string]struct {
		events []runs.Event
		want   string
	}{
		"said again":    {append(append(saying("a1", "Half of"), back), saying("a2", "Half of it")...), "user(q) reasoning(Half of) answer(Half of it)"},
		"twice":         {append(append(append(append(saying("a1", "one"), back), saying("a2", "two")...), back), saying("a3", "three")...), "user(q) reasoning(one) reasoning(two) answer(three)"},
		"nothing said":  {append([]runs.Event{{Kind: runs.KindMessage, Msg: &runs.Msg{ID: "a1"}}, back}, saying("a2", "Whole")...), "user(q) answer(Whole)"},
		"nothing after": {append(saying("a1", "Half of"), back), "user(q) reasoning(Half of)"},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBuilder("t", func(string) views.File { return views.File{} })
			for _, m := range messages(t, `[{"type":"human","content":"q"}]`) {
				b.add(m)
			}
			screen := newScreen(i18n.With(t.Context(), i18n.English), scene{thread: "t", turns: b.turns})
			for _, ev := range c.events {
				b.event(ev)
				b.sync()
				v := conversation{turns: b}
				if _, _, err := screen.show(v.scene(false)); err != nil {
					t.Fatal(err)
				}
			}
			if got := sketch(b.turns); got != c.want {
				t.Fatalf("got  %s\nwant %s", got, c.want)
			}
			if !strings.Contains(c.want, "reasoning") {
				return
			}
			s := b.turns[0].Trail.Steps[0]
			var page strings.Builder
			if err := chat.Step(s).Render(i18n.With(t.Context(), i18n.English), &page); err != nil {
				t.Fatal(err)
			}
			if s.State != views.StepStop || !strings.Contains(page.String(), "Interrupted, then restarted") || strings.Contains(page.String(), " open") {
				t.Errorf("the text is not folded: %s", page.String())
			}
		})
	}
}
