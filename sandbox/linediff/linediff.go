// Package linediff compares two texts line by line. Its callers provide the texts and format the differences.
package linediff

import (
	"fmt"
	"slices"
	"strings"
)

// maxCells limits the work of comparing two texts; larger ones are shown as one text in place of the other.
const maxCells = 1 << 20

// Context is the number of unchanged lines around a change.
const Context = 3

// Line is a line of a comparison: Sign is ' ', '-' or '+', or '@' for lines left out, which Text
// then counts.
type Line struct {
	Sign byte
	Text string
}

// Compare reports the lines that the second text removes and adds.
func Compare(from, to string) []Line {
	a, b := split(from), split(to)
	var out []Line
	for len(a) > 0 && len(b) > 0 && a[0] == b[0] {
		out, a, b = append(out, Line{' ', a[0]}), a[1:], b[1:]
	}
	var end []Line
	for len(a) > 0 && len(b) > 0 && a[len(a)-1] == b[len(b)-1] {
		end, a, b = append(end, Line{' ', a[len(a)-1]}), a[:len(a)-1], b[:len(b)-1]
	}
	slices.Reverse(end)
	return append(append(out, middle(a, b)...), end...)
}

// middle compares two lists of lines by their longest common subsequence.
func middle(a, b []string) (out []Line) {
	width := len(b) + 1
	common := make([]int32, 0)
	if len(a)*len(b) <= maxCells {
		common = make([]int32, (len(a)+1)*width)
		for i := len(a) - 1; i >= 0; i-- {
			for k := len(b) - 1; k >= 0; k-- {
				if a[i] == b[k] {
					common[i*width+k] = common[(i+1)*width+k+1] + 1
				} else {
					common[i*width+k] = max(common[(i+1)*width+k], common[i*width+k+1])
				}
			}
		}
	}
	i, k := 0, 0
	for i < len(a) || k < len(b) {
		switch {
		case i < len(a) && k < len(b) && len(common) > 0 && a[i] == b[k]:
			out = append(out, Line{' ', a[i]})
			i, k = i+1, k+1
		case k == len(b) || i < len(a) && (len(common) == 0 || common[(i+1)*width+k] >= common[i*width+k+1]):
			out = append(out, Line{'-', a[i]})
			i++
		default:
			out = append(out, Line{'+', b[k]})
			k++
		}
	}
	return out
}

// split returns the lines of a text; an empty text has none.
func split(s string) []string {
	if s == "" {
		return nil
	}
	return strings.Split(strings.TrimSuffix(s, "\n"), "\n")
}

// Count returns the number of added and removed lines.
func Count(lines []Line) (added, deleted int) {
	for _, l := range lines {
		switch l.Sign {
		case '+':
			added++
		case '-':
			deleted++
		}
	}
	return added, deleted
}

// span is a range of lines that is shown.
type span struct{ from, to int }

// spans returns the changes of a comparison with the lines around them.
func spans(lines []Line) []span {
	var out []span
	for i, l := range lines {
		if l.Sign == ' ' {
			continue
		}
		from, to := max(0, i-Context), min(len(lines), i+Context+1)
		if n := len(out); n > 0 && from <= out[n-1].to {
			out[n-1].to = to
			continue
		}
		out = append(out, span{from, to})
	}
	return out
}

// Fold replaces unchanged lines far from any change with one line that counts them.
func Fold(lines []Line) []Line {
	var out []Line
	at := 0
	skip := func(to int) {
		if n := to - at; n > 0 {
			out = append(out, Line{'@', fmt.Sprint(n)})
		}
	}
	for _, s := range spans(lines) {
		skip(s.from)
		out = append(out, lines[s.from:s.to]...)
		at = s.to
	}
	skip(len(lines))
	return out
}

// Unified returns a comparison in unified diff format, at most limit bytes. The names identify the sides; /dev/null is
// an absent one.
func Unified(lines []Line, from, to string, limit int) (text string, cut bool) {
	var b strings.Builder
	put := func(s string) bool {
		if cut = cut || b.Len()+len(s) > limit; !cut {
			b.WriteString(s)
		}
		return !cut
	}
	put("--- " + from + "\n+++ " + to + "\n")
	oldLine, newLine, at := 1, 1, 0
	for _, s := range spans(lines) {
		oldLine, newLine = oldLine+s.from-at, newLine+s.from-at // the lines in between are unchanged
		added, deleted := Count(lines[s.from:s.to])
		same := s.to - s.from - added - deleted
		if !put(fmt.Sprintf("@@ -%s +%s @@\n", extent(oldLine, same+deleted), extent(newLine, same+added))) {
			break
		}
		for _, l := range lines[s.from:s.to] {
			if !put(string(l.Sign) + l.Text + "\n") {
				break
			}
		}
		oldLine, newLine, at = oldLine+same+deleted, newLine+same+added, s.to
	}
	return b.String(), cut
}

// extent returns a range of lines in the head of a patch.
func extent(first, n int) string {
	if n == 0 {
		first--
	}
	return fmt.Sprintf("%d,%d", first, n)
}
