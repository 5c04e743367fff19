package chat

import (
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"
)

func limits(n int) Limits { return Limits{Max: n, Count: utf16Len} }

func TestPiecesEndWhereReadersPause(t *testing.T) {
	long := strings.Repeat("word ", 30)
	for _, c := range []struct {
		name, text string
		max        int
		want       []string
	}{
		{"Fits", "one\n\ntwo", 100, []string{"one\n\ntwo"}},
		{"Empty", "", 10, []string{""}},
		{"Block", strings.Repeat("a", 40) + "\n\n" + strings.Repeat("b\n", 10) + strings.Repeat("c", 50), 80,
			[]string{strings.Repeat("a", 40) + "\n\n", strings.Repeat("b\n", 10) + strings.Repeat("c", 50)}},
		{"Line", strings.Repeat("a", 40) + "\n" + strings.Repeat("b", 45), 80,
			[]string{strings.Repeat("a", 40) + "\n", strings.Repeat("b", 45)}},
		{"Sentence", "One sentence that is long enough. And another one that goes on", 50,
			[]string{"One sentence that is long enough. ", "And another one that goes on"}},
		{"ChineseSentence", strings.Repeat("一", 20) + "。" + strings.Repeat("二", 20), 30,
			[]string{strings.Repeat("一", 20) + "。", strings.Repeat("二", 20)}},
		{"Word", long, 80, []string{long[:80], long[80:]}},
		{"Pair", strings.Repeat("😀", 30), 41, []string{strings.Repeat("😀", 20), strings.Repeat("😀", 10)}},
		{"Link", strings.Repeat("w ", 20) + "[a label of words](https://example.org/x) end", 60,
			[]string{strings.Repeat("w ", 20), "[a label of words](https://example.org/x) end"}},
		{"Emphasis", strings.Repeat("w ", 20) + "**several bold words** end of it", 56,
			[]string{strings.Repeat("w ", 20), "**several bold words** end of it"}},
		{"Code", "```go\n" + strings.Repeat("line\n", 12) + "```\nafter", 50,
			[]string{"```go\n" + strings.Repeat("line\n", 7) + "line\n```",
				"```go\n" + strings.Repeat("line\n", 4) + "```\nafter"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			var got []string
			for _, p := range Split(c.text, limits(c.max)) {
				got = append(got, p.Text)
			}
			if fmt.Sprintf("%q", got) != fmt.Sprintf("%q", c.want) {
				t.Errorf("got  %q\nwant %q", got, c.want)
			}
		})
	}
}

// checkSplit is what must hold for every text.
func checkSplit(t *testing.T, text string, n int) {
	t.Helper()
	l := limits(n)
	pieces := Split(text, l)
	at := 0
	for i, p := range pieces {
		if got := utf16Len(p.Text); got > n {
			t.Fatalf("piece %d of %q has %d units, more than %d", i, text, got, n)
		}
		part := text[at : at+p.Bytes]
		if !strings.Contains(p.Text, strings.TrimSuffix(part, "\n")) {
			t.Fatalf("piece %d is %q, which lacks %q", i, p.Text, part)
		}
		if utf8.ValidString(text) && !utf8.ValidString(p.Text) {
			t.Fatalf("piece %d of %q is cut inside a character", i, text)
		}
		at += p.Bytes
	}
	if at != len(text) {
		t.Fatalf("the pieces stand for %d of %d bytes", at, len(text))
	}
}

func FuzzSplit(f *testing.F) {
	for _, s := range []string{"a\n\nb", "```go\nx := 1\n```", "| a | b |\n|---|---|\n| 1 | 2 |\n", "~~~~\n```\n~~~~",
		"[x](y) **b**", strings.Repeat("long word ", 90), strings.Repeat("| a | b |\n", 40),
		strings.Repeat("```\n\n", 40), "😀\xff"} {
		f.Add(s, uint16(60))
	}
	f.Fuzz(func(t *testing.T, text string, n uint16) {
		if len(text) > 20000 {
			return
		}
		checkSplit(t, text, 200+int(n)%4000)
	})
}

// TestEndsStayWhileTextGrows: a message that was complete is never edited again.
func TestEndsStayWhileTextGrows(t *testing.T) {
	text := strings.Repeat("A paragraph of some words that is **emphasised** here and there. It has `code` and [links](https://e.org/a).\n\n", 6) +
		"```python\n" + strings.Repeat("print('x')\n", 40) + "```\n\n| a | b |\n|---|---|\n" +
		strings.Repeat("| one | two |\n", 20) + "\nEnd. " + strings.Repeat("一段没有空格的中文文字，", 40)
	l := limits(400)
	var ends []int
	for n := range text {
		at := 0
		pieces := Split(text[:n], l)
		for i, p := range pieces[:len(pieces)-1] {
			at += p.Bytes
			if i < len(ends) && ends[i] != at {
				t.Fatalf("with %d bytes piece %d ends at %d, before at %d", n, i, at, ends[i])
			}
			if i == len(ends) {
				ends = append(ends, at)
			}
		}
		if len(pieces) <= len(ends) && len(ends) > 0 && len(pieces)-1 < len(ends) {
			t.Fatalf("with %d bytes there are %d pieces, before %d", n, len(pieces), len(ends)+1)
		}
	}
	if len(ends) < 4 {
		t.Fatalf("only %d ends", len(ends))
	}
}
