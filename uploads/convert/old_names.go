package convert

import (
	"bytes"
	"encoding/csv"
	"errors"
	"io"
	"strings"
	"unicode"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"

	"fawn/uploads/charset"
	"fawn/uploads/workbook"
)

// Programs have long saved web pages, web archives, XML and text under the extensions of old Office files: ERP systems
// export them as .xls, wikis as .doc.

// oldName reads a file with the extension of an old text document.
func oldName(d *draft, data []byte) error { return otherContent(d, data, false) }

// oldSheetName reads a file with the extension of an old workbook.
func oldSheetName(d *draft, data []byte) error { return otherContent(d, data, true) }

func otherContent(d *draft, data []byte, sheets bool) error {
	if len(data) > maxPart {
		return Limits
	}
	if isMIME(data) {
		return webArchive(d, data, sheets)
	}
	head := strings.ToLower(readable(data[:min(len(data), 2048)]))
	switch {
	case strings.Contains(head, "urn:schemas-microsoft-com:office:spreadsheet") && strings.Contains(head, "<?xml"):
		return xmlWorkbook(d, data)
	case strings.Contains(head, ":worddocument"):
		return xmlWord(d, data)
	case strings.Contains(head, "urn:oasis:names:tc:opendocument") && strings.Contains(head, "<?xml"):
		return flatDocument(d, data)
	case looksLikePage(head):
		return pageAs(d, data, sheets)
	}
	text, err := d.decode(data)
	if err != nil || !mostlyText(text) {
		d.encoding = ""
		return Damaged
	}
	if strings.HasPrefix(text, "ID;P") {
		return symbolicLink(d, text)
	}
	if sheets {
		return delimited(d, text)
	}
	d.block(text)
	return nil
}

// readable returns the beginning of a file as text, empty if it isn't text.
func readable(head []byte) string {
	t, err := charset.Decode(head[:len(head)&^3])
	if err != nil {
		return ""
	}
	return t.String
}

func looksLikePage(head string) bool {
	for _, mark := range []string{"<html", "<!doctype html", "<body", "<table", "<head", "<meta", "<div", "<style"} {
		if strings.Contains(head, mark) {
			return true
		}
	}
	return false
}

// mostlyText reports whether next to nothing of a text is control characters.
func mostlyText(s string) bool {
	odd, all := 0, 0
	for _, r := range s {
		if all++; unicode.IsControl(r) && !unicode.IsSpace(r) || r == unicode.ReplacementChar {
			odd++
		}
	}
	return 100*odd <= all
}

// delimited reads a table with a separator as one sheet.
func delimited(d *draft, text string) error {
	rest, comma := workbook.Separator(text)
	r := csv.NewReader(strings.NewReader(rest))
	r.Comma, r.FieldsPerRecord, r.LazyQuotes = comma, -1, true
	var rows [][]string
	for {
		row, err := r.Read()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil { // no table after all
			d.block(text)
			return nil
		}
		if len(rows) == maxRows {
			d.lack(Long)
			break
		}
		rows = append(rows, row[:min(len(row), maxWide)])
	}
	d.sheet(1, "")
	d.table(rows)
	return nil
}

// pageAs reads a web page; as a workbook each of its tables is a sheet.
func pageAs(d *draft, data []byte, sheets bool) error {
	if !sheets {
		return page(d, data)
	}
	doc, err := d.parsePage(data)
	if err != nil {
		return err
	}
	return pageSheets(d, doc, new(int))
}

// pageSheets converts a page's tables to sheets; other content precedes the first one's rows. n counts the sheets.
func pageSheets(d *draft, doc *html.Node, n *int) error {
	var tables []*html.Node
	for at := range doc.Descendants() {
		if at.DataAtom == atom.Table && !inTable(at) {
			tables = append(tables, at)
		}
	}
	for _, t := range tables {
		t.Parent.RemoveChild(t)
	}
	rest, err := markdownOf(doc)
	if err != nil {
		return err
	}
	if len(tables) == 0 {
		d.block(rest)
		return nil
	}
	for i, t := range tables {
		rows := cellsOf(t)
		if len(rows) == 0 {
			continue
		}
		*n++
		d.sheet(*n, "")
		if i == 0 {
			d.block(rest)
		}
		d.table(rows)
	}
	return nil
}

