package chat

import (
	"strings"
	"unicode/utf8"
)

// A Piece is a part of a text that fits into one message.
type Piece struct {
	Text  string // complete Markdown: a code block that continues in the next piece is closed here and reopened there
	Bytes int    // number of bytes of the text that it covers
	Fence string // opening line of the code block that continues; the next call of NextPiece needs it
}

// Split cuts Markdown into messages.
func Split(text string, l Limits) []Piece {
	var all []Piece
	for fence := ""; text != "" || len(all) == 0; {
		p := NextPiece(text, fence, l)
		all = append(all, p)
		text, fence = text[p.Bytes:], p.Fence
	}
	return all
}

// NextPiece returns the first message of a text that begins inside the code block opened by fence, if any. Its end
// depends only on its own content, so growing text never moves an end once there is more than one piece. It prefers the
// end of a block, then of a line, a sentence and a word, and keeps links and emphasis whole.
func NextPiece(text, fence string, l Limits) Piece {
	s := splitter{Limits: l, text: text, begins: fence}
	if fence != "" {
		s.fence, s.used = fence, l.Count(fence)+1
	}
	for s.at < len(text) {
		line, _, ended := strings.Cut(text[s.at:], "\n")
		n := len(line)
		if ended {
			n++
		}
		if !s.take(line, n, ended) {
			return s.cut(line)
		}
	}
	return Piece{Text: s.close(text), Bytes: len(text), Fence: s.fence}
}

// splitter iterates over the lines that fit.
type splitter struct {
	Limits
	text   string
	begins string // opens the code block the text begins in
	at     int    // bytes of the text that fit
	used   int    // and their rendered size
	fence  string // opening line of the code block at position at
	table  int    // size of the first line of the table at position at; 0 without a table

	block, line boundary // last boundaries seen
}

// boundary is a place between two lines.
type boundary struct {
	at, used int
	fence    string
}

// widestTable limits the columns of a table shown as one: wider tables don't fit on a phone's screen and are easier to
// read as a list.
const widestTable = 40

// take adds a line if it fits.
func (s *splitter) take(line string, n int, ended bool) bool {
	if len(line) > 4*s.Max {
		return false // whatever it is
	}
	cost, table := s.Count(line), 0
	if ended {
		cost++
	}
	fence := s.fence
	bare := strings.TrimLeft(line, " \t")
	switch mark := fenceMark(bare); {
	case s.fence == "" && mark != "" && len(bare) <= s.Max/8: // a longer opening line isn't taken for a code block
		fence = bare
	case s.fence != "" && closes(bare, s.fence):
		fence = ""
	case s.fence == "" && strings.Contains(line, "|"):
		// An aligned table is wider; a list repeats the headers.
		if table = s.table; table == 0 {
			table = cost
		}
		cost += table + widestTable + 2
	}
	reserved := 0
	if fence != "" {
		reserved = len(fenceMark(fence)) + 1
	}
	if s.used+cost+reserved > s.Max {
		return false
	}
	opened := fence != "" && s.fence == ""
	s.at, s.used, s.fence, s.table = s.at+n, s.used+cost, fence, table
	if !ended || opened {
		return true
	}
	b := boundary{s.at, s.used, fence}
	if fence == "" && strings.TrimSpace(line) == "" {
		s.block = b
	}
	if s.table == 0 || s.line.used < s.Max/3 {
		s.line = b
	}
	return true
}

// cut ends the piece before line, or inside it.
func (s *splitter) cut(line string) Piece {
	for _, b := range []boundary{s.block, s.line} {
		if b.used >= s.Max/3 {
			return s.end(b)
		}
	}
	room := s.Max - s.used
	if s.fence != "" {
		room -= len(fenceMark(s.fence)) + 1
	}
	fits := s.fits(line, room)
	if s.fence == "" {
		if whole := wordEnd(line, fits); whole > 0 {
			fits = whole
		}
	}
	if s.at == 0 && fits == 0 { // a limit too small for anything: take one character
		_, fits = utf8.DecodeRuneInString(line)
		fits = max(fits, 1)
	}
	if fits < len(line)/8 && s.line.at > 0 {
		return s.end(s.line)
	}
	return s.end(boundary{at: s.at + fits, fence: s.fence})
}

// fits returns the number of bytes of line whose size is at most room.
func (s *splitter) fits(line string, room int) int {
	for i, r := range line {
		if room -= s.Count(string(r)); room < 0 {
			return i
		}
	}
	return len(line)
}

func (s *splitter) end(b boundary) Piece {
	s.fence = b.fence
	return Piece{Text: s.close(s.text[:b.at]), Bytes: b.at, Fence: b.fence}
}

// close completes the Markdown of the text's first part.
func (s *splitter) close(part string) string {
	if s.begins != "" {
		part = s.begins + "\n" + part
	}
	if s.fence == "" {
		return part
	}
	return strings.TrimSuffix(part, "\n") + "\n" + fenceMark(s.fence)
}

// fenceMark returns the characters that open a code block on this line, or "".
func fenceMark(line string) string {
	for _, c := range "`~" {
		n := len(line) - len(strings.TrimLeft(line, string(c)))
		if n >= 3 && (c == '~' || !strings.Contains(line[n:], "`")) {
			return line[:n]
		}
	}
	return ""
}

func closes(line, fence string) bool {
	mark := fenceMark(fence)
	line = strings.TrimRight(line, " \t\r")
	return len(line) >= len(mark) && strings.Trim(line, mark[:1]) == ""
}

// wordEnd returns the best place to cut line at or before n: after a sentence in the second half, else after a word,
// but never inside a link, a code span or emphasis that begins after the first quarter. 0 is none.
func wordEnd(line string, n int) int {
	part := line[:n]
	end := 0
	for _, stop := range []string{". ", "! ", "? ", "。", "！", "？", "；"} {
		if i := strings.LastIndex(part, stop); i >= 0 {
			end = max(end, i+len(stop))
		}
	}
	if end < n/2 {
		end = strings.LastIndexAny(part, " \t") + 1
	}
	if end < n/4 {
		end = n
	}
	if i := openedAt(line[:end]); i > n/4 {
		end = i
	}
	return end
}

// openedAt returns where the last link, code span or emphasis begins that part does not end, or -1.
func openedAt(part string) int {
	if i := strings.LastIndexByte(part, '`'); i >= 0 && strings.Count(part, "`")%2 == 1 {
		return i
	}
	open := -1
	if i := strings.LastIndexByte(part, '['); i >= 0 {
		text, rest, closed := strings.Cut(part[i:], "]")
		if !closed && !strings.Contains(text, "\n") || strings.HasPrefix(rest, "(") && !strings.Contains(rest, ")") ||
			closed && rest == "" {
			open = i
		}
	}
	for _, mark := range []string{"**", "__", "~~"} {
		if i := strings.LastIndex(part, mark); i >= 0 && strings.Count(part, mark)%2 == 1 && (open < 0 || i < open) {
			open = i
		}
	}
	if open > 0 && part[open-1] == '!' {
		open--
	}
	return open
}
