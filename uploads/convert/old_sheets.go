package convert

import (
	"encoding/binary"
	"math"
	"strconv"

	"golang.org/x/text/encoding/charmap"
)

// Records of a workbook.
const (
	recFormula  = 0x06
	recEnd      = 0x0A
	recEpoch    = 0x22
	recPassword = 0x2F
	recMore     = 0x3C
	recSheet    = 0x85
	recRKs      = 0xBD
	recStyle    = 0xE0
	recTexts    = 0xFC
	recTextNo   = 0xFD
	recNumber   = 0x203
	recLabel    = 0x204
	recBool     = 0x205
	recResult   = 0x207
	recRK       = 0x27E
	recFormat   = 0x41E
	recBegin    = 0x809
)

// oldBook is a workbook of Excel 5 to 2003.
type oldBook struct {
	d       *draft
	texts   []string
	formats []numberFormat
	epoch   bool
	wide    bool // texts are Unicode, as since 97
	cells   int
}

// oldRecord is one record with those that continue it.
type oldRecord struct {
	kind  int
	parts [][]byte
}

// records calls do with each record from a place on until it has enough.
func records(b []byte, at int, do func(r oldRecord) bool) {
	for at >= 0 && at+4 <= len(b) {
		r := oldRecord{kind: u16(b, at)}
		n := u16(b, at+2)
		r.parts = append(r.parts, part(b, at+4, n))
		at += 4 + n
		for u16(b, at) == recMore && at+4 <= len(b) {
			n = u16(b, at+2)
			r.parts = append(r.parts, part(b, at+4, n))
			at += 4 + n
		}
		if !do(r) {
			return
		}
	}
}

func oldWorkbook(d *draft, b []byte) error {
	w := &oldBook{d: d, wide: u16(b, 4) >= 0x600}
	type sheet struct {
		at   int
		name string
	}
	var sheets []sheet
	var styles []int
	codes := map[int]string{}
	locked := false
	records(b, 0, func(r oldRecord) bool {
		p := r.parts[0]
		switch r.kind {
		case recPassword:
			locked = true
			return false
		case recEpoch:
			w.epoch = u16(p, 0) == 1
		case recSheet:
			if len(p) > 7 && p[5] == 0 && len(sheets) < maxWide {
				name := w.short(p[6:])
				if p[4]&3 != 0 {
					name += " (hidden)"
				}
				sheets = append(sheets, sheet{int(u32(p, 0)), name})
			}
		case recFormat:
			if w.wide {
				codes[u16(p, 0)] = w.long(p, 2)
			} else {
				codes[u16(p, 0)] = w.short(part(p, 2, len(p)))
			}
		case recStyle:
			styles = append(styles, u16(p, 2))
		case recTexts:
			w.table(r.parts)
		}
		return r.kind != recEnd
	})
	if locked {
		return Encrypted
	}
	for _, s := range styles {
		code, own := codes[s]
		if !own {
			code = builtinFormat(strconv.Itoa(s))
		}
		w.formats = append(w.formats, parseFormat(code))
	}
	for i, s := range sheets {
		d.anchor("sheet", i+1)
		d.heading(2, s.name)
		w.sheet(b, s.at)
		d.step(i+1, len(sheets))
	}
	return nil
}

// short is a text with its length in a byte, long one with it in two.
func (w *oldBook) short(b []byte) string {
	if len(b) < 1 {
		return ""
	}
	if !w.wide {
		return latin(part(b, 1, int(b[0])))
	}
	return unicodeText(part(b, 1, len(b)), int(b[0]))
}

func (w *oldBook) long(b []byte, at int) string {
	n := u16(b, at)
	if !w.wide {
		return latin(part(b, at+2, n))
	}
	return unicodeText(part(b, at+2, len(b)), n)
}

func latin(b []byte) string {
	s, err := charmap.Windows1252.NewDecoder().Bytes(b)
	if err != nil {
		return ""
	}
	return string(s)
}

// unicodeText has n characters behind a byte of flags.
func unicodeText(b []byte, n int) string {
	if len(b) < 1 {
		return ""
	}
	if b[0]&1 != 0 {
		return utf16le(part(b, 1, 2*n))
	}
	return narrowText(part(b, 1, n))
}

// narrowText has the first 256 characters of Unicode.
func narrowText(b []byte) string {
	s := make([]rune, len(b))
	for i, c := range b {
		s[i] = rune(c)
	}
	return string(s)
}

