package markdown

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// mend completes or hides incomplete marks at the end of a growing text, so that readers never see raw marks flicker.
// open reports that the text ends inside a fenced code block.
func mend(tail string) (out string, open bool) {
	var f fence
	start := 0 // of the last block: after the last blank line or the last closed fence
	pos := 0
	for line := range strings.Lines(tail) {
		if line[len(line)-1] != '\n' {
			break
		}
		was := f.open
		f.line(line)
		pos += len(line)
		if was && !f.open || !f.open && strings.TrimSpace(line) == "" {
			start = pos
		}
	}
	last := tail[pos:]
	bare := strings.TrimSpace(last)
	if f.open {
		if bare != "" && strings.Trim(bare, string(f.mark)) == "" {
			return tail[:pos], true // the closing fence is incomplete
		}
		return tail, true
	}
	if strings.HasPrefix(bare, "```") || strings.HasPrefix(bare, "~~~") {
		return tail[:pos], false // the language name is incomplete
	}
	if isBareMark(bare) {
		tail = tail[:pos]
	}
	head, block := tail[:min(start, len(tail))], tail[min(start, len(tail)):]
	block = block[:openMath(block)]
	block, ok := mendTable(block)
	if !ok {
		return head, false
	}
	cut := inlineStart(block)
	return head + block[:cut] + mendInline(block[cut:]), false
}

// isBareMark reports whether a line holds only the beginning of some block mark; by itself it would be
// read differently, a lone dash for instance turns the line above into a heading.
func isBareMark(s string) bool {
	if s == "" {
		return false
	}
	if n := strings.TrimLeft(s, "0123456789"); len(s)-len(n) > 0 && (n == "" || n == "." || n == ")") {
		return len(s) <= 4
	}
	return strings.Trim(s, s[:1]) == "" && strings.IndexByte("-=*+>#`~_<![", s[0]) >= 0
}

// mendTable completes the delimiter row of a table that has just begun. ok is
// false while there is nothing to show but a header that may be none.
func mendTable(block string) (string, bool) {
	if !strings.HasPrefix(block, "|") {
		return block, true
	}
	header, rest, more := strings.Cut(block, "\n")
	if !more || rest == "" {
		return "", false
	}
	delim, _, whole := strings.Cut(rest, "\n")
	if whole || strings.Trim(delim, "|:- ") != "" {
		return block, true
	}
	return header + "\n|" + strings.Repeat("---|", cells(header)), true
}

// cells counts the cells of a table row that begins with a bar.
func cells(row string) int {
	row = strings.TrimSuffix(strings.TrimSpace(row), "|")
	n := 0
	for i := range len(row) {
		if row[i] == '|' && (i == 0 || row[i-1] != '\\') {
			n++
		}
	}
	return n
}

// inlineStart returns where the innermost block of a run of lines begins: marks never pair across list items, quotes'
// ends or table cells.
func inlineStart(block string) int {
	start, pos := 0, 0
	for line := range strings.Lines(block) {
		t := strings.TrimLeft(line, " \t")
		if t != "" && (isListStart(t) || t[0] == '#' || t[0] == '|' || t[0] == '>') {
			start = pos + len(line) - len(t)
			if t[0] == '|' {
				start += lastBar(t)
			}
		}
		pos += len(line)
	}
	return start
}

func lastBar(row string) int {
	last := 0
	for i := 1; i < len(row); i++ {
		if row[i] == '|' && row[i-1] != '\\' {
			last = i
		}
	}
	return last
}

// maxMend limits the work on one block; longer ones are shown as they are.
const maxMend = 16 << 10

func mendInline(s string) string {
	if len(s) > maxMend {
		return s
	}
	if i := strings.LastIndexByte(s, '<'); i >= 0 && len(s)-i < 64 && !strings.ContainsAny(s[i:], "> \n") {
		s = s[:i] // a tag or an address is incomplete
	}
	m := mender{s: s}
	m.scan()
	out := m.b.String()
	body := strings.TrimRight(out, " \n")
	for len(m.stack) > 0 && strings.HasSuffix(body, m.stack[len(m.stack)-1]) {
		top := m.stack[len(m.stack)-1]
		m.stack = m.stack[:len(m.stack)-1]
		body = strings.TrimRight(strings.TrimSuffix(body, top), " \n")
	}
	if len(m.stack) == 0 {
		if len(body) == len(strings.TrimRight(out, " \n")) {
			return out
		}
		return body
	}
	for i := len(m.stack) - 1; i >= 0; i-- {
		body += m.stack[i]
	}
	return body
}

// mender walks over one block and keeps the marks that are still open.
type mender struct {
	s     string
	b     strings.Builder
	stack []string
}

