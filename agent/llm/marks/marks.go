// Package marks finds the marks that models write into their text: it ignores marks in code, which are only examples,
// and finds marks split across chunks.
package marks

import "strings"

// Code tracks code in Markdown text, byte by byte: fences, and spans in backticks. A span ends at a blank line at the
// latest. The zero value is at the start of a text.
type Code struct {
	fence, span int  // backticks that opened it; 0 = none is open
	run         int  // backticks just passed
	kind        byte // a backtick or a tilde
	fenced      byte // kind of the open fence
	behind      bool // other text than list and quote marks precedes on this line
	some        bool // any text precedes
}

// Next passes a byte of the text.
func (c *Code) Next(b byte) {
	if b == '`' && (c.run == 0 || c.kind == b) || b == '~' && !c.behind && (c.run == 0 || c.kind == b) {
		c.run, c.kind = c.run+1, b
		return
	}
	c.settle(b)
	switch {
	case b == '\n':
		if !c.some {
			c.span = 0
		}
		c.behind, c.some = false, false
	case b == ' ' || b == '\t' || b == '\r':
	case !c.behind && (strings.IndexByte(">-*+.)", b) >= 0 || b >= '0' && b <= '9'):
		c.some = true
	default:
		c.behind, c.some = true, true
	}
}

// settle classifies the preceding backticks once another byte follows.
func (c *Code) settle(next byte) {
	n := c.run
	if n == 0 {
		return
	}
	atStart := !c.behind
	c.run, c.behind, c.some = 0, true, true
	blank := next == '\n' || next == '\r' || next == ' ' || next == '\t'
	switch {
	case c.fence > 0:
		if atStart && n >= c.fence && c.kind == c.fenced && blank {
			c.fence = 0
		}
	case atStart && n >= 3:
		c.fence, c.fenced = n, c.kind
	case c.kind == '~':
	case c.span == 0:
		c.span = n
	case c.span == n:
		c.span = 0
	}
}

// Inside reports whether a byte other than a backtick would be in code here.
func (c *Code) Inside() bool {
	c.settle('x')
	return c.fence > 0 || c.span > 0
}

// LineStart reports whether the line so far contains only white space and marks of lists and quotes.
func (c *Code) LineStart() bool { return !c.behind && c.run == 0 }

// Partial returns the length of the longest suffix of a text that may begin one of the marks, ignoring case.
func Partial(text string, marks []string) int {
	best := 0
	for _, m := range marks {
		for n := min(len(m)-1, len(text)); n > best; n-- {
			if strings.EqualFold(text[len(text)-n:], m[:n]) {
				best = n
				break
			}
		}
	}
	return best
}

// Begins reports whether a text begins with a mark, ignoring case; maybe means that it is too short to decide.
func Begins(text, mark string) (yes, maybe bool) {
	if len(text) >= len(mark) {
		return strings.EqualFold(text[:len(mark)], mark), false
	}
	return false, strings.EqualFold(text, mark[:len(text)])
}

// Index returns the position of the first of some marks in a text, and which one; -1 if none occurs.
func Index(text string, marks []string) (at int, mark string) {
	for i := 0; i < len(text); i++ {
		for _, m := range marks {
			if text[i]|0x20 != m[0]|0x20 {
				continue
			}
			if yes, _ := Begins(text[i:], m); yes {
				return i, m
			}
		}
	}
	return -1, ""
}