func inTable(n *html.Node) bool {
	for n = n.Parent; n != nil; n = n.Parent {
		if n.DataAtom == atom.Table {
			return true
		}
	}
	return false
}

// cellsOf returns the texts of a table's cells. Spanned columns and rows become empty cells.
func cellsOf(t *html.Node) (rows [][]string) {
	below := map[int]int{} // rows that a cell above still reaches into, by column
	size := 0
	for tr := range t.Descendants() {
		if tr.DataAtom != atom.Tr || nearest(tr.Parent, atom.Table) != t {
			continue
		}
		var row []string
		skip := func() {
			for below[len(row)] > 0 && len(row) < maxWide {
				below[len(row)]--
				row = append(row, "")
			}
		}
		for td := range tr.ChildNodes() {
			if td.DataAtom != atom.Td && td.DataAtom != atom.Th {
				continue
			}
			skip()
			text := oneLine(spaced(td))
			across, down := span(td, "colspan"), span(td, "rowspan")
			for i := range across {
				if len(row) >= maxWide {
					break
				}
				if down > 1 {
					below[len(row)] = down - 1
				}
				if i > 0 {
					text = ""
				}
				row = append(row, text)
				size += len(text)
			}
		}
		skip()
		if rows = append(rows, row); len(rows) == maxRows || size > maxText {
			break
		}
	}
	return rows
}

func span(n *html.Node, name string) int {
	if v := number(attribute(n, name)); v > 1 {
		return min(v, 1000)
	}
	return 1
}

// nearest returns the closest element of a kind around and with a node.
func nearest(n *html.Node, kind atom.Atom) *html.Node {
	for n != nil && n.DataAtom != kind {
		n = n.Parent
	}
	return n
}

// spaced returns the text of a node with spaces where blocks begin and end.
func spaced(n *html.Node) string {
	var b strings.Builder
	var walk func(*html.Node)
	walk = func(n *html.Node) {
		switch {
		case n.Type == html.TextNode:
			b.WriteString(n.Data)
			return
		case n.DataAtom == atom.Script, n.DataAtom == atom.Style:
			return
		}
		block := !inlineElement(n)
		if block {
			b.WriteByte(' ')
		}
		for k := range n.ChildNodes() {
			walk(k)
		}
		if block {
			b.WriteByte(' ')
		}
	}
	walk(n)
	return b.String()
}

func inlineElement(n *html.Node) bool {
	switch n.DataAtom {
	case atom.A, atom.Abbr, atom.B, atom.Bdi, atom.Bdo, atom.Cite, atom.Code, atom.Del, atom.Dfn, atom.Em, atom.Font,
		atom.I, atom.Ins, atom.Kbd, atom.Mark, atom.Q, atom.S, atom.Samp, atom.Small, atom.Span, atom.Strike,
		atom.Strong, atom.Sub, atom.Sup, atom.Tt, atom.U, atom.Var, atom.Wbr:
		return true
	}
	return false
}