func (m *mender) scan() {
	s := m.s
	for i := 0; i < len(s); {
		switch c := s[i]; c {
		case '\\', '$':
			before := '\n'
			if i > 0 {
				before = rune(s[i-1])
			}
			n, _ := mathSpan(s[i:], before, true)
			switch {
			case n > 0:
			case c == '$':
				n = 1
			case i+1 == len(s):
				return // an incomplete escape
			default:
				n = 2
			}
			m.b.WriteString(s[i : i+n])
			i += n
		case '`':
			i = m.ticks(i)
		case '*', '_', '~':
			i = m.emphasis(i)
		case '!':
			if i+1 == len(s) {
				m.b.WriteByte(c)
				return
			}
			if s[i+1] == '[' {
				if end, ok := linkEnd(s, i+1); ok {
					m.b.WriteString(s[i:end])
					i = end
					continue
				}
				return // an incomplete picture
			}
			m.b.WriteByte(c)
			i++
		case '[':
			i = m.link(i)
		default:
			m.b.WriteByte(c)
			i++
		}
	}
}

func (m *mender) ticks(i int) int {
	s := m.s
	n := run(s[i:])
	mark := s[i : i+n]
	for j := i + n; j < len(s); {
		if s[j] != '`' {
			j++
			continue
		}
		k := run(s[j:])
		if k == n {
			m.b.WriteString(s[i : j+k])
			return j + k
		}
		j += k
	}
	rest := strings.TrimRight(s[i+n:], "` \n")
	if rest == "" {
		return len(s)
	}
	m.b.WriteString(mark + rest + mark)
	return len(s)
}

func (m *mender) emphasis(i int) int {
	s := m.s
	n := run(s[i:])
	mark := s[i : i+n]
	end := i + n
	before, _ := utf8.DecodeLastRuneInString(s[:i])
	after, _ := utf8.DecodeRuneInString(s[end:])
	atStart, atEnd := i == 0, end == len(s)
	canOpen := !atEnd && !unicode.IsSpace(after)
	canClose := !atStart && !unicode.IsSpace(before)
	word := func(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) }
	if s[i] == '_' && canOpen && canClose && word(before) && word(after) {
		canOpen, canClose = false, false
	}
	if s[i] == '~' && n != 2 || n > 3 {
		canOpen, canClose = false, false
	}
	switch {
	case canClose && len(m.stack) > 0 && m.stack[len(m.stack)-1] == mark:
		m.stack = m.stack[:len(m.stack)-1]
	case canClose && m.closesPart(mark):
	case atEnd && (atStart || s[i] == '*' || s[i] == '~'):
		return end // the first half of a mark: hide it
	case canOpen:
		m.stack = append(m.stack, mark)
	}
	m.b.WriteString(mark)
	return end
}

// closesPart handles a mark that closes several open ones, or a part of one:
// *** after ** and *, and a single * after which the second is on its way.
func (m *mender) closesPart(mark string) bool {
	rest := mark
	n := len(m.stack)
	for rest != "" && n > 0 && strings.HasPrefix(rest, m.stack[n-1]) {
		rest = rest[len(m.stack[n-1]):]
		n--
	}
	if rest != "" {
		return false
	}
	m.stack = m.stack[:n]
	return true
}

func (m *mender) link(i int) int {
	s := m.s
	if end, ok := linkEnd(s, i); ok {
		if end == len(s) && s[end-1] == ']' && strings.HasPrefix(s[i:], "[citation:") {
			return end
		}
		m.b.WriteString(s[i:end])
		return end
	}
	words := s[i+1:]
	if j := strings.IndexByte(words, ']'); j >= 0 {
		words = words[:j]
	}
	if half := words; strings.HasPrefix(half, "citation:") || strings.HasPrefix("citation:", half) ||
		strings.HasPrefix(half, "^") {
		return len(s)
	}
	inner := mender{s: words}
	inner.scan()
	m.b.WriteString(inner.b.String())
	m.stack = append(m.stack, inner.stack...)
	return len(s)
}

// linkEnd returns the end of the link that begins with the bracket at i. ok is false while it is not whole.
func linkEnd(s string, i int) (end int, ok bool) {
	depth := 0
	for j := i; j < len(s); j++ {
		switch s[j] {
		case '\\':
			j++
		case '[':
			depth++
		case '\n':
			if j+1 < len(s) && s[j+1] == '\n' {
				return j, true
			}
		case ']':
			if depth--; depth > 0 {
				continue
			}
			if j+1 == len(s) || s[j+1] != '(' {
				return j + 1, true
			}
			open := 0
			for k := j + 1; k < len(s); k++ {
				switch s[k] {
				case '\\':
					k++
				case '(':
					open++
				case ')':
					if open--; open == 0 {
						return k + 1, true
					}
				case '\n':
					return k, true
				}
			}
			return 0, false
		}
	}
	return 0, false
}

// run returns the length of the run of equal bytes s begins with.
func run(s string) int {
	n := 1
	for n < len(s) && s[n] == s[0] {
		n++
	}
	return n
}
