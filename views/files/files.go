package files

import (
	"context"
	"encoding/csv"
	"path"
	"strconv"
	"strings"
	"time"

	"github.com/a-h/templ"

	"fawn/views"
	"fawn/views/i18n"
)

// FilePage renders a file, or the list of files, as a whole page.
func FilePage(p views.FilePage) templ.Component { return i18n.In(p.Shell.Lang, filePage(normal(p))) }

// Panel renders the content of element panel: one file, or the list of files. In i18n.In it is the response to GET
// .../panel and .../panel/{path}.
func Panel(p views.Panel) templ.Component {
	return panel(normal(views.FilePage{Panel: p}).Panel)
}

// Content renders one file of a panel without the bar above it, for pages with their own bar.
func Content(p views.Panel) templ.Component {
	return body(normal(views.FilePage{Panel: p}).Panel, true)
}

// normal fills in the kind of the file.
func normal(p views.FilePage) views.FilePage {
	if p.Panel.File != nil && p.Panel.File.Kind == "" {
		f := *p.Panel.File
		f.Kind = kind(f.File)
		p.Panel.File = &f
	}
	return p
}

// Icon returns the symbol for a kind of file.
func Icon(k views.FileKind) string {
	switch k {
	case views.KindMarkdown, views.KindPDF, views.KindDocument:
		return "file-text"
	case views.KindHTML:
		return "globe"
	case views.KindImage, views.KindSVG:
		return "image"
	case views.KindTable, views.KindSheets:
		return "table"
	case views.KindAudio:
		return "music"
	case views.KindVideo:
		return "film"
	case views.KindText, views.KindNotebook:
		return "file-code"
	case views.KindArchive:
		return "folder"
	case views.KindSkill:
		return "sparkles"
	}
	return "file"
}

func kind(f views.File) views.FileKind {
	if f.Kind != "" {
		return f.Kind
	}
	return views.KindOf(f.Path, "")
}

// facts returns the small line of a card: kind, size, new.
func facts(ctx context.Context, f views.File) string {
	parts := []string{i18n.C(ctx, "files.kind."+string(kind(f)))}
	if f.Bytes > 0 {
		parts = append(parts, views.Bytes(f.Bytes))
	}
	if f.Unseen != "" {
		parts = append(parts, i18n.C(ctx, "files.unseen", f.Unseen))
	}
	if f.New {
		parts = append(parts, i18n.C(ctx, "files.new"))
	}
	return strings.Join(parts, " · ")
}

func pageTitle(ctx context.Context, p views.FilePage) string {
	if p.Panel.Changes != nil {
		return i18n.C(ctx, "changes.title")
	}
	if p.Panel.File == nil {
		return i18n.C(ctx, "files.panel")
	}
	return views.Safe(p.Panel.File.Name())
}

// hasPreview reports whether a file has a view other than its source.
func hasPreview(f *views.FileView) bool { return f.Kind != views.KindText && f.Kind != views.KindOther }

// neighbours finds the files before and after the shown one; pos counts from 1.
func neighbours(p views.Panel) (prev, next *views.File, pos int) {
	for i := range p.Files {
		if p.Files[i].Path != p.File.Path {
			continue
		}
		if i > 0 {
			prev = &p.Files[i-1]
		}
		if i+1 < len(p.Files) {
			next = &p.Files[i+1]
		}
		return prev, next, i + 1
	}
	return nil, nil, 0
}

// Opens makes the script load a file into the panel; pages of share links have no panel.
func Opens(f views.File) templ.Attributes {
	if f.Share != "" {
		return nil
	}
	return templ.Attributes{
		"data-panel": views.PanelURL(f.ThreadID, f.Path),
		"data-push":  views.PanelPageURL(f.ThreadID, f.Path),
	}
}

// panelLink makes the script load a file into the panel; on the file's own page it is a plain link.
func panelLink(f *views.File, page bool) templ.Attributes {
	if page {
		return nil
	}
	return Opens(*f)
}

// listLink makes the script load the list of files into the panel.
func listLink(p views.Panel, page bool) templ.Attributes {
	if page {
		return nil
	}
	return templ.Attributes{"data-panel": views.PanelURL(p.ThreadID, "")}
}

func tabURL(p views.Panel, code bool) string {
	u := p.File.PageURL()
	if code {
		u += "?tab=code"
	}
	return u
}

func tabLink(p views.Panel, page, code bool) templ.Attributes {
	if page {
		return nil
	}
	u, push := views.PanelURL(p.ThreadID, p.File.Path), views.PanelPageURL(p.ThreadID, p.File.Path)
	if code {
		u += "?tab=code"
		push += "&tab=code"
	}
	return templ.Attributes{"data-panel": u, "data-push": push, "data-replace": "true"}
}

// editLink makes the script load a file's form into the panel.
func editLink(p views.Panel, page bool) templ.Attributes {
	if page {
		return nil
	}
	return templ.Attributes{"data-panel": views.PanelURL(p.ThreadID, p.File.Path) + "?edit=1",
		"data-push": views.PanelPageURL(p.ThreadID, p.File.Path)}
}

func ariaTrue(yes bool) string {
	if yes {
		return "true"
	}
	return "false"
}

