package turns

import (
	"encoding/json"
	"testing"
	"unicode/utf16"

	"pgregory.net/rapid"

	"fawn/agent"
)

func TestContentIsReadFromArgumentsInAnyCuts(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		content := rapid.String().Draw(rt, "content")
		raw, err := json.Marshal(map[string]any{"a": map[string]string{"content": "not this"},
			"b": []string{"content", "nor this"}, "content": content, "path": "/mnt/user-data/outputs/x"})
		if err != nil {
			t.Fatal(err)
		}
		if rapid.Bool().Draw(rt, "ascii") {
			raw = escapeAll(raw)
		}
		var r contentReader
		for s := string(raw); s != ""; {
			n := rapid.IntRange(1, min(len(s), 9)).Draw(rt, "cut")
			r.feed(s[:n])
			s = s[n:]
		}
		if got := r.text.String(); got != content {
			rt.Fatalf("%q from %s, want %q", got, raw, content)
		}
		if want := len(utf16.Encode([]rune(content))); r.units != want {
			rt.Fatalf("%d units, want %d", r.units, want)
		}
	})
}

// escapeAll writes what is not ASCII as \u escapes, as many models do.
func escapeAll(raw []byte) []byte {
	var out []byte
	for _, r := range string(raw) {
		if r < 0x80 {
			out = append(out, byte(r))
			continue
		}
		for _, u := range utf16.Encode([]rune{r}) {
			const hex = "0123456789abcdef"
			out = append(out, '\\', 'u', hex[u>>12], hex[u>>8&15], hex[u>>4&15], hex[u&15])
		}
	}
	return out
}

func TestLongContentIsCutAtACharacter(t *testing.T) {
	var r contentReader
	r.feed(`{"content": "x`)
	for range maxWriting {
		r.feed("é")
	}
	if n := r.text.Len(); n < maxWriting || n > maxWriting+4 || r.text.String()[n-2:] != "é" {
		t.Fatalf("%d bytes", n)
	}
}

func TestAFileIsShownOnlyWhileItIsWritten(t *testing.T) {
	o := &openMessage{id: "m"}
	feed := func(d agent.CallDelta) bool { return o.call(d).read(d.Args) }
	if feed(agent.CallDelta{ID: "c", Name: "write_file", Args: `{"path": "/mnt/user-data/outputs/a.py", "con`}) {
		t.Error("nothing of the content is known")
	}
	if !feed(agent.CallDelta{Args: `tent": "print(`}) {
		t.Error("the file is not shown")
	}
	if feed(agent.CallDelta{Index: 1, ID: "d", Name: "ls", Args: `{"path": "/mnt", "content": "x"}`}) {
		t.Error("ls writes no file")
	}
	if feed(agent.CallDelta{Index: 2, ID: "e", Name: "write_file",
		Args: `{"path": "../../../etc/passwd", "content": "x"}`}) {
		t.Error("a path outside is shown")
	}
	b := &Builder{writes: o.calls[0]}
	w := b.Writing()
	if w.Path != "mnt/user-data/outputs/a.py" || w.Text != "print(" {
		t.Fatalf("%+v", w)
	}
	if g := Growth(Writing{}, w); g == nil || g.At != 0 || g.Text != "print(" {
		t.Errorf("%+v", g)
	}
	if g := Growth(w, Writing{Path: w.Path, Text: "print(1)", units: 8}); g == nil || g.At != 6 || g.Text != "1)" {
		t.Errorf("%+v", g)
	}
	if g := Growth(w, Writing{}); g == nil || g.At != -1 {
		t.Errorf("%+v", g)
	}
	if g := Growth(w, w); g != nil {
		t.Errorf("%+v", g)
	}
}