// table reads the texts of all sheets. One may go on in the next part, in another width.
func (w *oldBook) table(parts [][]byte) {
	b := part(parts[0], 8, len(parts[0]))
	parts = parts[1:]
	size := 0
	more := func() bool {
		if len(b) == 0 && len(parts) > 0 {
			b, parts = parts[0], parts[1:]
		}
		return len(b) > 0
	}
	for more() && len(b) >= 3 && len(w.texts) < maxCells && size < maxPart {
		n, flags := u16(b, 0), b[2]
		b = b[3:]
		skip := 0
		if flags&8 != 0 {
			skip += 4 * u16(b, 0)
			b = part(b, 2, len(b))
		}
		if flags&4 != 0 {
			skip += int(u32(b, 0) & 0xFFFFFF)
			b = part(b, 4, len(b))
		}
		text := ""
		for n > 0 && (len(b) > 0 || len(parts) > 0) {
			if len(b) == 0 {
				if b, parts = parts[0], parts[1:]; len(b) == 0 {
					continue
				}
				flags, b = b[0], b[1:]
			}
			take := min(n, len(b))
			if flags&1 != 0 {
				if take = min(n, len(b)/2); take == 0 {
					b = nil
					continue
				}
				text += utf16le(b[:2*take])
				b = b[2*take:]
			} else {
				text += narrowText(b[:take])
				b = b[take:]
			}
			n -= take
		}
		for skip > 0 && more() {
			take := min(skip, len(b))
			b, skip = b[take:], skip-take
		}
		w.texts = append(w.texts, text)
		size += len(text)
	}
}

// sheet reads the cells of one sheet.
func (w *oldBook) sheet(b []byte, at int) {
	var rows [][]string
	size, depth, row, column := 0, 0, 0, 0
	last := -1
	put := func(r, c int, text string) {
		if w.cells++; text == "" {
			return
		}
		if c >= maxWide || r >= maxRows {
			w.d.lack(Long)
			return
		}
		if r != last || len(rows) == 0 {
			rows, last = append(rows, nil), r
		}
		line := &rows[len(rows)-1]
		for len(*line) <= c {
			*line = append(*line, "")
		}
		(*line)[c] = text
		size += len(text) + 3
	}
	records(b, at, func(r oldRecord) bool {
		p := r.parts[0]
		switch r.kind {
		case recBegin:
			depth++
			return true
		case recEnd:
			depth--
			return depth > 0
		}
		if depth > 1 { // a chart in the sheet
			return true
		}
		if r.kind != recResult {
			row, column = u16(p, 0), u16(p, 2)
		}
		style := u16(p, 4)
		switch r.kind {
		case recTextNo:
			if i := int(u32(p, 6)); i < len(w.texts) {
				put(row, column, w.texts[i])
			}
		case recLabel:
			put(row, column, w.long(p, 6))
		case recNumber:
			put(row, column, w.show(float(p, 6), style))
		case recRK:
			put(row, column, w.show(packed(u32(p, 6)), style))
		case recRKs:
			for i := 4; i+8 <= len(p); i += 6 {
				put(row, column+(i-4)/6, w.show(packed(u32(p, i+2)), u16(p, i)))
			}
		case recBool:
			if len(p) > 7 && p[7] == 0 {
				put(row, column, map[bool]string{true: "TRUE", false: "FALSE"}[p[6] == 1])
			}
		case recFormula:
			if len(p) >= 14 && u16(p, 12) != 0xFFFF {
				put(row, column, w.show(float(p, 6), style))
			} else if len(p) >= 14 && p[6] == 1 {
				put(row, column, map[bool]string{true: "TRUE", false: "FALSE"}[p[8] == 1])
			}
		case recResult:
			put(row, column, w.long(p, 0))
		}
		if w.cells > maxCells || size > maxText {
			w.d.lack(Long)
			return false
		}
		return true
	})
	w.d.table(rows)
}

func (w *oldBook) show(v float64, style int) string {
	if style >= len(w.formats) {
		return general(v)
	}
	return w.formats[style].show(v, w.epoch)
}

func float(b []byte, at int) float64 {
	if at+8 > len(b) {
		return 0
	}
	return math.Float64frombits(binary.LittleEndian.Uint64(b[at:]))
}

// packed is a number in 30 bits: a whole one or the upper part of another, perhaps times 100.
func packed(n uint32) float64 {
	v := float64(int32(n) >> 2)
	if n&2 == 0 {
		v = math.Float64frombits(uint64(n&^3) << 32)
	}
	if n&1 != 0 {
		v /= 100
	}
	return v
}
