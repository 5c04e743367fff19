package eventlog

import (
	"reflect"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"fawn/agent/runs/runevent"
)

// TestAnEventListIsASlice: it has the events a slice would have, and what a reader got stays
// as it was.
func TestAnEventListIsASlice(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var l list
		var want, held, copied []runevent.Event
		next := int64(1)
		same := func(a, b []runevent.Event) bool {
			return slices.EqualFunc(a, b, func(x, y runevent.Event) bool { return reflect.DeepEqual(x, y) })
		}
		msg := &runevent.Msg{ID: "m"}
		t.Repeat(map[string]func(*rapid.T){
			"add": func(t *rapid.T) {
				texts, alike := rapid.Bool().Draw(t, "texts"), rapid.Bool().Draw(t, "alike")
				for range rapid.IntRange(1, 4*eventBlock).Draw(t, "events") {
					ev := runevent.Event{Seq: next, To: next + int64(next%3)}
					if texts {
						ev = runevent.Event{Seq: next, To: next, Kind: runevent.KindText, Msg: msg,
							Text: strings.Repeat("é", int(next%5))}
					}
					if texts && !alike && next%100 == 0 {
						ev.Kind, ev.Msg = runevent.KindReasoning, &runevent.Msg{ID: "n"}
					}
					next = ev.To + 1
					l.add(&ev)
					want = append(want, ev)
				}
			},
			"drop the oldest": func(t *rapid.T) {
				n := rapid.IntRange(0, len(want)+1).Draw(t, "n")
				left := n
				l.dropWhile(func(*runevent.Event) bool { left--; return left >= 0 })
				want = slices.Clone(want[min(n, len(want)):])
			},
			"drop the last": func(t *rapid.T) {
				for range min(len(want), rapid.IntRange(0, eventBlock).Draw(t, "n")) {
					l.dropLast()
					want = want[:len(want)-1]
				}
				held, copied = nil, nil // nobody reads what may still be taken back
			},
			"read": func(t *rapid.T) {
				var got []runevent.Event
				cursor := rapid.Int64Range(0, next).Draw(t, "cursor")
				for after := cursor; ; after = got[len(got)-1].To {
					more := l.after(after)
					if len(more) == 0 {
						break
					}
					got, held = append(got, more...), more[:len(more):len(more)]
				}
				copied = slices.Clone(held)
				from := slices.IndexFunc(want, func(ev runevent.Event) bool { return ev.To > cursor })
				if from < 0 {
					from = len(want)
				}
				if !same(got, want[from:]) {
					t.Fatalf("past %d: %v, want %v", cursor, got, want[from:])
				}
			},
			"": func(t *rapid.T) {
				if got := l.all(); !same(got, want) {
					t.Fatalf("%v, want %v", got, want)
				}
				last := l.last()
				if (last == nil) != (len(want) == 0) || last != nil && last.Seq != want[len(want)-1].Seq {
					t.Fatalf("the last is %v", last)
				}
				if !same(held, copied) {
					t.Fatalf("what a reader holds became %v, was %v", held, copied)
				}
			},
		})
	})
}

// TestALongTextTakesLittleMemory: a piece of a long answer takes a fraction of an event.
func TestALongTextTakesLittleMemory(t *testing.T) {
	var l list
	msg := &runevent.Msg{ID: "m"}
	for i := range int64(100 * eventBlock) {
		l.add(&runevent.Event{Seq: i + 1, To: i + 1, Kind: runevent.KindText, Msg: msg, Text: "word "})
	}
	for i, b := range l.blocks[:len(l.blocks)-2] {
		if b.text == nil || b.open != nil {
			t.Fatalf("block %d of %d is not packed", i, len(l.blocks))
		}
	}
}

func (l *list) all() (list []runevent.Event) {
	for _, b := range l.blocks {
		list = append(list, b.events()...)
	}
	return list
}
