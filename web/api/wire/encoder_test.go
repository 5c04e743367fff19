package wire

import (
	"encoding/json"
	"net/http/httptest"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"fawn/agent/runs/runevent"
	"fawn/store"
	"fawn/web/httpx"
)

func deltas(n int) []runevent.Event {
	msg := &runevent.Msg{ID: "01a1fcaf-0f2a-7983-b9c8-1a8fd51e12b3"}
	evs := make([]runevent.Event, n)
	for i := range evs {
		evs[i] = runevent.Event{Seq: int64(i + 5), To: int64(i + 5), Kind: runevent.KindText, Msg: msg,
			Text: "token \"n\" of the answer,"}
	}
	return evs
}

func testEncoder(m Modes) *Encoder {
	return NewEncoder(nil, store.Run{ID: "01a1fcaf-0f1b-75e9-95e4-a66882a45a93", ThreadID: "t1"}, m, false, httpx.ID{})
}

func TestTextFramesNeedNoMemory(t *testing.T) {
	e := testEncoder(ModeMessages)
	evs := deltas(100)
	fill := func() {
		e.buf = e.buf[:0]
		for _, ev := range evs {
			if err := e.Add(t.Context(), ev); err != nil {
				t.Fatal(err)
			}
		}
	}
	fill()
	var n float64
	for range 20 { // what other tests have left behind may still be at work
		if n = testing.AllocsPerRun(10, fill); n == 0 {
			return
		}
	}
	t.Errorf("%v allocations for %d frames", n, len(evs))
}

func FuzzQuoted(f *testing.F) {
	for _, s := range []string{"", "plain", "\"\\\n\r\t\x00\x1f\x7f", "\u2028\u2029", "🦌é\xff\xfe", "\xed\xa0\x80",
		"\ufffd"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		b := append(appendQuoted([]byte{'"'}, s), '"')
		var got string
		if err := json.Unmarshal(b, &got); err != nil {
			t.Fatalf("%q became %s: %v", s, b, err)
		}
		want := s
		if !utf8.ValidString(s) {
			want = string([]rune(s))
		}
		if got != want {
			t.Errorf("%q became %q", s, got)
		}
		if strings.ContainsAny(string(b), "\n\r\u2028\u2029") {
			t.Errorf("%q has a line break", b)
		}
	})
}

// TestAStreamThatWaitsHoldsNoBuffer: a thousand of them would hold what their largest batches took.
func TestAStreamThatWaitsHoldsNoBuffer(t *testing.T) {
	rec := httptest.NewRecorder()
	out, err := httpx.NewStream(rec, time.Minute)
	if err != nil {
		t.Fatal(err)
	}
	defer out.Close()
	e := testEncoder(ModeCustom)
	want := 0
	for i := range int64(3) {
		ev := runevent.Event{Seq: i + 1, To: i + 1, Kind: runevent.KindCustom, Data: []byte(`{"n":1}`)}
		if err := e.Add(t.Context(), ev); err != nil {
			t.Fatal(err)
		}
		want += e.Len()
		if err := e.Send(out, true); err != nil {
			t.Fatal(err)
		}
		if e.buf != nil || e.box != nil {
			t.Errorf("%d bytes are kept", cap(e.buf))
		}
	}
	if got := rec.Body.Len(); got != want || want == 0 {
		t.Errorf("%d bytes were sent, want %d", got, want)
	}
}
