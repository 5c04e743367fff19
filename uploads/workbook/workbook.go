// Package workbook reads workbooks of Excel's kind (XLSX) row by row. It is the only such reader: the converter and the
// skills' table tool use it, and the file panel and the built-in model read the converter's output. It locates parts by
// their relations, accepts cells without references, and keeps uncalculated formulas.
package workbook

import (
	"archive/zip"
	"cmp"
	"encoding/xml"
	"errors"
	"io"
	"path"
	"strconv"
	"strings"

	"golang.org/x/net/html/charset"
	"golang.org/x/text/encoding/unicode"
	"golang.org/x/text/transform"
)

// Limits of the texts that sheets share.
const (
	maxTexts     = 2_000_000
	maxTextBytes = 64 << 20
	maxSheets    = 10_000
	maxFormats   = 100_000
)

// Source opens a part of a workbook by name, such as xl/workbook.xml. A missing one is nil.
type Source func(part string) (io.ReadCloser, error)

// Zip opens the parts of an archive, each up to a limit of bytes unpacked. Names are found in any
// case, and with backslashes, where no part has just that name.
func Zip(z *zip.Reader, limit int64) Source {
	files, other := map[string]*zip.File{}, map[string]*zip.File{}
	for _, f := range z.File {
		files[f.Name] = f
		other[strings.ToLower(strings.TrimPrefix(strings.ReplaceAll(f.Name, `\`, "/"), "/"))] = f
	}
	return func(part string) (io.ReadCloser, error) {
		f := files[part]
		if f == nil {
			f = other[strings.ToLower(part)]
		}
		if f == nil {
			return nil, nil
		}
		r, err := f.Open()
		if err != nil {
			return nil, err
		}
		return struct {
			io.Reader
			io.Closer
		}{io.LimitReader(r, limit), r}, nil
	}
}

// Sheet is one of a workbook.
type Sheet struct {
	Name   string
	Hidden bool
	Part   string // its path in the archive
}

// Book is an opened workbook.
type Book struct {
	Sheets []Sheet
	// Damaged means that a part ended early. The rows before that were read.
	Damaged bool
	// Cut means that there are more texts than the limit.
	Cut bool

	open      Source
	texts     []string
	formats   []format // by style
	since1904 bool
	// stale means that formulas must be recalculated on opening: programs that don't calculate write a 0 instead.
	stale bool
}

// Open reads the data common to a workbook's sheets. Errors are those of the source.
func Open(open Source) (*Book, error) {
	b := &Book{open: open}
	_, kinds, err := b.relations("")
	if err != nil {
		return nil, err
	}
	main := cmp.Or(kinds["officeDocument"], "xl/workbook.xml")
	ids, kinds, err := b.relations(main)
	if err != nil {
		return nil, err
	}
	err = b.elements(main, func(e xml.StartElement) {
		switch e.Name.Local {
		case "workbookPr":
			v := attr(e, "date1904")
			b.since1904 = v == "1" || v == "true"
		case "calcPr":
			v := attr(e, "fullCalcOnLoad")
			b.stale = v == "1" || v == "true"
		case "sheet":
			if state := attr(e, "state"); len(b.Sheets) < maxSheets {
				b.Sheets = append(b.Sheets, Sheet{Name: attr(e, "name"), Part: ids[attr(e, "id")],
					Hidden: state != "" && state != "visible"})
			}
		}
	})
	if err == nil {
		err = b.styles(cmp.Or(kinds["styles"], "xl/styles.xml"))
	}
	if err == nil {
		err = b.shared(cmp.Or(kinds["sharedStrings"], "xl/sharedStrings.xml"))
	}
	return b, err
}

// relations returns the targets of a part's relations by their ids, and by their kinds.
func (b *Book) relations(of string) (ids, kinds map[string]string, err error) {
	ids, kinds = map[string]string{}, map[string]string{}
	dir, base := path.Split(of)
	err = b.elements(dir+"_rels/"+base+".rels", func(e xml.StartElement) {
		if e.Name.Local != "Relationship" || attr(e, "TargetMode") == "External" {
			return
		}
		target := strings.ReplaceAll(attr(e, "Target"), `\`, "/")
		if !path.IsAbs(target) {
			target = "/" + dir + target
		}
		target = strings.TrimPrefix(path.Clean(target), "/")
		ids[attr(e, "Id")] = target
		kinds[path.Base(attr(e, "Type"))] = target
	})
	return ids, kinds, err
}

func (b *Book) styles(part string) error {
	codes := map[string]string{}
	cells := false
	return b.stream(part, func(tok xml.Token) bool {
		switch t := tok.(type) {
		case xml.StartElement:
			switch t.Name.Local {
			case "numFmt":
				codes[attr(t, "numFmtId")] = attr(t, "formatCode")
			case "cellXfs":
				cells = true
			case "xf":
				if !cells {
					break
				}
				id := attr(t, "numFmtId")
				code, own := codes[id]
				if !own {
					code = Builtin(number(id))
				}
				b.formats = append(b.formats, parseFormat(code))
			}
		case xml.EndElement:
			cells = cells && t.Name.Local != "cellXfs"
		}
		return len(b.formats) < maxFormats
	})
}

// shared reads the table of texts, without phonetic hints.
func (b *Book) shared(part string) error {
	var text strings.Builder
	size, inText, spoken := 0, false, false
	return b.stream(part, func(tok xml.Token) bool {
		switch t := tok.(type) {
		case xml.StartElement:
			inText = inText || t.Name.Local == "t"
			spoken = spoken || t.Name.Local == "rPh"
		case xml.CharData:
			if inText && !spoken {
				text.Write(t)
			}
		case xml.EndElement:
			switch t.Name.Local {
			case "t":
				inText = false
			case "rPh":
				spoken = false
			case "si":
				b.texts = append(b.texts, unescape(text.String()))
				size += text.Len()
				text.Reset()
			}
		}
		b.Cut = b.Cut || size > maxTextBytes || len(b.texts) > maxTexts
		return !b.Cut
	})
}

// Cell is a cell with something in it.
type Cell struct {
	// Column is counted from 0.
	Column int

	book    *Book
	kind    string
	style   int
	value   string
	formula string
}

// Rows calls do with the cells of each row of a sheet that has some, in order, until do returns false.
// do does not keep the cells.
func (b *Book) Rows(s Sheet, do func(cells []Cell) bool) error {
	if s.Part == "" {
		return nil
	}
	var (
		row                       []Cell
		cell                      Cell
		value, formula            strings.Builder
		taking, spoken, inFormula bool
		next                      int
	)
	return b.stream(s.Part, func(tok xml.Token) bool {
		switch t := tok.(type) {
		case xml.StartElement:
			switch t.Name.Local {
			case "row":
				row, next = row[:0], 0
			case "c":
				cell = Cell{Column: next, book: b}
				value.Reset()
				formula.Reset()
				for _, a := range t.Attr {
					switch a.Name.Local {
					case "r":
						if n := column(a.Value); n >= 0 {
							cell.Column = n
						}
					case "s":
						cell.style = number(a.Value)
					case "t":
						cell.kind = a.Value
					}
				}
				next = cell.Column + 1
			case "v", "t":
				taking = !spoken
			case "f":
				inFormula = true
			case "rPh":
				spoken = true
			}
		case xml.CharData:
			switch {
			case taking:
				value.Write(t)
			case inFormula:
				formula.Write(t)
			}
		case xml.EndElement:
			switch t.Name.Local {
			case "v", "t":
				taking = false
			case "f":
				inFormula = false
			case "rPh":
				spoken = false
			case "c":
				if cell.value, cell.formula = value.String(), formula.String(); cell.value != "" || cell.formula != "" {
					row = append(row, cell)
				}
			case "row":
				if len(row) > 0 {
					return do(row)
				}
			}
		}
		return true
	})
}

// Shown returns the cell as people see it, with dates as in 2026-03-09, which means the same everywhere. A formula
// without a value is shown itself.
func (c Cell) Shown() string {
	if v, ok := c.number(); ok {
		return c.format().show(v, c.book.since1904)
	}
	return c.text()
}

// Value returns the cell as data: numbers with all their digits and without units, moments as in 2026-03-09 18:00:00.
func (c Cell) Value() string {
	if v, ok := c.number(); ok {
		return c.format().value(v, c.book.since1904)
	}
	return c.text()
}

// number returns the value of a cell that isn't text.
func (c Cell) number() (float64, bool) {
	if c.uncalculated() {
		return 0, false
	}
	switch c.kind {
	case "", "n":
		v, err := strconv.ParseFloat(strings.TrimSpace(c.value), 64)
		return v, err == nil
	}
	return 0, false
}

func (c Cell) format() format {
	if c.style < 0 || c.style >= len(c.book.formats) {
		return format{plain: true}
	}
	return c.book.formats[c.style]
}

// uncalculated reports whether a cell's formula was never calculated.
func (c Cell) uncalculated() bool {
	return c.formula != "" && (c.value == "" || c.value == "0" && c.book.stale)
}

func (c Cell) text() string {
	if c.uncalculated() {
		return "=" + unescape(c.formula)
	}
	switch c.kind {
	case "s":
		if n, err := strconv.Atoi(strings.TrimSpace(c.value)); err == nil && n >= 0 && n < len(c.book.texts) {
			return c.book.texts[n]
		}
		return ""
	case "b":
		if c.value == "1" || c.value == "true" {
			return "TRUE"
		}
		return "FALSE"
	case "d": // an ISO 8601 date
		if day, clock, both := strings.Cut(c.value, "T"); both {
			clock = strings.TrimSuffix(strings.TrimSuffix(clock, "Z"), ".000")
			return strings.TrimSuffix(strings.TrimSpace(day+" "+clock), " 00:00:00")
		}
	}
	return unescape(c.value)
}

// elements calls do with each element of a part as it begins.
func (b *Book) elements(part string, do func(xml.StartElement)) error {
	return b.stream(part, func(tok xml.Token) bool {
		if e, ok := tok.(xml.StartElement); ok {
			do(e)
		}
		return true
	})
}

// stream calls do with each token of a part until it returns false. A damaged end is recorded, and the content before
// it counts.
func (b *Book) stream(part string, do func(xml.Token) bool) error {
	r, err := b.open(part)
	if err != nil || r == nil {
		return err
	}
	defer r.Close()
	source := &failing{Reader: r}
	dec := xml.NewDecoder(transform.NewReader(source, unicode.BOMOverride(transform.Nop)))
	dec.Strict = false
	dec.CharsetReader = func(label string, r io.Reader) (io.Reader, error) {
		if strings.HasPrefix(strings.ToLower(label), "utf-16") {
			return r, nil // decoded by its byte order mark
		}
		return charset.NewReaderLabel(label, r)
	}
	for {
		tok, err := dec.RawToken()
		switch {
		case errors.Is(err, io.EOF):
			return nil
		case source.err != nil:
			return source.err
		case err != nil:
			b.Damaged = true
			return nil
		}
		if !do(tok) {
			return nil
		}
	}
}

// failing remembers the error of a source, which doesn't mean damaged XML.
type failing struct {
	io.Reader
	err error
}

func (f *failing) Read(p []byte) (int, error) {
	n, err := f.Reader.Read(p)
	if err != nil && !errors.Is(err, io.EOF) {
		f.err = err
	}
	return n, err
}

// attr returns an attribute by its name without a prefix.
func attr(e xml.StartElement, name string) string {
	for _, a := range e.Attr {
		if a.Name.Local == name {
			return a.Value
		}
	}
	return ""
}

// unescape reads characters that XML can't have as Excel writes them: _x000D_ is a carriage return.
func unescape(s string) string {
	if !strings.Contains(s, "_x") {
		return s
	}
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if strings.HasPrefix(s[i:], "_x") && i+7 <= len(s) && s[i+6] == '_' {
			if n, err := strconv.ParseUint(s[i+2:i+6], 16, 16); err == nil {
				b.WriteRune(rune(n))
				i += 6
				continue
			}
		}
		b.WriteByte(s[i])
	}
	return b.String()
}

// column returns the number of a column, counted from 0, in a reference such as AB12, or -1.
func column(ref string) int {
	n := 0
	for _, c := range ref {
		if c < 'A' || c > 'Z' || n > 1<<20 {
			break
		}
		n = n*26 + int(c-'A') + 1
	}
	return n - 1
}

// number returns a small number of an attribute; nonsense is 0.
func number(s string) int {
	n, err := strconv.Atoi(s)
	if err != nil {
		return 0
	}
	return n
}
