package chat

import (
	"strings"
	"testing"
)

func TestLinesOfAnEditAreCompared(t *testing.T) {
	for _, c := range []struct{ name, from, to, want string }{
		{"one line", "a\nb\nc", "a\nx\nc", " a|-b|+x| c"},
		{"added", "a\nc\n", "a\nb\nc\n", " a|+b| c"},
		{"taken away", "a\nb", "", "-a|-b"},
		{"moved", "a\nb\nc\nd", "b\nc\na\nd", "-a| b| c|+a| d"},
		{"the same", "a", "a", " a"},
		{"too much to compare", strings.Repeat("a\nb\n", 1000), strings.Repeat("c\nb\nd\n", 800), ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			var got []string
			var from, to strings.Builder
			for _, l := range lineDiff(c.from, c.to) {
				got = append(got, string(l.sign)+l.text)
				if l.sign != '+' {
					from.WriteString(l.text + "\n")
				}
				if l.sign != '-' {
					to.WriteString(l.text + "\n")
				}
			}
			if all := strings.Join(got, "|"); c.want != "" && all != c.want {
				t.Errorf("got  %s\nwant %s", all, c.want)
			}
			end := func(s string) string { return strings.TrimSuffix(s, "\n") }
			if end(from.String()) != end(c.from) || end(to.String()) != end(c.to) {
				t.Error("the comparison lost lines")
			}
		})
	}
}

func FuzzLineDiff(f *testing.F) {
	f.Add("a\nb\nc", "b\nc\nd")
	f.Fuzz(func(t *testing.T, a, b string) {
		var from, to []string
		for _, l := range lineDiff(a, b) {
			if l.sign != '+' {
				from = append(from, l.text)
			}
			if l.sign != '-' {
				to = append(to, l.text)
			}
		}
		if strings.Join(from, "\n") != strings.Join(splitLines(a), "\n") || strings.Join(to, "\n") != strings.Join(splitLines(b), "\n") {
			t.Errorf("%q to %q: %q, %q", a, b, from, to)
		}
	})
}
