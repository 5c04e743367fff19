package runs

import (
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// TestAnEventListIsASlice: it has the events a slice would have, and what a reader got stays
// as it was.
func TestAnEventListIsASlice(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var l eventList
		var want, held, copied []Event
		next := int64(1)
		sequences := func(list []Event) (out []int64) {
			for _, ev := range list {
				out = append(out, ev.Seq)
			}
			return out
		}
		t.Repeat(map[string]func(*rapid.T){
			"add": func(t *rapid.T) {
				for range rapid.IntRange(1, 2*eventBlock).Draw(t, "events") {
					ev := Event{Seq: next, To: next + int64(next%3)}
					next = ev.To + 1
					l.add(ev)
					want = append(want, ev)
				}
			},
			"drop the oldest": func(t *rapid.T) {
				n := rapid.IntRange(0, len(want)+1).Draw(t, "n")
				left := n
				l.dropWhile(func(*Event) bool { left--; return left >= 0 })
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
				var got []Event
				cursor := rapid.Int64Range(0, next).Draw(t, "cursor")
				for after := cursor; ; after = got[len(got)-1].To {
					more := l.after(after)
					if len(more) == 0 {
						break
					}
					got, held = append(got, more...), more[:len(more):len(more)]
				}
				copied = slices.Clone(held)
				from := slices.IndexFunc(want, func(ev Event) bool { return ev.To > cursor })
				if from < 0 {
					from = len(want)
				}
				if !slices.Equal(sequences(got), sequences(want[from:])) {
					t.Fatalf("past %d: %v, want %v", cursor, sequences(got), sequences(want[from:]))
				}
			},
			"": func(t *rapid.T) {
				if got := slices.Concat(l.blocks...); !slices.Equal(sequences(got), sequences(want)) {
					t.Fatalf("%v, want %v", sequences(got), sequences(want))
				}
				if last := l.last(); (last == nil) != (len(want) == 0) || last != nil && last.Seq != want[len(want)-1].Seq {
					t.Fatalf("the last is %v", last)
				}
				if !slices.Equal(sequences(held), sequences(copied)) {
					t.Fatalf("what a reader holds became %v, was %v", sequences(held), sequences(copied))
				}
			},
		})
	})
}
