package convert

import (
	"math"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// setter turns the lines of pages into paragraphs, headings and tables.
type setter struct {
	d     *draft
	body  float64
	heads []float64 // sizes of headings, the largest first
	light bool      // the ordinary text is not bold
}

func newSetter(d *draft, pages [][]textLine) *setter {
	weights, all, bold := map[float64]int{}, 0, 0
	for _, lines := range pages {
		for _, l := range lines {
			weights[half(l.size())] += l.letters()
			all += l.letters()
			if l.bold() {
				bold += l.letters()
			}
		}
	}
	s := &setter{d: d, light: bold < all/3}
	most := 0
	for size, n := range weights {
		if n > most || n == most && size < s.body {
			s.body, most = size, n
		}
	}
	for size, n := range weights {
		if size > 1.12*s.body && n < all/4 {
			s.heads = append(s.heads, size)
		}
	}
	slices.Sort(s.heads)
	slices.Reverse(s.heads)
	return s
}

// half rounds a size, which differs a little from line to line.
func half(size float64) float64 { return math.Round(size*2) / 2 }

// Maximum lengths of headings: of large ones, and of bold ones.
const (
	maxHeading = 200
	maxBold    = 100
)

// level returns the level of a heading, or 0. Bold lines in the text's size rank below all larger ones.
func (s *setter) level(l textLine) int {
	n := l.letters()
	if n > maxHeading || !strings.ContainsFunc(l.plain(), unicode.IsLetter) {
		return 0
	}
	if i := slices.Index(s.heads, half(l.size())); i >= 0 {
		return min(i+1, 4)
	}
	if s.light && n <= maxBold && l.bold() && half(l.size()) >= s.body && len(l.cells(false)) == 1 &&
		!endsSentence(l.plain()) &&
		!bullet(l.plain()) {
		return min(len(s.heads)+1, 4)
	}
	return 0
}

// page writes the lines of a page, and its tables where they stand.
func (s *setter) page(lines []textLine) {
	for len(lines) > 0 {
		n := slices.IndexFunc(lines, func(l textLine) bool { return l.rows != nil })
		if n < 0 {
			s.lines(lines)
			return
		}
		s.lines(lines[:n])
		s.d.gap()
		s.d.table(lines[n].rows)
		lines = lines[n+1:]
	}
}

func (s *setter) lines(lines []textLine) {
	for i := 0; i < len(lines); {
		if level := s.level(lines[i]); level > 0 {
			n := s.heading(lines[i:], level)
			i += n
			continue
		}
		if n := s.table(lines[i:]); n > 0 {
			i += n
			continue
		}
		i += s.paragraph(lines[i:])
	}
}

// heading takes the lines of one heading.
func (s *setter) heading(lines []textLine, level int) int {
	text, n := lines[0].plain(), 1
	for n < len(lines) && n < 4 && s.level(lines[n]) == level && near(lines[n-1], lines[n]) {
		text = join(text, lines[n].plain())
		n++
	}
	s.d.heading(level, text)
	return n
}

// near reports whether a line is right below another.
func near(above, below textLine) bool {
	a, b := above.pieces[0], below.pieces[0]
	gap := a.bottom - b.top
	return gap > -0.5*a.size && gap < 0.9*max(a.size, b.size)
}

// paragraph takes lines until one is further away, differs in size, or begins something.
func (s *setter) paragraph(lines []textLine) int {
	text, n := lines[0].text(), 1
	first := lines[0].pieces[0]
	for ; n < len(lines); n++ {
		l := lines[n]
		p, last := l.pieces[0], lines[n-1].pieces[len(lines[n-1].pieces)-1]
		indented := p.left > first.left+0.9*p.size && n > 1
		ended := last.right < s.right(lines[:n])-3*last.size && endsSentence(text)
		if s.level(l) > 0 || !near(lines[n-1], l) || math.Abs(half(l.size())-half(first.size)) > 1 ||
			bullet(l.text()) || indented || ended || s.columns(lines[n:]) > 1 {
			break
		}
		text = join(text, l.text())
	}
	if mark := []rune(text); bullet(text) && !unicode.IsDigit(mark[0]) {
		s.d.line("- " + strings.TrimSpace(string(mark[1:])))
		return n
	}
	s.d.block(text)
	return n
}

func (s *setter) right(lines []textLine) float64 {
	right := 0.0
	for _, l := range lines {
		right = max(right, l.pieces[len(l.pieces)-1].right)
	}
	return right
}

func endsSentence(s string) bool {
	r, _ := utf8.DecodeLastRuneInString(s)
	return strings.ContainsRune(".!?:。!?:", r)
}

// bullet reports whether a line begins an item of a list.
func bullet(s string) bool {
	r, _ := utf8.DecodeRuneInString(s)
	return strings.ContainsRune("•‣◦▪●■–∙·", r)
}

// mark reports whether a text is only the mark of a list item.
func mark(s string) bool {
	s = strings.TrimSpace(s)
	if n := strings.TrimRight(s, ".)"); n != s && len(n) < 4 && strings.Trim(n, "0123456789") == "" {
		return true
	}
	return utf8.RuneCountInString(s) == 1 && bullet(s)
}

func wideEnd(s string) bool {
	r, _ := utf8.DecodeLastRuneInString(s)
	return wide(r)
}

func wideStart(s string) bool {
	r, _ := utf8.DecodeRuneInString(s)
	return wide(r)
}

// join puts a line after another: a word that was divided is one again, and scripts without spaces get none.
func join(a, b string) string {
	if a == "" || b == "" {
		return a + b
	}
	// One link on two lines is one link.
	if at := strings.LastIndex(a, "]("); at >= 0 && strings.HasSuffix(a, ")") && strings.HasPrefix(b, "[") {
		if end := strings.Index(b, "]("); end > 0 && strings.HasPrefix(b[end:], a[at:]) {
			return join(a[:at], b[1:])
		}
	}
	last, size := utf8.DecodeLastRuneInString(a)
	next, _ := utf8.DecodeRuneInString(b)
	switch {
	case last == '-' && unicode.IsLower(next):
		before, _ := utf8.DecodeLastRuneInString(a[:len(a)-size])
		if unicode.IsLetter(before) {
			return a[:len(a)-size] + b
		}
	case wide(last) && wide(next):
		return a + b
	}
	return a + " " + b
}

func wide(r rune) bool {
	return unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana) || r >= 0x3000 && r < 0x3040 ||
		r >= 0xFF00 && r < 0xFFF0
}

