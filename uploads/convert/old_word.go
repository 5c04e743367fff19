package convert

import (
	"slices"
	"strings"

	"golang.org/x/text/encoding/charmap"
)

// oldWordReader is a text document of Word 97 to 2003.
type oldWordReader struct {
	d     *draft
	main  []byte
	runs  []paragraphRun
	cells []string // cells of the row that is open
	rows  [][]string
	size  int // size of the table that is open
}

// paragraphRun describes the paragraphs between two offsets of the file.
type paragraphRun struct {
	from, to   uint32
	style      int
	row, table bool // it ends a row; it is in a table
}

const (
	fibEncrypted = 0x0100
	fibOneTable  = 0x0200
	maxPieces    = 100_000
)

func oldWord(d *draft, c *compoundFile) error {
	main := c.streams["WordDocument"]
	if u16(main, 0) != 0xA5EC && u16(main, 0) != 0xA5DC || len(main) < 0x20 {
		return Damaged
	}
	flags := u16(main, 10)
	if flags&fibEncrypted != 0 {
		return Encrypted
	}
	w := &oldWordReader{d: d, main: main}
	if u16(main, 2) < 0xC1 { // Word 6 and 95 keep the text in one piece
		from, to := int(u32(main, 0x18)), int(u32(main, 0x1C))
		w.text(part(main, from, to-from), true, uint32(from))
		w.flush()
		return nil
	}
	table := c.streams["0Table"]
	if flags&fibOneTable != 0 {
		table = c.streams["1Table"]
	}
	w.properties(part(table, int(u32(main, 0x102)), int(u32(main, 0x106))))
	clx := part(table, int(u32(main, 0x1A2)), int(u32(main, 0x1A6)))
	for len(clx) > 3 && clx[0] == 1 {
		clx = part(clx, 3+u16(clx, 1), len(clx))
	}
	if len(clx) < 5 || clx[0] != 2 {
		return Damaged
	}
	pieces := part(clx, 5, int(u32(clx, 1)))
	n := min((len(pieces)-4)/12, maxPieces)
	var paragraph []byte
	compressed, start := false, uint32(0)
	for i := range n {
		first, last := u32(pieces, 4*i), u32(pieces, 4*i+4)
		at := u32(pieces, 4*(n+1)+8*i+2)
		if last < first || last-first > maxPart {
			return Damaged
		}
		length := int(last - first)
		narrow := at&(1<<30) != 0
		if at &= 1<<30 - 1; narrow {
			at /= 2
		} else {
			length *= 2
		}
		if len(paragraph) > 0 {
			w.text(paragraph, compressed, start)
		}
		paragraph, compressed, start = part(main, int(at), length), narrow, at
	}
	w.text(paragraph, compressed, start)
	w.flush()
	return nil
}

// properties reads which style paragraphs have and which of them end rows, page by page.
func (w *oldWordReader) properties(plc []byte) {
	n := min((len(plc)-4)/8, maxPieces)
	for i := range n {
		page := part(w.main, int(u32(plc, 4*(n+1)+4*i)&0x3FFFFF)*512, 512)
		if len(page) < 512 {
			return
		}
		count := int(page[511])
		for j := range count {
			at := 4*(count+1) + 13*j
			if at >= 511 {
				break
			}
			run := paragraphRun{from: u32(page, 4*j), to: u32(page, 4*j+4)}
			at = 2 * int(page[at])
			if at == 0 || at >= 510 {
				continue
			}
			size := 2*int(page[at]) - 1
			if at++; size < 0 {
				size = 2 * int(page[at])
				at++
			}
			list := part(page, at, size)
			run.style = u16(list, 0)
			run.read(part(list, 2, len(list)))
			w.runs = append(w.runs, run)
		}
	}
	slices.SortFunc(w.runs, func(a, b paragraphRun) int { return int(int64(a.from) - int64(b.from)) })
}

// read extracts the relevant properties of a list.
func (r *paragraphRun) read(list []byte) {
	for len(list) > 2 {
		code, size := u16(list, 0), 0
		switch code >> 13 {
		case 0, 1:
			size = 1
		case 2, 4, 5:
			size = 2
		case 3:
			size = 4
		case 7:
			size = 3
		case 6:
			if size = int(list[2]) + 1; code == 0xD608 || code == 0xC615 {
				return // longer than a byte can express; the rest is irrelevant
			}
		}
		switch code {
		case 0x2416:
			r.table = list[2] != 0
		case 0x2417:
			r.row = list[2] != 0
		}
		list = part(list, 2+size, len(list))
	}
}

func (w *oldWordReader) run(at uint32) paragraphRun {
	i, found := slices.BinarySearchFunc(w.runs, at,
		func(r paragraphRun, at uint32) int { return int(int64(r.from) - int64(at)) })
	if !found {
		i--
	}
	if i < 0 || i >= len(w.runs) || at >= w.runs[i].to {
		return paragraphRun{}
	}
	return w.runs[i]
}

// text writes the paragraphs of a piece. Pieces end with paragraphs in all but files that
// were saved in haste; there a paragraph becomes two.
func (w *oldWordReader) text(b []byte, narrow bool, at uint32) {
	width := 2
	if narrow {
		width = 1
	}
	from := 0
	for i := 0; i+width <= len(b) && !w.d.full(); i += width {
		c := int(b[i])
		if !narrow {
			c = u16(b, i)
		}
		if c == '\r' || c == 7 || c == '\f' {
			w.paragraph(oldText(b[from:i], narrow), w.run(at+uint32(i)), c == 7)
			from = i + width
		}
	}
	w.paragraph(oldText(b[from:], narrow), w.run(at+uint32(from)), false)
}

// oldText returns text without field codes and marks of non-text objects.
func oldText(b []byte, narrow bool) string {
	s := ""
	if narrow {
		out, err := charmap.Windows1252.NewDecoder().Bytes(b)
		if err != nil {
			return ""
		}
		s = string(out)
	} else {
		s = utf16le(b)
	}
	depth := 0
	return strings.Map(func(r rune) rune {
		switch r {
		case 0x13:
			depth++
			return -1
		case 0x14, 0x15:
			depth = max(depth-1, 0)
			return -1
		case 0x0B:
			r = '\n'
		case 0x1E:
			r = '-'
		}
		if depth > 0 || r < ' ' && r != '\n' && r != '\t' {
			return -1
		}
		return r
	}, s)
}

func (w *oldWordReader) paragraph(text string, run paragraphRun, cell bool) {
	switch {
	case cell && run.row:
		if len(w.cells) > 0 {
			w.rows, w.cells = append(w.rows, w.cells), nil
		}
		return
	case cell, run.table && text != "": // a cell may have several paragraphs
		if w.size += len(text) + 16; w.size > maxText {
			w.d.lack(Long)
			return
		}
		w.cells = append(w.cells, text)
		return
	case strings.TrimSpace(text) == "":
		return
	}
	w.flush()
	if run.style >= 1 && run.style <= 9 {
		w.d.heading(run.style, text)
	} else {
		w.d.block(text)
	}
}

// flush writes the table that is open.
func (w *oldWordReader) flush() {
	if len(w.cells) > 0 {
		w.rows = append(w.rows, w.cells)
	}
	w.d.table(w.rows)
	w.rows, w.cells, w.size = nil, nil, 0
}
