package store_test

import (
	"bytes"
	"testing"

	"fawn/store"
)

func FuzzFramesAreReadBackOrRefused(f *testing.F) {
	f.Add([]byte{}, "thread", int64(1), []byte("data"))
	f.Add(store.AppendFrame(nil, "t", 7, []byte("x")), "", int64(0), []byte{})
	f.Add([]byte{0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01}, "t", int64(1<<62), []byte{0})
	f.Fuzz(func(t *testing.T, garbage []byte, thread string, seq int64, data []byte) {
		for b := garbage; len(b) > 0; {
			id, n, body, rest, err := store.NextFrame(b)
			if err != nil {
				break
			}
			if n < 0 || len(id)+len(body)+3 > len(b)-len(rest) {
				t.Fatalf("frame %q %d %q out of %d bytes", id, n, body, len(b)-len(rest))
			}
			b = rest
		}
		if seq < 0 {
			return
		}
		id, n, body, rest, err := store.NextFrame(append(store.AppendFrame(nil, thread, seq, data), garbage...))
		if err != nil || string(id) != thread || n != seq || !bytes.Equal(body, data) || !bytes.Equal(rest, garbage) {
			t.Fatalf("%q %d %q rest %q, %v", id, n, body, rest, err)
		}
	})
}
