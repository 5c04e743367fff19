package offline

import (
	"slices"
	"strconv"
	"strings"

	"fawn/agent"
)

// Limits of reading: characters that one call certainly returns completely, calls of one message, and
// bytes after which a file counts as too long and a sample is used.
const (
	callChars   = 45_000
	callsAtOnce = 12
	maxRead     = 10 << 20
	maxCalls    = 400
)

// leftOut replaces a result removed by compaction.
const leftOut = "[Earlier output left out.]"

// document is the part of a file held by the conversation.
type document struct {
	path    string
	text    string // whole lines, from the first on
	lines   int
	whole   bool   // nothing is missing after the text
	partial bool   // more is there, but will not be read
	cut     int    // lines that were too long to be read in full
	problem string // reason why nothing could be read, in the tool's words
}

// span is a range of lines to read; to 0 means as far as one call reads.
type span struct{ from, to int }

// segment is the result of one read_file call.
type segment struct {
	from, to int // lines covered
	text     string
	cut      bool
}

// document joins the segments read from a file and determines the lines to read next. size is the file's length in
// bytes, 0 if unknown.
func (c *conversation) document(path string, size int) (document, []span) {
	d := document{path: path}
	var parts []segment
	end, tried, calls := -1, map[span]int{}, 0 // end is the last line, -1 unknown
	for _, s := range c.done {
		if s.tool != "read_file" || s.args.Path != path || s.args.Page > 0 {
			continue
		}
		calls++
		from := max(1, s.args.Start)
		tried[span{from, s.args.End}]++
		switch {
		case s.result == agent.InterruptedResult || s.result == leftOut:
		case s.failed:
			d.problem = strings.TrimPrefix(s.result, "Error: ")
		case s.result == "(empty)":
			end = 0
		case s.result == "(start_line exceeds file length)":
			if end < 0 || from-1 < end {
				end = from - 1
			}
		case strings.HasPrefix(s.result, "(start_line is beyond"):
			d.partial = true
		default:
			p, last, beyond := segmentOf(s.result, from, s.args.End)
			parts = append(parts, p)
			if last {
				end = p.to
			}
			d.partial = d.partial || beyond
		}
	}
	gaps := d.join(parts)
	if end >= 0 && len(gaps) == 0 && d.lines >= end {
		d.whole, d.partial = true, false
		return d, nil
	}
	if d.problem != "" {
		d.partial = d.lines > 0
		return d, nil
	}
	if d.partial || len(d.text) >= maxRead || calls >= maxCalls || !c.tools["read_file"] {
		d.partial = d.partial || d.lines > 0 || calls > 0
		return d, nil
	}
	more := d.windows(gaps, size)
	if tried[more[0]] >= 2 {
		d.partial = true
		if d.lines == 0 {
			d.problem = "it could not be read"
		}
		return d, nil
	}
	return d, more
}

// join concatenates the segments contiguous from line 1 and returns the gaps between the others.
func (d *document) join(parts []segment) (gaps []span) {
	slices.SortStableFunc(parts, func(a, b segment) int { return a.from - b.from })
	var text strings.Builder
	reached := 0
	for _, p := range parts {
		if p.from > reached+1 {
			gaps = append(gaps, span{reached + 1, p.from - 1})
		}
		if p.to <= reached {
			continue
		}
		for skip := reached + 1 - p.from; skip > 0; skip-- { // lines contained in another part
			_, p.text, _ = strings.Cut(p.text, "\n")
		}
		reached = p.to
		if len(gaps) > 0 {
			continue
		}
		text.WriteString(p.text)
		d.lines = reached
		if p.cut {
			d.cut++
		}
	}
	d.text = text.String()
	return gaps
}

// windows returns the next ranges to read: halves of gaps, which did not fit into one call, or the estimated rest in
// parts that fit.
func (d *document) windows(gaps []span, size int) []span {
	var out []span
	for _, g := range gaps {
		if middle := (g.from + g.to) / 2; g.from < g.to {
			out = append(out, span{g.from, middle}, span{middle + 1, g.to})
		} else {
			out = append(out, g)
		}
	}
	switch {
	case len(out) > 0:
		return out[:min(len(out), callsAtOnce)]
	case d.lines == 0:
		return []span{{1, 0}}
	}
	perLine := len(d.text)/d.lines + 1
	step := max(1, callChars/perLine)
	n := 4
	if size > 0 {
		left := max(1, min(size, maxRead)-len(d.text))
		n = left/perLine/step + 1
	}
	for from := d.lines + 1; len(out) < min(n, callsAtOnce); from += step {
		out = append(out, span{from, from + step - 1})
	}
	return out
}

// segmentOf parses a result of read_file for lines from … to. last means that the file ends there, or that the tool
// reads no further.
func segmentOf(result string, from, to int) (p segment, last, beyond bool) {
	p.from, p.text = from, result
	at := strings.LastIndex(result, "... [truncated")
	marked := at >= 0 && (at == 0 || result[at-1] == '\n') && !strings.Contains(result[at:], "\n")
	next := 0
	if marked {
		p.text = result[:at]
		if _, rest, ok := strings.Cut(result[at:], "start_line="); ok {
			digits := rest[:len(rest)-len(strings.TrimLeft(rest, "0123456789"))]
			next, _ = strconv.Atoi(digits)
		} else {
			beyond = true
		}
	}
	n := strings.Count(p.text, "\n")
	if p.text != "" && !strings.HasSuffix(p.text, "\n") {
		n++
	}
	p.to = from + n - 1
	if next > p.to+1 && next < from+n+2 { // the line before next was cut short
		p.to, p.cut = next-1, true
	}
	if strings.Contains(result[max(0, at):], "is longer than") && marked {
		p.cut = true
	}
	last = !marked && (to == 0 || p.to < to)
	return p, last, beyond
}
