package convert

import (
	"bytes"
	"cmp"
	"encoding/xml"
	"errors"
	"io"
	"slices"
	"strconv"
	"strings"
)

// What a workbook may hold at most.
const (
	maxCells = 2_000_000
	maxRows  = 200_000 // of one sheet
	maxWide  = 1_000   // columns
)

// workbookReader is a workbook of Excel's kind. Sheets are streamed: they can be far larger
// than what is kept of them.
type workbookReader struct {
	d       *draft
	a       *archive
	texts   []string
	formats []numberFormat // by style
	epoch   bool           // days are counted from 1904
	cells   int
}

// workbook reads all sheets with their values as they are shown; dates are written as in
// 2026-03-09, which means the same everywhere.
func workbook(d *draft, a *archive) error {
	w := &workbookReader{d: d, a: a}
	book, err := a.tree("xl/workbook.xml")
	if err != nil {
		return err
	}
	rel, err := a.relations("xl/workbook.xml")
	if err != nil {
		return err
	}
	epoch := book.kid("workbook", "workbookPr").attr("date1904")
	w.epoch = epoch == "1" || epoch == "true"
	if err := w.styles(cmp.Or(rel.byKind["styles"], "xl/styles.xml")); err != nil {
		return err
	}
	if err := w.strings(cmp.Or(rel.byKind["sharedStrings"], "xl/sharedStrings.xml")); err != nil {
		return err
	}
	sheets := book.all("sheet")
	for i, s := range sheets {
		d.anchor("sheet", i+1)
		title := s.attr("name")
		if state := s.attr("state"); state != "" && state != "visible" {
			title += " (hidden)"
		}
		d.heading(2, title)
		if err := w.sheet(rel.byID[s.attr("id")]); err != nil {
			return err
		}
		d.step(i+1, len(sheets))
	}
	return nil
}

func (w *workbookReader) styles(part string) error {
	t, err := w.a.tree(part)
	if err != nil {
		return err
	}
	codes := map[string]string{}
	for _, f := range t.all("numFmt") {
		codes[f.attr("numFmtId")] = f.attr("formatCode")
	}
	for _, xfs := range t.all("cellXfs") {
		for _, xf := range xfs.all("xf") {
			id := xf.attr("numFmtId")
			code, own := codes[id]
			if !own {
				code = builtinFormat(id)
			}
			w.formats = append(w.formats, parseFormat(code))
		}
	}
	return nil
}

// stream calls do with each token of a part until it is through. A damaged end is told, and
// what came before it stays.
func (w *workbookReader) stream(part string, do func(xml.Token) bool) error {
	b, err := w.a.read(part)
	if err != nil || b == nil {
		return err
	}
	dec := xml.NewDecoder(bytes.NewReader(b))
	dec.Strict = false
	for {
		tok, err := dec.RawToken()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			w.d.lack(Damaged)
			return nil
		}
		if !do(tok) {
			return nil
		}
	}
}

// strings reads the table of texts, without what says how they are spoken.
func (w *workbookReader) strings(part string) error {
	var text strings.Builder
	size, inText, spoken := 0, false, false
	return w.stream(part, func(tok xml.Token) bool {
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
				w.texts = append(w.texts, unescape(text.String()))
				size += text.Len()
				text.Reset()
			}
		}
		return size < maxPart && len(w.texts) < maxCells
	})
}

// sheet reads one sheet. Empty rows and those beyond the limits are left out.
func (w *workbookReader) sheet(part string) error {
	var rows [][]string
	var row []string
	var cell struct {
		column, style int
		kind          string
		value         strings.Builder
		formula       strings.Builder
	}
	size, taking, next, spoken, inFormula := 0, false, 0, false, false
	err := w.stream(part, func(tok xml.Token) bool {
		switch t := tok.(type) {
		case xml.StartElement:
			switch t.Name.Local {
			case "row":
				row, next = nil, 0
			case "c":
				cell.column, cell.style, cell.kind = next, 0, ""
				cell.value.Reset()
				cell.formula.Reset()
				for _, a := range t.Attr {
					switch a.Name.Local {
					case "r":
						cell.column = column(a.Value)
					case "s":
						cell.style = number(a.Value)
					case "t":
						cell.kind = a.Value
					}
				}
				next = cell.column + 1
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
				cell.value.Write(t)
			case inFormula:
				cell.formula.Write(t)
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
				w.cells++
				text := w.show(cell.kind, cell.style, cell.value.String())
				if cell.value.Len() == 0 && cell.formula.Len() > 0 {
					text = "=" + cell.formula.String() // no program has calculated it yet
				}
				if text == "" {
					break
				}
				if cell.column >= maxWide {
					w.d.lack(Long)
					break
				}
				for len(row) <= cell.column {
					row = append(row, "")
				}
				row[cell.column] = text
				size += len(text) + 3
			case "row":
				if len(row) > 0 {
					rows = append(rows, row)
				}
			}
		}
		if len(rows) == maxRows || w.cells > maxCells || size > maxText {
			w.d.lack(Long)
			return false
		}
		return true
	})
	w.d.table(rows)
	return err
}

// show is a cell as people see it.
func (w *workbookReader) show(kind string, style int, value string) string {
	switch kind {
	case "s":
		if n, err := strconv.Atoi(value); err == nil && n >= 0 && n < len(w.texts) {
			return w.texts[n]
		}
		return ""
	case "b":
		if value == "1" {
			return "TRUE"
		}
		return "FALSE"
	case "str", "inlineStr", "e", "d":
		return unescape(value)
	}
	v, err := strconv.ParseFloat(value, 64)
	if err != nil {
		return value
	}
	if style < 0 || style >= len(w.formats) {
		return general(v)
	}
	return w.formats[style].show(v, w.epoch)
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

// column is the number of a cell's column, counted from 0, of its name, such as AB12.
func column(name string) int {
	n := 0
	for _, c := range name {
		if c < 'A' || c > 'Z' || n > 1<<20 {
			break
		}
		n = n*26 + int(c-'A') + 1
	}
	return max(n-1, 0)
}

// number is a small number of an attribute; nonsense is 0.
func number(s string) int {
	n, err := strconv.Atoi(s)
	if err != nil {
		return 0
	}
	return n
}

// builtinFormat is the code of a format that files do not spell out.
func builtinFormat(id string) string {
	n := number(id)
	switch {
	case slices.Contains([]int{14, 15, 16, 17, 27, 28, 29, 30, 31, 36, 50, 51, 52, 53, 54, 57, 58}, n):
		return "yyyy-mm-dd"
	case n == 18 || n == 20 || n == 32 || n == 34 || n == 55:
		return "hh:mm"
	case n == 19 || n == 21 || n == 33 || n == 35 || n == 45 || n == 47 || n == 56:
		return "hh:mm:ss"
	case n == 22:
		return "yyyy-mm-dd hh:mm"
	case n == 46:
		return "[h]:mm:ss"
	}
	return map[int]string{1: "0", 2: "0.00", 3: "#,##0", 4: "#,##0.00", 9: "0%", 10: "0.00%", 11: "0.00E+00",
		37: "#,##0", 38: "#,##0", 39: "#,##0.00", 40: "#,##0.00", 41: "#,##0", 42: "#,##0", 43: "#,##0.00",
		44: "#,##0.00", 48: "##0.0E+0"}[n]
}
