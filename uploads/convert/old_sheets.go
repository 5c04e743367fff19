package convert

import (
	"encoding/binary"
	"math"

	"fawn/uploads/charset"
	"fawn/uploads/workbook"
)

// Records of a workbook. A number in a name denotes an older version.
const (
	recInteger2 = 0x02
	recNumber2  = 0x03
	recLabel2   = 0x04
	recBool2    = 0x05
	recFormula  = 0x06
	recResult2  = 0x07
	recBegin2   = 0x09
	recEnd      = 0x0A
	recFormat2  = 0x1E
	recEpoch    = 0x22
	recPassword = 0x2F
	recMore     = 0x3C
	recCodePage = 0x42
	recSheet    = 0x85
	recSheet4   = 0x8F
	recRKs      = 0xBD
	recRich     = 0xD6
	recStyle    = 0xE0
	recTexts    = 0xFC
	recTextNo   = 0xFD
	recNumber   = 0x203
	recLabel    = 0x204
	recBool     = 0x205
	recFormula3 = 0x206
	recResult   = 0x207
	recBegin3   = 0x209
	recStyle3   = 0x243
	recRK       = 0x27E
	recFormula4 = 0x406
	recBegin4   = 0x409
	recFormat   = 0x41E
	recStyle4   = 0x443
	recBegin    = 0x809
)

// Kinds of streams, by their first record.
const (
	forSheet     = 0x10
	forWorkspace = 0x100
)

// oldBook is a workbook of Excel 2 to 2003.
type oldBook struct {
	d       *draft
	version int // 2, 3, 4, 5 (which is 95, too) or 8
	page    string
	texts   []string
	codes   map[int]string // format codes
	styles  []int          // format numbers
	formats map[int]workbook.Format
	epoch   bool
	cells   int
	sheets  int // number of sheets begun
}

// isRawBook reports whether data is a workbook of Excel 2 to 95 without a container around it.
func isRawBook(data []byte) bool {
	switch u16(data, 0) {
	case recBegin2, recBegin3, recBegin4, recBegin:
		n := u16(data, 2)
		return len(data) > 8 && n >= 4 && n <= 16 && u16(data, 4) <= 0x600
	}
	return false
}

// oldRecord is a record with its continuations.
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
	w := &oldBook{d: d, page: "windows-1252", codes: map[int]string{}, formats: map[int]workbook.Format{}}
	switch u16(b, 0) {
	case recBegin2:
		w.version = 2
	case recBegin3:
		w.version = 3
	case recBegin4:
		w.version = 4
	default:
		if w.version = 5; u16(b, 4) >= 0x600 {
			w.version = 8
		}
	}
	if kind := u16(b, 6); w.version < 5 || kind == forSheet {
		return w.alone(b)
	}
	type sheet struct {
		at   int
		name string
	}
	var sheets []sheet
	locked := false
	records(b, 0, func(r oldRecord) bool {
		p := r.parts[0]
		switch r.kind {
		case recPassword:
			locked = true
			return false
		case recSheet:
			if len(p) > 7 && p[5] == 0 && len(sheets) < maxWide {
				name := w.short(p[6:])
				if p[4]&3 != 0 {
					name += " (hidden)"
				}
				sheets = append(sheets, sheet{int(u32(p, 0)), name})
			}
		default:
			w.global(r)
		}
		return r.kind != recEnd
	})
	if locked {
		return Encrypted
	}
	for i, s := range sheets {
		d.sheet(i+1, s.name)
		w.sheet(b, s.at)
		d.step(i+1, len(sheets))
	}
	return nil
}

// alone reads sheets without a table of contents: a single one, or those of an Excel 4 workspace, each after its name.
func (w *oldBook) alone(b []byte) error {
	name, locked := "", false
	at := 0
	records(b, 0, func(r oldRecord) bool {
		from := at
		for _, p := range r.parts {
			at += 4 + len(p)
		}
		p := r.parts[0]
		switch r.kind {
		case recPassword:
			locked = true
			return false
		case recSheet4:
			name = w.short(part(p, 4, len(p)))
		case recBegin2, recBegin3, recBegin4, recBegin:
			if u16(p, 2) == forWorkspace || w.sheets >= maxWide {
				break
			}
			w.sheets++
			w.codes, w.styles, w.formats = map[int]string{}, nil, map[int]workbook.Format{}
			records(b, from, func(r oldRecord) bool { // formats may follow the cells
				w.global(r)
				return r.kind != recEnd
			})
			w.d.sheet(w.sheets, name)
			w.sheet(b, from)
		}
		return true
	})
	if locked {
		return Encrypted
	}
	return nil
}

// global reads settings for all cells.
func (w *oldBook) global(r oldRecord) {
	p := r.parts[0]
	switch r.kind {
	case recEpoch:
		w.epoch = u16(p, 0) == 1
	case recCodePage:
		if name := charset.CodePage(u16(p, 0)); name != "" {
			w.page = name
		}
	case recFormat2:
		w.codes[len(w.codes)] = w.short(p)
	case recFormat:
		switch w.version {
		case 8:
			w.codes[u16(p, 0)] = w.long(p, 2)
		case 4:
			w.codes[len(w.codes)] = w.short(part(p, 2, len(p)))
		default:
			w.codes[u16(p, 0)] = w.short(part(p, 2, len(p)))
		}
	case recStyle:
		w.styles = append(w.styles, u16(p, 2))
	case recStyle3, recStyle4:
		if len(p) > 1 {
			w.styles = append(w.styles, int(p[1]))
		}
	case recTexts:
		w.table(r.parts)
	}
}

