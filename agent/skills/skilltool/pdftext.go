package skilltool

import (
	"strings"
	"unicode"
)

// piece is text in one font, size and style.
type piece struct {
	text   string
	font   int
	size   float64
	link   string
	gray   bool
	white  bool
	blue   bool // in the colour of headings
	struck bool
}

// pieces splits spans by the fonts that have their characters.
func (f *pdfFile) pieces(spans []span, size float64, bold, gray bool) []piece {
	var out []piece
	for _, s := range spans {
		font := regular
		switch {
		case s.mono:
			font = mono
		case (s.bold || bold) && s.italic:
			font = boldItalic
		case s.bold || bold:
			font = boldface
		case s.italic:
			font = italic
		}
		n := size
		if s.mono {
			n *= 0.92
		}
		out = append(out, piece{text: s.text, font: font, size: n, link: s.link, gray: gray, struck: s.struck})
	}
	return f.sorted(out)
}

// sorted splits pieces where another font has the next character.
func (f *pdfFile) sorted(list []piece) (out []piece) {
	for _, p := range list {
		last := -1
		var b strings.Builder
		flush := func() {
			if b.Len() > 0 {
				q := p
				q.text, q.font = b.String(), last
				out = append(out, q)
				b.Reset()
			}
		}
		for _, r := range p.text {
			switch {
			case r == '\n' || r == '\t' || r == '\u00a0':
			case unicode.Is(unicode.C, r), unicode.Is(unicode.Mn, r) && r >= 0xfe00: // invisible
				continue
			}
			font, r := f.pick(p.font, r)
			if font != last {
				flush()
				last = font
			}
			b.WriteRune(r)
		}
		flush()
	}
	return out
}

// pick returns the font for a character, and the character to show.
func (f *pdfFile) pick(want int, r rune) (int, rune) {
	switch {
	case r == '\n':
		return want, r
	case r == '\t':
		return want, ' '
	case f.has(want, r):
		return want, r
	case f.ofMachine(r):
		if want == boldface || want == boldItalic {
			return machineBold, r
		}
		return machine, r
	case unicode.Is(unicode.Hangul, r):
		return korean, r
	case wide(r) && r <= 0xffff:
		return gothic, r
	}
	f.missing[r] = true
	return want, '?'
}

// ofMachine reports whether the machine's font has a letter that doesn't need joining.
func (f *pdfFile) ofMachine(r rune) bool {
	if !wide(r) && !unicode.In(r, unicode.Bopomofo) && (r < 0x2000 || r > 0x33ff) {
		return false
	}
	own := machineFont()
	if own == nil {
		return false
	}
	g, err := own.GlyphIndex(&f.buf, r)
	return err == nil && g != 0
}

func (f *pdfFile) width(list []piece) (w float64) {
	for _, p := range list {
		for _, r := range p.text {
			w += f.advance(p.font, r) * p.size / 1000
		}
	}
	return w
}

// noStart lists characters that must not begin a line.
const noStart = "，。、；：？！）》」』】〕…,.;:?!)]}%’”"

// wrap breaks pieces into lines: after spaces, between wide characters, and inside words longer than a
// line.
func (f *pdfFile) wrap(list []piece, room float64) (out [][]piece) {
	var line, word []piece
	lineWide, wordWide := 0.0, 0.0
	push := func(to *[]piece, p piece, s string) {
		if n := len(*to); n > 0 && same((*to)[n-1], p) {
			(*to)[n-1].text += s
			return
		}
		p.text = s
		*to = append(*to, p)
	}
	end := func() {
		out = append(out, line)
		line, lineWide = nil, 0
	}
	flush := func() {
		if lineWide > 0 && lineWide+wordWide > room {
			end()
		}
		for _, p := range word {
			push(&line, p, p.text)
		}
		lineWide += wordWide
		word, wordWide = nil, 0
	}
	prev := rune(0)
	for _, p := range list {
		for _, r := range p.text {
			w := f.advance(p.font, r) * p.size / 1000
			switch {
			case r == '\n':
				flush()
				end()
				prev = 0
				continue
			case r == ' ':
				flush()
				if p.font != mono && lineWide == 0 && len(out) > 0 {
					prev = r
					continue // no line begins with a space
				}
				if lineWide+w <= room || p.font == mono {
					push(&line, p, " ")
					lineWide += w
				}
				prev = r
				continue
			case (wide(r) || wide(prev)) && !strings.ContainsRune(noStart, r), wordWide+w > room:
				flush()
			}
			push(&word, p, string(r))
			wordWide += w
			prev = r
		}
	}
	flush()
	if len(line) > 0 || len(out) == 0 {
		end()
	}
	return out
}

func same(a, b piece) bool {
	return a.font == b.font && a.size == b.size && a.link == b.link && a.gray == b.gray && a.white == b.white && a.blue == b.blue && a.struck == b.struck
}
