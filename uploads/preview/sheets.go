// Package preview reads files that browsers can't display. It limits the amount read, since the files are untrusted.
package preview

import (
	"bytes"
	"strconv"
	"strings"
	"unicode/utf8"
)

// Limits of a workbook.
const (
	MaxSheets  = 100 // limit of listed sheets
	MaxRows    = 500 // row limit of the shown sheet, besides its head
	MaxColumns = 60
	maxCell    = 2 << 10 // bytes
	maxTitle   = 100
)

// Sheet is one of a workbook.
type Sheet struct {
	N     int // from 1, as in its anchor
	Title string
}

// Workbook is a list of sheets with the rows of one.
type Workbook struct {
	Sheets []Sheet
	More   int // sheets not listed
	Shown  Sheet
	Rows   [][]string // rows of the shown sheet, the head first
	Total  int        // rows of the sheet
	Width  int        // columns of the sheet
}

// ReadWorkbook takes the text converted from a workbook, and the number of the sheet to show; an unknown number shows
// the first.
func ReadWorkbook(text []byte, n int) Workbook {
	var w Workbook
	var body []byte
	for p := range sheets(text) {
		s := Sheet{N: p.n, Title: p.title()}
		if s.N == n || w.Shown.N == 0 {
			w.Shown, body = s, p.body
		}
		if len(w.Sheets) < MaxSheets || s.N == n {
			w.Sheets = append(w.Sheets, s)
		} else {
			w.More++
		}
	}
	w.read(body)
	return w
}

// part is the text of one sheet.
type part struct {
	n    int
	body []byte
}

func (p part) title() string {
	for line := range bytes.Lines(p.body) {
		line = bytes.TrimSpace(line)
		if title, ok := bytes.CutPrefix(line, []byte("## ")); ok {
			return cut(string(title), maxTitle)
		}
		if len(line) > 0 {
			break
		}
	}
	return ""
}

// sheets cuts a text where anchors are.
func sheets(text []byte) func(yield func(part) bool) {
	const open, shut = "<!-- sheet ", " -->"
	return func(yield func(part) bool) {
		now := part{}
		begin, at := 0, 0
		for line := range bytes.Lines(text) {
			from := at
			at += len(line)
			digits, ok := bytes.CutPrefix(line, []byte(open))
			if !ok {
				continue
			}
			digits, ok = bytes.CutSuffix(bytes.TrimRight(digits, "\r\n"), []byte(shut))
			n, err := strconv.Atoi(string(digits))
			if !ok || err != nil || n < 1 {
				continue
			}
			if now.body = text[begin:from]; now.n > 0 && !yield(now) {
				return
			}
			now.n, begin = n, at
		}
		if now.body = text[begin:]; now.n > 0 {
			yield(now)
		}
	}
}

// read takes the rows of a sheet's table.
func (w *Workbook) read(body []byte) {
	titled := false
	for line := range bytes.Lines(body) {
		line = bytes.TrimSpace(line)
		switch {
		case len(line) == 0:
			continue
		case !titled && bytes.HasPrefix(line, []byte("## ")):
			titled = true
			continue
		case w.Total == 1 && bytes.HasPrefix(line, []byte("| --- ")):
			continue
		}
		if w.Total++; w.Total > MaxRows+1 {
			continue
		}
		row, width := cells(string(line))
		w.Width = max(w.Width, width)
		w.Rows = append(w.Rows, row)
	}
}

// cells returns the cells of a table's line, and their total number.
func cells(line string) (row []string, width int) {
	inside, ok := strings.CutPrefix(line, "|")
	if !ok {
		return []string{cut(line, maxCell)}, 1
	}
	inside = strings.TrimSuffix(inside, "|")
	for begin, i := 0, 0; i <= len(inside); i++ {
		if i < len(inside) && (inside[i] != '|' || i > 0 && inside[i-1] == '\\') {
			continue
		}
		if width++; width <= MaxColumns {
			cell := strings.TrimSpace(inside[begin:i])
			cell = strings.ReplaceAll(strings.ReplaceAll(cell, `\|`, "|"), "&lt;!--", "<!--")
			row = append(row, cut(cell, maxCell))
		}
		begin = i + 1
	}
	return row, width
}

// cut returns the beginning of a text up to n bytes, with a sign that it is not all.
func cut(s string, n int) string {
	if len(s) <= n {
		return strings.ToValidUTF8(s, "\uFFFD")
	}
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return strings.ToValidUTF8(s[:n], "\uFFFD") + "…"
}
