package turns

import (
	"encoding/json"
	"testing"

	"fawn/agent/runs/runevent"
	"fawn/views"
)

// TestACutOffAnswerIsFolded: what a crash cut off stays to be read, folded, and the answer
// comes behind it.
func TestACutOffAnswerIsFolded(t *testing.T) {
	b := New("t1", func(string) views.File { return views.File{} })
	for _, m := range messages(t, `[{"type":"human","content":"hi","id":"h"}]`) {
		b.Add(m)
	}
	say := func(id, text string) {
		msg := &runevent.Msg{ID: id}
		b.Event(runevent.Event{Kind: runevent.KindMessage, Msg: msg})
		b.Event(runevent.Event{Kind: runevent.KindText, Msg: msg, Text: text})
	}
	say("a1", "half an ans")
	b.Sync()
	if got := sketch(b.Turns); got != "user(hi) answer(half an ans)" {
		t.Fatalf("before: %s", got)
	}
	b.Event(runevent.Event{Kind: runevent.KindMeta})
	b.Event(runevent.Event{Kind: runevent.KindWithdraw, Data: json.RawMessage(`{"id":"a1"}`)})
	say("a2", "a whole answer")
	b.Sync()
	if got := sketch(b.Turns); got != "user(hi) reasoning(half an ans) answer(a whole answer)" {
		t.Errorf("after: %s", got)
	}
	for _, m := range messages(t, `[{"type":"ai","content":"a whole answer","id":"a2"}]`) {
		b.Add(m)
	}
	if got := sketch(b.Turns); got != "user(hi) reasoning(half an ans) answer(a whole answer)" {
		t.Errorf("stored: %s", got)
	}
	if s := b.Turns[0].Trail.Steps[0]; s.State != views.StepStop || s.Open {
		t.Errorf("the step is %+v", s)
	}
}
