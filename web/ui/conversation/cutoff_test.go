package conversation

import (
	"encoding/json"
	"strings"
	"testing"

	"fawn/agent"
	"fawn/agent/runs/runevent"
	"fawn/views"
	"fawn/views/chat"
	"fawn/views/i18n"
	"fawn/web/ui/turns"
)

// saying are the events of a message that is not finished.
func saying(id, text string) []runevent.Event {
	m := &runevent.Msg{ID: id}
	return []runevent.Event{{Kind: runevent.KindMessage, Msg: m}, {Kind: runevent.KindText, Msg: m, Text: text}}
}

func TestTextThatACrashCutOffIsFoldedAndNotDoubled(t *testing.T) {
	back := runevent.Event{Kind: runevent.KindWithdraw, Data: json.RawMessage(`{"id":"a1"}`)}
	for name, c := range map[string]struct {
		events []runevent.Event
		want   string
	}{
		"said again":    {append(append(saying("a1", "Half of"), back), saying("a2", "Half of it")...), "user(q) reasoning(Half of) answer(Half of it)"},
		"twice":         {append(append(append(append(saying("a1", "one"), back), saying("a2", "two")...), back), saying("a3", "three")...), "user(q) reasoning(one) reasoning(two) answer(three)"},
		"nothing said":  {append([]runevent.Event{{Kind: runevent.KindMessage, Msg: &runevent.Msg{ID: "a1"}}, back}, saying("a2", "Whole")...), "user(q) answer(Whole)"},
		"nothing after": {append(saying("a1", "Half of"), back), "user(q) reasoning(Half of)"},
	} {
		t.Run(name, func(t *testing.T) {
			b := turns.New("t", func(string) views.File { return views.File{} })
			b.Add(&agent.Message{ID: "m0", Type: agent.TypeHuman, Content: agent.Text("q")})
			screen := NewScreen(i18n.With(t.Context(), i18n.English), Scene{Thread: "t", Turns: b.Turns})
			for _, ev := range c.events {
				b.Event(ev)
				b.Sync()
				v := View{Turns: b}
				if _, _, err := screen.Show(v.Scene(false)); err != nil {
					t.Fatal(err)
				}
			}
			if got := said(b.Turns[0]); got != c.want {
				t.Fatalf("got  %s\nwant %s", got, c.want)
			}
			if !strings.Contains(c.want, "reasoning") {
				return
			}
			s := b.Turns[0].Trail.Steps[0]
			var page strings.Builder
			if err := chat.Step(s).Render(i18n.With(t.Context(), i18n.English), &page); err != nil {
				t.Fatal(err)
			}
			if s.State != views.StepStop || !strings.Contains(page.String(), "Interrupted, then restarted") ||
				strings.Contains(page.String(), " open") {
				t.Errorf("the text is not folded: %s", page.String())
			}
		})
	}
}

// said is what a turn shows, in one line.
func said(t views.Turn) string {
	parts := []string{"user(" + t.User.Text + ")"}
	for _, s := range t.Trail.Steps {
		parts = append(parts, string(s.Kind)+"("+s.Text+")")
	}
	if t.Answer != nil {
		parts = append(parts, "answer("+t.Answer.Text+")")
	}
	return strings.Join(parts, " ")
}
