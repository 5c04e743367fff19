package ui

import (
	"encoding/json"
	"testing"

	"fawn/agent/runs"
	"fawn/views"
)

// TestACutOffAnswerIsFolded: what a crash cut off stays to be read, folded, and the answer
// comes behind it.
func TestACutOffAnswerIsFolded(t *testing.T) {
	b := newBuilder("t1", func(string) views.File { return views.File{} })
	for _, m := range messages(t, `[{"type":"human","content":"hi","id":"h"}]`) {
		b.add(m)
	}
	say := func(id, text string) {
		msg := &runs.Msg{ID: id}
		b.event(runs.Event{Kind: runs.KindMessage, Msg: msg})
		b.event(runs.Event{Kind: runs.KindText, Msg: msg, Text: text})
	}
	say("a1", "half an ans")
	b.sync()
	if got := sketch(b.turns); got != "user(hi) answer(half an ans)" {
		t.Fatalf("before: %s", got)
	}
	b.event(runs.Event{Kind: runs.KindMeta})
	b.event(runs.Event{Kind: runs.KindWithdraw, Data: json.RawMessage(`{"id":"a1"}`)})
	say("a2", "a whole answer")
	b.sync()
	if got := sketch(b.turns); got != "user(hi) reasoning(half an ans) answer(a whole answer)" {
		t.Errorf("after: %s", got)
	}
	for _, m := range messages(t, `[{"type":"ai","content":"a whole answer","id":"a2"}]`) {
		b.add(m)
	}
	if got := sketch(b.turns); got != "user(hi) reasoning(half an ans) answer(a whole answer)" {
		t.Errorf("stored: %s", got)
	}
	if s := b.turns[0].Trail.Steps[0]; s.State != views.StepStop || s.Open {
		t.Errorf("the step is %+v", s)
	}
}