// short returns a text with its length in a byte, long one with it in two.
func (w *oldBook) short(b []byte) string {
	if len(b) < 1 {
		return ""
	}
	if w.version < 8 {
		return w.narrow(part(b, 1, int(b[0])))
	}
	return unicodeText(part(b, 1, len(b)), int(b[0]))
}

func (w *oldBook) long(b []byte, at int) string {
	n := u16(b, at)
	if w.version < 8 {
		return w.narrow(part(b, at+2, n))
	}
	return unicodeText(part(b, at+2, len(b)), n)
}

// narrow decodes text in the code page of the file.
func (w *oldBook) narrow(b []byte) string {
	t, err := charset.As(w.page, b)
	if err != nil {
		return ""
	}
	return t.String
}

// unicodeText reads n characters after a byte of flags.
func unicodeText(b []byte, n int) string {
	if len(b) < 1 {
		return ""
	}
	if b[0]&1 != 0 {
		return utf16le(part(b, 1, 2*n))
	}
	return narrowText(part(b, 1, n))
}

// narrowText decodes text in the first 256 characters of Unicode.
func narrowText(b []byte) string {
	s := make([]rune, len(b))
	for i, c := range b {
		s[i] = rune(c)
	}
	return string(s)
}

// table reads the texts of all sheets. One may continue in the next part, in another width.
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
		case recBegin, recBegin2, recBegin3, recBegin4:
			depth++
			return true
		case recEnd:
			depth--
			return depth > 0
		}
		if depth > 1 { // a chart in the sheet
			return true
		}
		r0, c0, style := u16(p, 0), u16(p, 2), w.style(u16(p, 4))
		switch r.kind {
		case recInteger2, recNumber2, recLabel2, recBool2:
			if len(p) < 8 {
				return true
			}
			style = int(p[5] & 0x3F)
			switch r.kind {
			case recInteger2:
				put(r0, c0, w.show(float64(u16(p, 7)), style))
			case recNumber2:
				put(r0, c0, w.show(float(p, 7), style))
			case recLabel2:
				put(r0, c0, w.short(p[7:]))
			default:
				put(r0, c0, flagText(part(p, 7, 2)))
			}
		case recTextNo:
			if i := int(u32(p, 6)); i < len(w.texts) {
				put(r0, c0, w.texts[i])
			}
		case recLabel, recRich:
			put(r0, c0, w.long(p, 6))
		case recNumber:
			put(r0, c0, w.show(float(p, 6), style))
		case recRK:
			put(r0, c0, w.show(packed(u32(p, 6)), style))
		case recRKs:
			for i := 4; i+8 <= len(p); i += 6 {
				put(r0, c0+(i-4)/6, w.show(packed(u32(p, i+2)), w.style(u16(p, i))))
			}
		case recBool:
			put(r0, c0, flagText(part(p, 6, 2)))
		case recFormula, recFormula3, recFormula4:
			result := part(p, 6, 8)
			if w.version == 2 && len(p) > 5 {
				result, style = part(p, 7, 8), int(p[5]&0x3F)
			}
			row, column = r0, c0 // of the text that may follow
			switch {
			case len(result) < 8:
			case u16(result, 6) != 0xFFFF:
				put(row, column, w.show(float(result, 0), style))
			case result[0] == 1 || result[0] == 2:
				put(row, column, flagText([]byte{result[2], result[0] - 1}))
			}
		case recResult:
			put(row, column, w.long(p, 0))
		case recResult2:
			put(row, column, w.short(p))
		}
		if w.cells > maxCells || size > maxText {
			w.d.lack(Long)
			return false
		}
		return true
	})
	w.d.table(rows)
}

// flagText returns a truth value or, if the second byte is set, an error.
func flagText(b []byte) string {
	switch {
	case len(b) < 2:
		return ""
	case b[1] != 0:
		return map[byte]string{0: "#NULL!", 7: "#DIV/0!", 15: "#VALUE!", 23: "#REF!", 29: "#NAME?", 36: "#NUM!",
			42: "#N/A"}[b[0]]
	case b[0] == 1:
		return "TRUE"
	}
	return "FALSE"
}

// style returns the number of the format of cells in a style.
func (w *oldBook) style(n int) int {
	if n < len(w.styles) {
		return w.styles[n]
	}
	return 0
}

func (w *oldBook) show(v float64, format int) string {
	code, own := w.codes[format]
	if !own {
		code = workbook.Builtin(format)
	}
	f, known := w.formats[format]
	if !known {
		f = workbook.NewFormat(code)
		w.formats[format] = f
	}
	return f.Show(v, w.epoch)
}

func float(b []byte, at int) float64 {
	if at+8 > len(b) {
		return 0
	}
	return math.Float64frombits(binary.LittleEndian.Uint64(b[at:]))
}

// packed returns a number in 30 bits: a whole one or the upper part of another, perhaps times 100.
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
