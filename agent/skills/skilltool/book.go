package skilltool

import (
	"archive/zip"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"math"
	"path"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"
)

// Excel files are read and written here, as the library for them costs every start of the program
// more than a millisecond.

// maxPart bounds a part of a book, unpacked.
const maxPart = 512 << 20

// workbook is a book that is being read.
type workbook struct {
	files  map[string]*zip.File
	shared []string
	dates  []bool // whether a style is one of dates
	since  time.Time
	left   int // cells that may still come
}

func loadBook(file, only string) (out []grid, err error) {
	z, err := zip.OpenReader(file)
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", file, err)
	}
	defer z.Close()
	w := &workbook{files: map[string]*zip.File{}, left: maxCells}
	for _, f := range z.File {
		w.files[f.Name] = f
	}
	names, parts, err := w.open()
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", file, err)
	}
	for i, name := range names {
		if only != "" && name != only {
			continue
		}
		g := grid{name: name}
		if g.rows, err = w.sheet(parts[i]); err != nil {
			return nil, fmt.Errorf("read sheet %s of %s: %w", name, file, err)
		}
		if len(g.rows) > 0 {
			out = append(out, g.tidy())
		}
	}
	switch {
	case len(out) == 0 && only != "":
		return nil, fmt.Errorf("the book has no sheet %q with something in it; it has %s", only,
			strings.Join(names, ", "))
	case len(out) == 0:
		return nil, errors.New("the book is empty")
	}
	return out, nil
}

// open reads what the sheets have in common.
func (w *workbook) open() (names, parts []string, err error) {
	var book struct {
		Pr struct {
			Date1904 string `xml:"date1904,attr"`
		} `xml:"workbookPr"`
		Sheets []struct {
			Name string `xml:"name,attr"`
			ID   string `xml:"http://schemas.openxmlformats.org/officeDocument/2006/relationships id,attr"`
		} `xml:"sheets>sheet"`
	}
	var rels struct {
		List []struct {
			ID     string `xml:"Id,attr"`
			Target string `xml:"Target,attr"`
		} `xml:"Relationship"`
	}
	var strs struct {
		List []struct {
			Text string `xml:"t"`
			Runs []struct {
				Text string `xml:"t"`
			} `xml:"r"`
		} `xml:"si"`
	}
	var styles struct {
		Formats []struct {
			ID   int    `xml:"numFmtId,attr"`
			Code string `xml:"formatCode,attr"`
		} `xml:"numFmts>numFmt"`
		Cells []struct {
			ID int `xml:"numFmtId,attr"`
		} `xml:"cellXfs>xf"`
	}
	err = errors.Join(w.part("xl/workbook.xml", true, &book), w.part("xl/_rels/workbook.xml.rels", true, &rels),
		w.part("xl/sharedStrings.xml", false, &strs), w.part("xl/styles.xml", false, &styles))
	if err != nil {
		return nil, nil, err
	}
	w.since = time.Date(1899, 12, 30, 0, 0, 0, 0, time.UTC)
	if book.Pr.Date1904 == "1" || book.Pr.Date1904 == "true" {
		w.since = time.Date(1904, 1, 1, 0, 0, 0, 0, time.UTC)
	}
	for _, s := range strs.List {
		for _, r := range s.Runs {
			s.Text += r.Text
		}
		w.shared = append(w.shared, s.Text)
	}
	codes := map[int]string{}
	for _, f := range styles.Formats {
		codes[f.ID] = f.Code
	}
	for _, c := range styles.Cells {
		w.dates = append(w.dates, isDate(c.ID, codes[c.ID]))
	}
	for _, s := range book.Sheets {
		for _, r := range rels.List {
			if r.ID == s.ID {
				at := path.Join("xl", r.Target)
				if strings.HasPrefix(r.Target, "/") {
					at = r.Target[1:]
				}
				names, parts = append(names, s.Name), append(parts, at)
			}
		}
	}
	return names, parts, nil
}

// part reads a small part of the book.
func (w *workbook) part(name string, must bool, into any) error {
	f := w.files[name]
	if f == nil {
		if must {
			return fmt.Errorf("it has no %s", name)
		}
		return nil
	}
	r, err := f.Open()
	if err != nil {
		return err
	}
	defer r.Close()
	return xml.NewDecoder(io.LimitReader(r, maxPart)).Decode(into)
}

// isDate tells formats that show a number as a date or a time.
func isDate(id int, code string) bool {
	if id >= 14 && id <= 22 || id >= 27 && id <= 36 || id >= 45 && id <= 47 || id >= 50 && id <= 58 {
		return true
	}
	quoted, inside := false, false
	for i := 0; i < len(code); i++ {
		switch c := code[i]; {
		case c == '"':
			quoted = !quoted
		case quoted:
		case c == '\\' || c == '_' || c == '*':
			i++
		case c == '[' && i+1 < len(code) && strings.IndexByte("hHmMsS", code[i+1]) < 0:
			inside = true
		case c == ']':
			inside = false
		case !inside && strings.IndexByte("yYmMdDhHsS", c) >= 0:
			return true
		}
	}
	return false
}

// bookCell is a cell as the file has it.
type bookCell struct {
	Ref   string `xml:"r,attr"`
	Type  string `xml:"t,attr"`
	Style int    `xml:"s,attr"`
	Value string `xml:"v"`
	Text  string `xml:"is>t"`
	Runs  []struct {
		Text string `xml:"t"`
	} `xml:"is>r"`
}

