package markdown

import "strings"

// fence follows fenced code blocks line by line.
type fence struct {
	open bool
	mark byte
	n    int
}

// line processes one line of source and updates the state.
func (f *fence) line(l string) {
	t := strings.TrimLeft(l, " ")
	if len(l)-len(t) > 3 {
		return
	}
	n := 0
	for n < len(t) && (t[n] == '`' || t[n] == '~') && t[n] == t[0] {
		n++
	}
	switch {
	case n < 3:
	case f.open:
		if t[0] == f.mark && n >= f.n && strings.TrimSpace(t[n:]) == "" {
			f.open = false
		}
	case t[0] == '`' && strings.IndexByte(t[n:], '`') >= 0:
	default:
		*f = fence{open: true, mark: t[0], n: n}
	}
}

// splitter finds where finished top-level blocks end in a growing text.
//
// It is a pure function of the text: a boundary is reported as soon as the
// bytes seen so far prove it and never taken back, so all readers of a text
// split it in the same places however it reached them. It errs on the side of
// no boundary.
type splitter struct {
	pos    int // start of the first incompletely scanned line
	fence  fence
	inList bool
	blank  bool   // a blank line precedes pos, or a block ended there by itself
	html   string // inside an HTML block that ends with this, not with a blank line
}

// next continues scanning src and returns the next boundary, or -1 if none is certain. src must start with the earlier
// input.
func (s *splitter) next(src string) int {
	for s.pos < len(src) {
		line, whole := src[s.pos:], false
		if i := strings.IndexByte(line, '\n'); i >= 0 {
			line, whole = line[:i+1], true
		}
		if s.blank && !s.fence.open && s.html == "" {
			starts, known := s.startsBlock(line)
			if !known && !whole {
				return -1
			}
			if starts {
				s.blank, s.inList = false, false
				if s.pos > 0 {
					return s.pos
				}
			}
		}
		if !whole {
			return -1
		}
		s.consume(line)
		s.pos += len(line)
	}
	return -1
}

// startsBlock reports whether a line after a blank one begins a new top-level block, and whether its bytes suffice to
// decide.
func (s *splitter) startsBlock(line string) (starts, known bool) {
	if line == "" {
		return false, false
	}
	switch c := line[0]; {
	case c == '\n' || c == '\r' || c == ' ' || c == '\t':
		return false, true
	case !s.inList:
		return true, true
	case c == '-' || c == '*' || c == '+':
		if len(line) < 2 {
			return false, false
		}
		return line[1] != ' ' && line[1] != '\t' && line[1] != '\n', true
	case c >= '0' && c <= '9':
		n := 0
		for n < len(line) && line[n] >= '0' && line[n] <= '9' {
			n++
		}
		if n > 9 {
			return true, true
		}
		if n == len(line) {
			return false, false
		}
		if line[n] != '.' && line[n] != ')' {
			return true, true
		}
		if n+1 == len(line) {
			return false, false
		}
		return line[n+1] != ' ' && line[n+1] != '\t' && line[n+1] != '\n', true
	}
	return true, true
}

func (s *splitter) consume(line string) {
	empty := strings.TrimSpace(line) == ""
	switch {
	case s.html != "":
		if strings.Contains(strings.ToLower(line), s.html) {
			s.html = ""
		}
		s.blank = false
	case s.fence.open:
		s.fence.line(line)
		s.blank = !s.fence.open
	case empty:
		s.blank = true
	default:
		s.blank = false
		if !s.inList || line[0] == '`' || line[0] == '~' {
			if s.fence.line(line); s.fence.open {
				s.inList = false
				return
			}
		}
		if isListStart(line) {
			s.inList = true
		}
		s.html = htmlEnd(line)
	}
}

func isListStart(line string) bool {
	t := strings.TrimLeft(line, " ")
	if len(line)-len(t) > 3 || t == "" {
		return false
	}
	n := 0
	for n < len(t) && n < 10 && t[n] >= '0' && t[n] <= '9' {
		n++
	}
	switch {
	case n == 0 && (t[0] == '-' || t[0] == '*' || t[0] == '+'):
		n = 1
	case n > 0 && n < len(t) && (t[n] == '.' || t[n] == ')'):
		n++
	default:
		return false
	}
	return n < len(t) && (t[n] == ' ' || t[n] == '\t' || t[n] == '\n')
}

// htmlEnd returns the end mark of an HTML block that may contain blank lines, empty for any other line.
func htmlEnd(line string) string {
	t := strings.ToLower(strings.TrimLeft(line, " "))
	if t == "" || t[0] != '<' {
		return ""
	}
	end := ""
	switch {
	case strings.HasPrefix(t, "<!--"):
		t, end = t[4:], "-->"
	case strings.HasPrefix(t, "<?"):
		end = "?>"
	case strings.HasPrefix(t, "<![cdata["):
		end = "]]>"
	case len(t) > 2 && t[1] == '!' && t[2] >= 'a' && t[2] <= 'z':
		end = ">"
	default:
		for _, tag := range []string{"script", "pre", "style", "textarea"} {
			if strings.HasPrefix(t[1:], tag) {
				end = "</" + tag + ">"
			}
		}
	}
	if end == "" || strings.Contains(t, end) {
		return ""
	}
	return end
}