// symbolicLink reads a sheet in the oldest format of spreadsheets (SYLK): a line for each cell, with its
// place where that changes.
func symbolicLink(d *draft, text string) error {
	var rows [][]string
	x, y := 1, 1
	for line := range strings.Lines(text) {
		kind, fields, _ := strings.Cut(strings.TrimRight(line, "\r\n"), ";")
		if kind != "C" && kind != "F" {
			continue
		}
		value := ""
		for f := range strings.SplitSeq(strings.ReplaceAll(fields, ";;", "\x00"), ";") {
			if f == "" {
				continue
			}
			switch rest := strings.ReplaceAll(f[1:], "\x00", ";"); f[0] {
			case 'X':
				x = number(rest)
			case 'Y':
				y = number(rest)
			case 'K':
				value = strings.TrimSuffix(strings.TrimPrefix(rest, `"`), `"`)
			}
		}
		if kind != "C" || value == "" || x < 1 || y < 1 {
			continue
		}
		if x > maxWide || y > maxRows {
			d.lack(Long)
			continue
		}
		for len(rows) < y {
			rows = append(rows, nil)
		}
		for len(rows[y-1]) < x {
			rows[y-1] = append(rows[y-1], "")
		}
		rows[y-1][x-1] = value
	}
	d.sheet(1, "")
	d.table(rows)
	return nil
}

// xmlWorkbook reads a workbook as Excel 2003 writes it in XML.
func xmlWorkbook(d *draft, data []byte) error {
	root, err := parseXML(data)
	if err != nil {
		return err
	}
	codes := map[string]string{}
	for _, s := range root.all("Style") {
		codes[s.attr("ID")] = s.kid("NumberFormat").attr("Format")
	}
	sheets := root.kid("Workbook").named("Worksheet")
	for i, s := range sheets {
		d.sheet(i+1, s.attr("Name"))
		var rows [][]string
		for _, r := range s.kid("Table").named("Row") {
			var row []string
			for _, c := range r.named("Cell") {
				if n := number(c.attr("Index")); n > len(row)+1 {
					row = append(row, make([]string, min(n-1, maxWide)-min(len(row), maxWide))...)
				}
				row = append(row, xmlCell(c, codes[c.attr("StyleID")]))
				for range min(number(c.attr("MergeAcross")), maxWide) {
					row = append(row, "")
				}
				if len(row) > maxWide {
					d.lack(Long)
					break
				}
			}
			rows = append(rows, row)
		}
		d.table(rows)
	}
	if len(sheets) == 0 {
		return Damaged
	}
	return nil
}

// xmlCell returns a cell as displayed.
func xmlCell(c *node, code string) string {
	data := c.kid("Data")
	value := data.content()
	switch data.attr("Type") {
	case "Number":
		if short := map[string]string{"Short Date": "yyyy-mm-dd", "Percent": "0.00%", "Fixed": "0.00",
			"Standard": "#,##0.00"}[code]; short != "" {
			code = short
		}
		return workbook.Shown(value, code)
	case "DateTime":
		value, _, _ = strings.Cut(strings.TrimSuffix(value, "Z"), ".")
		return strings.TrimSuffix(strings.Replace(value, "T", " ", 1), " 00:00:00")
	case "Boolean":
		return map[string]string{"1": "TRUE", "0": "FALSE"}[value]
	case "":
		return c.attr("Formula")
	}
	return value
}

// xmlWord reads a text document as Word 2003 writes it in XML.
func xmlWord(d *draft, data []byte) error {
	root, err := parseXML(data)
	if err != nil {
		return err
	}
	doc := root.kid("wordDocument")
	w := newWordReader(d, nil)
	w.styles(doc.kid("styles"))
	w.blocks(doc.kid("body"))
	w.endNotes()
	return nil
}

// isMIME reports whether a file begins as a message or an archive of a web page does.
func isMIME(data []byte) bool {
	head, _, _ := bytes.Cut(bytes.ToLower(data[:min(len(data), 8192)]), []byte("\n\r\n"))
	head, _, _ = bytes.Cut(head, []byte("\n\n"))
	first, _, _ := bytes.Cut(head, []byte(":"))
	return len(first) < 80 && !bytes.ContainsAny(first, " \t\n<") && bytes.Contains(head, []byte("content-type:")) &&
		(bytes.Contains(head, []byte("mime-version:")) || bytes.Contains(head, []byte("multipart/")))
}