func (w *workbook) sheet(name string) (out [][]string, err error) {
	f := w.files[name]
	if f == nil {
		return nil, nil // a chart
	}
	r, err := f.Open()
	if err != nil {
		return nil, err
	}
	defer r.Close()
	var row []string
	for d := xml.NewDecoder(io.LimitReader(r, maxPart)); ; {
		t, err := d.Token()
		if errors.Is(err, io.EOF) {
			return out, nil
		}
		if err != nil {
			return nil, err
		}
		if e, ok := t.(xml.EndElement); ok && e.Name.Local == "row" && len(row) > 0 {
			out, row = append(out, row), nil
		}
		e, ok := t.(xml.StartElement)
		if !ok || e.Name.Local != "c" {
			continue
		}
		var c bookCell
		if err := d.DecodeElement(&c, &e); err != nil {
			return nil, err
		}
		at := column(c.Ref)
		if at < 0 {
			at = len(row)
		}
		text := w.text(c)
		if at >= maxColumns || text == "" {
			continue
		}
		if w.left -= max(at-len(row), 0) + 1; w.left < 0 {
			return nil, fmt.Errorf("the book has more than %d cells", maxCells)
		}
		for len(row) <= at {
			row = append(row, "")
		}
		row[at] = text
	}
}

// column is the number of a column in a reference such as AB12, or -1.
func column(ref string) int {
	n := 0
	for _, c := range ref {
		if c < 'A' || c > 'Z' || n > maxColumns {
			break
		}
		n = n*26 + int(c-'A') + 1
	}
	return n - 1
}

// text is what a cell says: dates as 2006-01-02, numbers in full.
func (w *workbook) text(c bookCell) string {
	switch c.Type {
	case "s":
		if i, err := strconv.Atoi(c.Value); err == nil && i >= 0 && i < len(w.shared) {
			return w.shared[i]
		}
		return ""
	case "inlineStr":
		for _, r := range c.Runs {
			c.Text += r.Text
		}
		return c.Text
	case "b":
		return map[string]string{"1": "TRUE", "0": "FALSE"}[c.Value]
	case "", "n":
	default:
		return c.Value
	}
	v, err := strconv.ParseFloat(c.Value, 64)
	if err != nil {
		return c.Value
	}
	if c.Style < 0 || c.Style >= len(w.dates) || !w.dates[c.Style] || v < 0 || v > 3e6 {
		return strconv.FormatFloat(v, 'g', 15, 64)
	}
	at := w.since.Add(time.Duration(math.Round(v*86400)) * time.Second)
	switch {
	case v == math.Trunc(v):
		return at.Format("2006-01-02")
	case v < 1:
		return at.Format("15:04:05")
	}
	return at.Format("2006-01-02 15:04:05")
}

// book is tables as an Excel file; numbers are numbers there, and formulas are text.
func book(list []grid) ([]byte, error) {
	const ml = "application/vnd.openxmlformats-officedocument.spreadsheetml."
	const ns = `xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main"`
	types := `<Types xmlns="http://schemas.openxmlformats.org/package/2006/content-types">` +
		`<Default Extension="rels" ContentType="application/vnd.openxmlformats-package.relationships+xml"/>` +
		`<Default Extension="xml" ContentType="application/xml"/>` +
		`<Override PartName="/docProps/core.xml" ContentType="application/vnd.openxmlformats-package.core-properties+xml"/>` +
		`<Override PartName="/xl/workbook.xml" ContentType="` + ml + `sheet.main+xml"/>`
	rels := &relations{}
	sheets := ""
	var parts []part
	for n, g := range list {
		name := fmt.Sprintf("worksheets/sheet%d.xml", n+1)
		types += `<Override PartName="/xl/` + name + `" ContentType="` + ml + `worksheet+xml"/>`
		title := g.name
		if title == "" {
			title = fmt.Sprintf("Sheet%d", n+1)
		}
		sheets += fmt.Sprintf(`<sheet name="%s" sheetId="%d" r:id="%s"/>`, esc(title), n+1,
			rels.add("worksheet", name, false))
		var b strings.Builder
		b.WriteString(xmlHead + `<worksheet ` + ns + `><sheetData>`)
		for i, row := range append([][]string{g.head}, g.rows...) {
			b.WriteString(`<row>`)
			for _, cell := range row {
				if v, ok := number(cell); ok && i > 0 {
					b.WriteString(`<c><v>` + strconv.FormatFloat(v, 'g', -1, 64) + `</v></c>`)
				} else if utf8.RuneCountInString(cell) <= 32_767 { // more is not allowed
					b.WriteString(`<c t="inlineStr"><is><t xml:space="preserve">` + esc(cell) + `</t></is></c>`)
				} else {
					return nil, errors.New("a cell is longer than Excel allows; write CSV")
				}
			}
			b.WriteString(`</row>`)
		}
		b.WriteString(`</sheetData></worksheet>`)
		parts = append(parts, part{"xl/" + name, []byte(b.String())})
	}
	book := `<workbook ` + ns +
		` xmlns:r="http://schemas.openxmlformats.org/officeDocument/2006/relationships"><sheets>` + sheets +
		`</sheets></workbook>`
	return zipped(append([]part{{"[Content_Types].xml", []byte(xmlHead + types + `</Types>`)},
		rootRels("xl/workbook.xml"), {"xl/workbook.xml", []byte(xmlHead + book)},
		rels.part("xl/_rels/workbook.xml.rels"), coreProps(&doc{})}, parts...))
}
