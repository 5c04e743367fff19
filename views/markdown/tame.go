package markdown

import (
	"strings"

	"fawn/views/i18n"
)

// capSource limits a text before it is parsed and normalizes its line ends. Parsing takes superlinear time for some
// artificial inputs: endless lines, thousands of opening brackets, deep quotes, huge tables. These are truncated or
// shown plainly. The result depends only on the text.
func capSource(src string, o Options) (string, bool) {
	cut := false
	if len(src) > maxSource {
		src, cut = src[:runeCut(src, maxSource)], true
	}
	if strings.IndexByte(src, '\r') >= 0 {
		src = strings.ReplaceAll(strings.ReplaceAll(src, "\r\n", "\n"), "\r", "\n")
	}
	if strings.IndexByte(src, 0) >= 0 {
		src = strings.ReplaceAll(src, "\x00", "\uFFFD")
	}
	if len(src) > maxMarks {
		t := tamer{o: o}
		src = t.run(src)
	}
	return src, cut
}

// tamer copies a text line by line and defuses hostile parts.
type tamer struct {
	b     strings.Builder
	o     Options
	fence fence
	para  int  // bytes of the paragraph so far
	marks int  // characters in it that may begin a mark
	rows  int  // lines with bars in a row
	wide  int  // most bars in a line of it
	cells int  // cells of all tables so far
	full  bool // the limit was exceeded, and a note says so
}

func (t *tamer) run(src string) string {
	t.b.Grow(len(src) + 64)
	for line := range strings.Lines(src) {
		was := t.fence.open
		t.fence.line(line)
		if was || t.fence.open {
			t.b.WriteString(line)
			t.para, t.marks, t.rows, t.wide = 0, 0, 0, 0
			continue
		}
		for len(line) > maxLine {
			n := runeCut(line, maxLine)
			t.line(line[:n])
			t.b.WriteString("\n\n")
			line, t.para, t.marks = line[n:], 0, 0
		}
		t.line(line)
	}
	return t.b.String()
}

func (t *tamer) line(line string) {
	body := strings.TrimLeft(line, " \t")
	switch {
	case strings.TrimSpace(line) == "":
		t.para, t.marks, t.rows, t.wide = 0, 0, 0, 0
	case body[0] == '|' || isListStart(body):
		t.marks = 0
	}
	if t.para += len(line); t.para > maxParagraph && body[0] != '|' {
		t.b.WriteString("\n")
		t.para, t.marks = len(line), 0
	}
	bars := strings.Count(line, "|")
	if bars == 0 {
		t.rows, t.wide = 0, 0
	} else {
		t.rows++
		t.wide = max(t.wide, min(bars, maxBars))
		t.cells += t.wide
		if over := t.cells > maxCells; over || t.rows > maxRows+2 {
			if over && !t.full || !over && t.rows == maxRows+3 {
				t.b.WriteString("\n*" + i18n.T(t.o.Lang, "md.rows") + "*")
				if t.o.Whole != "" {
					t.b.WriteString(" [" + i18n.T(t.o.Lang, "step.output.raw") + "](" + wholeDest + ")")
				}
				t.b.WriteString("\n\n")
			}
			t.full = over
			return
		}
	}
	t.copy(line, bars > maxBars)
}

// copy writes a line and escapes excess marks with backslashes.
func (t *tamer) copy(line string, narrow bool) {
	if n := countMarks(line); !narrow && t.marks+n <= maxMarks {
		t.marks += n
		t.b.WriteString(line)
		return
	}
	i, containers := 0, 0
	for ; i < len(line) && strings.IndexByte("> \t-+*", line[i]) >= 0; i++ {
		if line[i] != ' ' && line[i] != '\t' {
			if containers++; containers > maxDepth {
				t.b.WriteByte('\\')
				break
			}
		}
		t.b.WriteByte(line[i])
	}
	bars := 0
	for ; i < len(line); i++ {
		switch line[i] {
		case '[', ']', '*', '_', '`', '<', '~', '!', '&', '>':
			if t.marks++; t.marks > maxMarks {
				t.b.WriteByte('\\')
			}
		case '|':
			if bars++; bars > maxBars {
				t.b.WriteByte('\\')
			}
		case '\\':
			if i+1 < len(line) {
				t.b.WriteByte(line[i])
				i++
			}
		}
		t.b.WriteByte(line[i])
	}
}

func countMarks(line string) int {
	n := 0
	for i := range len(line) {
		switch line[i] {
		case '[', ']', '*', '_', '`', '<', '~', '!', '&', '>':
			n++
		}
	}
	return n
}
