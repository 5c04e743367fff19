package chat

import (
	"slices"
	"strings"
)

// maxDiffCells bounds the work of comparing two texts line by line; larger ones are shown as
// one text in place of the other.
const maxDiffCells = 1 << 20

// diffLine is a line of a comparison: sign is ' ', '-' or '+'.
type diffLine struct {
	sign byte
	text string
}

// lineDiff says which lines of a text another one takes away and adds.
func lineDiff(from, to string) []diffLine {
	a, b := splitLines(from), splitLines(to)
	var out []diffLine
	for len(a) > 0 && len(b) > 0 && a[0] == b[0] {
		out, a, b = append(out, diffLine{' ', a[0]}), a[1:], b[1:]
	}
	var end []diffLine
	for len(a) > 0 && len(b) > 0 && a[len(a)-1] == b[len(b)-1] {
		end, a, b = append(end, diffLine{' ', a[len(a)-1]}), a[:len(a)-1], b[:len(b)-1]
	}
	slices.Reverse(end)
	return append(append(out, middle(a, b)...), end...)
}

// middle compares two lists of lines by their longest common subsequence.
func middle(a, b []string) (out []diffLine) {
	width := len(b) + 1
	common := make([]int32, 0)
	if len(a)*len(b) <= maxDiffCells {
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
			out = append(out, diffLine{' ', a[i]})
			i, k = i+1, k+1
		case k == len(b) || i < len(a) && (len(common) == 0 || common[(i+1)*width+k] >= common[i*width+k+1]):
			out = append(out, diffLine{'-', a[i]})
			i++
		default:
			out = append(out, diffLine{'+', b[k]})
			k++
		}
	}
	return out
}

// splitLines are the lines of a text; an empty text has none.
func splitLines(s string) []string {
	if s == "" {
		return nil
	}
	return strings.Split(strings.TrimSuffix(s, "\n"), "\n")
}