// language returns the file's language for the highlighter.
func language(f *views.FileView) string {
	switch f.Kind {
	case views.KindMarkdown, views.KindTable:
		return ""
	case views.KindHTML:
		return "html"
	case views.KindSVG:
		return "xml"
	case views.KindNotebook:
		return "json"
	}
	if ext := strings.TrimPrefix(path.Ext(f.Name()), "."); ext != "" {
		return ext
	}
	return f.Name()
}

// citedLine returns the line that a file opens at, 0 for none.
func citedLine(f *views.FileView) int {
	digits, ok := strings.CutPrefix(f.At, "line-")
	n, err := strconv.Atoi(digits)
	if !ok || err != nil {
		return 0
	}
	return n
}

// numbered returns the numbers of a text's lines as HTML, with a mark at the one it opens at.
func numbered(f *views.FileView) string {
	all, line := lineNumbers(f.Text), strconv.Itoa(citedLine(f))
	i := strings.Index("\n"+all, "\n"+line+"\n") // no line is 0
	if i < 0 {
		return all
	}
	return all[:i] + `<span class="here" id="at-line-` + line + `">` + line + "</span>" + all[i+len(line):]
}

func lineNumbers(text string) string {
	n := strings.Count(text, "\n")
	if text == "" || !strings.HasSuffix(text, "\n") {
		n++
	}
	var b strings.Builder
	b.Grow(n * 5)
	for i := 1; i <= n; i++ {
		b.WriteString(strconv.Itoa(i))
		b.WriteByte('\n')
	}
	return b.String()
}

// Limits of a table preview.
const (
	maxTableRows    = 500
	maxTableColumns = 60
	maxCell         = 300
)

// readTable reads CSV or TSV as leniently as it can; the first row is the head.
func readTable(text, name string) (head []string, rows [][]string, more, wide bool) {
	text, comma := separator(text, name)
	r := csv.NewReader(strings.NewReader(text))
	r.FieldsPerRecord, r.LazyQuotes, r.ReuseRecord = -1, true, true
	r.Comma = comma
	width := 0
	for {
		rec, err := r.Read()
		if err != nil {
			break
		}
		if len(rows) == maxTableRows {
			more = true
			break
		}
		row := make([]string, 0, min(len(rec), maxTableColumns))
		for i, c := range rec {
			if i == maxTableColumns {
				wide = true
				break
			}
			row = append(row, cell(c))
		}
		width = max(width, len(row))
		if head == nil {
			head = row
			continue
		}
		rows = append(rows, row)
	}
	for len(head) < width {
		head = append(head, "")
	}
	for i := range rows {
		for len(rows[i]) < width {
			rows[i] = append(rows[i], "")
		}
	}
	return head, rows, more, wide
}

// separator returns the cell separator of a table. Excel's first line "sep=;" sets it and isn't part of the table.
func separator(text, name string) (table string, comma rune) {
	first, rest, _ := strings.Cut(text, "\n")
	if line := strings.TrimRight(first, "\r"); len(line) == 5 && strings.EqualFold(line[:4], "sep=") {
		return rest, rune(line[4])
	}
	if strings.EqualFold(path.Ext(name), ".tsv") {
		return text, '\t'
	}
	if strings.Count(first, ";") > strings.Count(first, ",") {
		return text, ';'
	}
	return text, ','
}

func cell(s string) string {
	s = views.Safe(s)
	if r := []rune(s); len(r) > maxCell {
		return string(r[:maxCell]) + "…"
	}
	return s
}

func isNumber(s string) bool {
	if s == "" {
		return false
	}
	_, err := strconv.ParseFloat(strings.ReplaceAll(strings.TrimSuffix(s, "%"), " ", ""), 64)
	return err == nil
}

// openChanges is the number of files whose changes are expanded initially.
const openChanges = 8

// shortPath returns a virtual path without the common prefix.
func shortPath(p string) string { return strings.TrimPrefix(p, "mnt/user-data/") }

// sizes reports how large a file was and is.
func sizes(c views.Change) string {
	switch {
	case c.Was < 0 && c.Is < 0:
		return ""
	case c.Was < 0:
		return views.Bytes(c.Is)
	case c.Is < 0:
		return views.Bytes(c.Was)
	}
	return views.Bytes(c.Was) + " → " + views.Bytes(c.Is)
}

// fenced returns code in a fence longer than any inside.
func fenced(language, code string) string {
	if strings.TrimSpace(code) == "" {
		return ""
	}
	mark := "```"
	for strings.Contains(code, mark) {
		mark += "`"
	}
	return mark + language + "\n" + strings.TrimRight(code, "\n") + "\n" + mark
}

// archiveSize returns the number of files and their unpacked size.
func archiveSize(ctx context.Context, a *views.Archive) string {
	return i18n.N(ctx, "files.archive.files", a.Files) + " · " +
		i18n.C(ctx, "files.archive.unpacked", views.Bytes(a.Bytes))
}

// bomb reports whether an archive declares a much larger size than its own.
func bomb(f *views.FileView) bool {
	const much, times = 1 << 30, 100
	return f.Archive.Bytes > much && f.Bytes > 0 && f.Archive.Bytes/f.Bytes > times
}

// day returns the modification date of an archive's file.
func day(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.Format("2006-01-02 15:04")
}
