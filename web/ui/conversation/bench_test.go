package conversation

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"fawn/agent"
	"fawn/agent/runs/runevent"
	"fawn/store"
	"fawn/views"
	"fawn/web/ui/turns"
)

// BenchmarkTick is one change of a page while an answer of 100 KB grows behind a trail of
// the given length.
func BenchmarkTick(b *testing.B) {
	for _, steps := range []int{1, 100, 500} {
		b.Run(fmt.Sprintf("%d_steps", steps), func(b *testing.B) {
			v := &View{run: store.Run{ID: "r", CreatedAt: time.Now()},
				Turns: turns.New("t", func(string) views.File { return views.File{} })}
			v.Turns.Add(&agent.Message{ID: "h", Type: agent.TypeHuman, Content: agent.Text("q")})
			v.working(views.TurnRunning)
			for i := range steps {
				id := fmt.Sprintf("m%d", i)
				v.Turns.Add(&agent.Message{ID: id, Type: agent.TypeAI,
					ToolCalls: []agent.ToolCall{{ID: "c", Name: "ls", Args: []byte(`{"path":"x"}`)}}})
				v.Turns.Add(&agent.Message{ID: "r" + id, Type: agent.TypeTool, ToolCallID: "c",
					Content: agent.Text("a\nb")})
			}
			msg := &runevent.Msg{ID: "answer"}
			v.fold(runevent.Event{Kind: runevent.KindMessage, Msg: msg})
			v.fold(runevent.Event{Kind: runevent.KindText, Msg: msg,
				Text: strings.Repeat("Some **words** of a paragraph.\n\n", 3200)})
			v.Turns.Sync()
			d := NewScreen(b.Context(), v.Scene(true))
			b.ReportAllocs()
			for b.Loop() {
				v.fold(runevent.Event{Kind: runevent.KindText, Msg: msg, Text: "word "})
				v.Turns.Sync()
				if patches, _, err := d.Show(v.Scene(true)); err != nil || len(patches) > 1 {
					b.Fatal(patches, err)
				}
			}
		})
	}
}
