package linediff_test

import (
	"strconv"
	"strings"
	"testing"

	"fawn/sandbox/linediff"
)

func TestLinesOfTwoTextsAreCompared(t *testing.T) {
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
			for _, l := range linediff.Compare(c.from, c.to) {
				got = append(got, string(l.Sign)+l.Text)
				if l.Sign != '+' {
					from.WriteString(l.Text + "\n")
				}
				if l.Sign != '-' {
					to.WriteString(l.Text + "\n")
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

func TestLinesFarFromAChangeAreCounted(t *testing.T) {
	lines := linediff.Compare(numbered(20, ""), numbered(20, "11"))
	var got []string
	for _, l := range linediff.Fold(lines) {
		got = append(got, string(l.Sign)+l.Text)
	}
	if all := strings.Join(got, "|"); all != "@7| 8| 9| 10|-11|+x| 12| 13| 14|@6" {
		t.Error(all)
	}
	if added, deleted := linediff.Count(lines); added != 1 || deleted != 1 {
		t.Error(added, deleted)
	}
}

func TestPatchesAreWrittenAsToolsReadThem(t *testing.T) {
	for _, c := range []struct{ name, from, to, want string }{
		{"in the middle", numbered(9, ""), numbered(9, "5"), "--- a\n+++ b\n@@ -2,7 +2,7 @@\n 2\n 3\n 4\n-5\n+x\n 6\n 7\n 8\n"},
		{"far apart", "x\n" + numbered(12, ""), numbered(12, "") + "y\n",
			"--- a\n+++ b\n@@ -1,4 +1,3 @@\n-x\n 1\n 2\n 3\n@@ -11,3 +10,4 @@\n 10\n 11\n 12\n+y\n"},
		{"from nothing", "", "a\nb\n", "--- a\n+++ b\n@@ -0,0 +1,2 @@\n+a\n+b\n"},
		{"to nothing", "a\n", "", "--- a\n+++ b\n@@ -1,1 +0,0 @@\n-a\n"},
	} {
		if got, cut := linediff.Unified(linediff.Compare(c.from, c.to), "a", "b", 1000); got != c.want || cut {
			t.Errorf("%s:\n%s\nwant\n%s", c.name, got, c.want)
		}
	}
	got, cut := linediff.Unified(linediff.Compare("", numbered(100, "")), "a", "b", 40)
	if !cut || len(got) > 40 {
		t.Errorf("%d bytes, cut is %t", len(got), cut)
	}
}

// numbered are lines with their numbers, one of them changed.
func numbered(n int, changed string) string {
	var b strings.Builder
	for i := range n {
		s := strconv.Itoa(i + 1)
		if s == changed {
			s = "x"
		}
		b.WriteString(s + "\n")
	}
	return b.String()
}

func FuzzCompare(f *testing.F) {
	f.Add("a\nb\nc", "b\nc\nd")
	f.Fuzz(func(t *testing.T, a, b string) {
		var from, to []string
		for _, l := range linediff.Compare(a, b) {
			if l.Sign != '+' {
				from = append(from, l.Text)
			}
			if l.Sign != '-' {
				to = append(to, l.Text)
			}
		}
		whole := func(s string) string { return strings.TrimSuffix(s, "\n") }
		if strings.Join(from, "\n") != whole(a) || strings.Join(to, "\n") != whole(b) {
			t.Errorf("%q to %q: %q, %q", a, b, from, to)
		}
	})
}
