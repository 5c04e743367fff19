package offline

import (
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"
)

// mark reads a line of converted text that begins a page, a slide, a sheet or a chapter.
func mark(line string) (kind string, n int, ok bool) {
	inside, ok := strings.CutPrefix(strings.TrimSpace(line), "<!-- ")
	if !ok {
		return "", 0, false
	}
	kind, number, _ := strings.Cut(strings.TrimSuffix(inside, " -->"), " ")
	n, err := strconv.Atoi(number)
	return kind, n, err == nil && slices.Contains([]string{"page", "slide", "sheet", "chapter"}, kind)
}

// places converts line numbers of a text to positions that a reader can look up.
type places struct {
	from []int // lines that begin pages
	kind []string
	n    []int
}

func placesOf(text string) (p places) {
	line := 0
	for s := range strings.Lines(text) {
		line++
		if kind, n, ok := mark(s); ok {
			p.from, p.kind, p.n = append(p.from, line), append(p.kind, kind), append(p.n, n)
		}
	}
	return p
}

// at returns "p. 7" or "slide 3", or "L12" without pages.
func (p places) at(line int) string {
	i, found := slices.BinarySearch(p.from, line)
	if !found {
		i--
	}
	switch {
	case i < 0:
		return fmt.Sprintf("L%d", line)
	case p.kind[i] == "page":
		return fmt.Sprintf("p. %d", p.n[i])
	}
	return fmt.Sprintf("%s %d", p.kind[i], p.n[i])
}

// cite returns a sentence's position: a citation with pages, which becomes a link.
func (p places) cite(file string, line int) string {
	if len(p.from) == 0 {
		return fmt.Sprintf("(L%d)", line)
	}
	return "[" + citable(file) + ", " + p.at(line) + "]"
}

// citable returns the name of a file between brackets.
func citable(file string) string {
	return strings.NewReplacer("<", "&lt;", "[", `\[`, "]", `\]`, "`", "'").Replace(path.Base(file))
}

// isSheets reports whether a file is a workbook, whose sheets are described like tables.
func isSheets(p string) bool {
	switch strings.ToLower(path.Ext(p)) {
	case ".xlsx", ".xlsm", ".xltx", ".xls", ".ods":
		return true
	}
	return false
}

// maxSheets limits the described sheets of a workbook.
const maxSheets = 5

// sheets splits the text of a workbook into one file per sheet.
func sheets(d document) (list []document, left int) {
	name, n := "", 0
	var rows strings.Builder
	end := func() {
		if rows.Len() > 0 {
			one := d
			one.path, one.text = strings.ReplaceAll(path.Base(d.path)+" · "+name, "/", "∕"), "sep=|\n"+rows.String()
			list = append(list, one)
		}
		rows.Reset()
	}
	for s := range strings.Lines(d.text) {
		s = strings.TrimSpace(s)
		if _, at, ok := mark(s); ok {
			end()
			name, n = strconv.Itoa(at), 0
			continue
		}
		if title, ok := strings.CutPrefix(s, "## "); ok && rows.Len() == 0 {
			name = title
		}
		if !strings.HasPrefix(s, "| ") {
			continue
		}
		if n++; n == 2 { // the line below the head
			continue
		}
		s = strings.ReplaceAll(strings.TrimSuffix(strings.TrimPrefix(s, "| "), "|"), `\|`, "\x00")
		for i, field := range strings.Split(s, "|") {
			if i > 0 {
				rows.WriteByte('|')
			}
			field = strings.ReplaceAll(strings.TrimSpace(field), "\x00", "|")
			if strings.ContainsAny(field, `|"`) {
				field = `"` + strings.ReplaceAll(field, `"`, `""`) + `"`
			}
			rows.WriteString(field)
		}
		rows.WriteByte('\n')
	}
	end()
	return list[:min(len(list), maxSheets)], max(0, len(list)-maxSheets)
}