// columns counts the parts common to the lines from the first one on: 2 or more make a table.
func (s *setter) columns(lines []textLine) int {
	if len(lines) < 2 {
		return 1
	}
	first, second := lines[0].cells(false), lines[1].cells(false)
	if len(first) < 2 || len(second) < 2 || !aligned(first, second) {
		return 1
	}
	return max(len(first), len(second))
}

// aligned reports whether most parts of two lines begin or end below one another.
func aligned(a, b []piece) bool {
	if len(a) > len(b) {
		a, b = b, a
	}
	hits := 0
	for _, p := range a {
		if slices.ContainsFunc(b, func(q piece) bool { return beside(p, q) }) {
			hits++
		}
	}
	return hits == len(a) || hits >= 2 && hits >= len(a)-1
}

func beside(p, q piece) bool {
	tolerance := 0.7 * max(p.size, 4)
	return math.Abs(p.left-q.left) < tolerance || math.Abs(p.right-q.right) < tolerance ||
		math.Abs(p.left+p.right-q.left-q.right) < 2*tolerance
}

// prose is the mean length of a part from which two of them are columns of text.
const prose = 28

// table detects lines with vertically aligned parts. Side-by-side columns of prose are read one after the other.
func (s *setter) table(lines []textLine) int {
	if s.columns(lines) < 2 {
		return 0
	}
	rows := [][]piece{lines[0].cells(true)}
	for n := 1; n < len(lines) && s.level(lines[n]) == 0; n++ {
		cells := lines[n].cells(true)
		if len(cells) < 2 || !aligned(rows[len(rows)-1], cells) {
			break
		}
		rows = append(rows, cells)
	}
	if letters, parts := 0, 0; len(rows) > 3 {
		for _, row := range rows {
			for _, c := range row {
				letters += utf8.RuneCountInString(c.text)
			}
			parts += len(row)
		}
		if parts <= 2*len(rows) && letters > prose*parts {
			for side := range 2 {
				var column []textLine
				for _, row := range rows {
					if side < len(row) {
						column = append(column, textLine{pieces: []piece{row[side]}})
					}
				}
				for i := 0; i < len(column); {
					i += s.paragraph(column[i:])
				}
			}
			return len(rows)
		}
	}
	s.grid(rows)
	return len(rows)
}

// grid writes a table. The widest row defines the columns.
func (s *setter) grid(rows [][]piece) {
	widest := slices.MaxFunc(rows, func(a, b []piece) int { return len(a) - len(b) })
	table := make([][]string, len(rows))
	for i, row := range rows {
		table[i] = make([]string, len(widest))
		for _, c := range row {
			best, distance := 0, math.Inf(1)
			for j, w := range widest {
				d := min(math.Abs(c.left-w.left), math.Abs(c.right-w.right), math.Abs(c.left+c.right-w.left-w.right)/2)
				if d < distance {
					best, distance = j, d
				}
			}
			table[i][best] = strings.TrimSpace(table[i][best] + " " + c.text)
		}
	}
	s.d.table(table)
}
