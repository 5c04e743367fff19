package runevent

import (
	"bytes"
	"encoding/json"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"fawn/agent"
	"fawn/agent/agenttest/must"
)

// TestFramesComeBackInTheirOrder, whatever their sizes, and after a step is over.
func TestFramesComeBackInTheirOrder(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	var f Frames
	for range 20 {
		var want [][]byte
		for range random.IntN(2000) {
			size := random.IntN(20)
			switch random.IntN(200) {
			case 0:
				size = random.IntN(3 * fullBlock)
			case 1, 2:
				size = 120 + random.IntN(10) // its length takes one byte or two
			}
			payload := strings.Repeat("x", size)
			var got []byte
			switch random.IntN(3) {
			case 0:
				got = f.Delta(KindText, random.IntN(300), payload)
			case 1:
				got = f.Named(KindCustom, payload[:size/2], []byte(payload))
			default:
				f.Add([]byte("t" + payload))
				got = []byte("t" + payload)
			}
			want = append(want, slices.Clone(got))
		}
		if f.Len() != len(want) || !slices.EqualFunc(slices.Collect(f.All()), want, bytes.Equal) {
			t.Fatalf("%d frames, want %d, or others", f.Len(), len(want))
		}
		for frame := range f.All() { // a reader may stop
			if !bytes.Equal(frame, want[0]) {
				t.Fatal(frame)
			}
			break
		}
		f.Reset()
		if f.Len() != 0 || len(slices.Collect(f.All())) != 0 {
			t.Fatal("frames of a step that is over")
		}
	}
}

// TestFoldRefersOnlyToWhatIsTheSame: pieces that are not exactly the stored text stay as they are.
func TestFoldRefersOnlyToWhatIsTheSame(t *testing.T) {
	const stored = "one two three"
	for name, c := range map[string]struct {
		pieces []string
		refers bool
	}{
		"the text":   {[]string{"one ", "two ", "three"}, true},
		"a part":     {[]string{"one ", "two "}, false},
		"more":       {[]string{"one ", "two ", "three", " four"}, false},
		"other":      {[]string{"one ", "too ", "three"}, false},
		"in between": {[]string{"one ", "x", "two ", "three"}, false},
	} {
		t.Run(name, func(t *testing.T) {
			m := &agent.Message{ID: "m", Type: agent.TypeAI, Content: agent.Text(stored)}
			body := must.Get(json.Marshal(m))(t)
			var f Frames
			f.Delta(KindMessage, 0, `{"id":"m"}`)
			for _, p := range c.pieces {
				f.Delta(KindText, 0, p)
			}
			folded := Fold(f.All(), Known{Streamed: map[int]Stored{0: {1, m}}})
			if got := !bytes.Contains(folded, []byte(c.pieces[0])); got != c.refers {
				t.Errorf("refers to the message: %v, want %v", got, c.refers)
			}
			evs := must.Get(Unfold(folded, 1, func(int64) ([]byte, error) { return body, nil }))(t)
			var got []string
			for _, ev := range evs {
				if ev.Kind == KindText {
					got = append(got, ev.Text)
				}
			}
			if !slices.Equal(got, c.pieces) {
				t.Errorf("%q, want %q", got, c.pieces)
			}
		})
	}
}
