package files

import (
	"context"
	"net/url"
	"strconv"

	"github.com/a-h/templ"

	"fawn/views"
	"fawn/views/i18n"
)

// whyNot explains why a document is not shown.
func whyNot(ctx context.Context, f *views.FileView) string {
	if f.Lack != "" {
		return f.Lack
	}
	return i18n.C(ctx, "files.nopreview")
}

// waits makes the script check again for a document being converted.
func waits(p views.Panel) templ.Attributes {
	if !p.File.Waiting {
		return nil
	}
	at := views.PanelURL(p.ThreadID, p.File.Path)
	if p.File.At != "" {
		at += "?at=" + url.QueryEscape(p.File.At)
	}
	return templ.Attributes{"data-wait": at}
}

// place returns the address of a file with a query.
func place(p views.Panel, query string) string { return p.File.PageURL() + "?" + query }

// placeLink makes the script load the file in the panel with a query.
func placeLink(p views.Panel, page bool, query string) templ.Attributes {
	if page {
		return nil
	}
	return templ.Attributes{
		"data-panel": views.PanelURL(p.ThreadID, p.File.Path) + "?" + query,
		"data-push":  views.PanelPageURL(p.ThreadID, p.File.Path) + "&" + query,
	}
}

func sheetID(n int) string { return "tab-sheet-" + strconv.Itoa(n) }

func sheetQuery(s views.Sheet) string { return "at=sheet-" + strconv.Itoa(s.N) }

func sheetURL(p views.Panel, s views.Sheet) string { return place(p, sheetQuery(s)) }

func sheetLink(p views.Panel, s views.Sheet, page bool) templ.Attributes {
	return placeLink(p, page, sheetQuery(s))
}

func sheetTitle(ctx context.Context, s views.Sheet) string {
	if s.Title == "" {
		return i18n.C(ctx, "files.sheet", s.N)
	}
	return views.Safe(s.Title)
}

// bookRows returns the rows of a sheet, all as wide as the widest.
func bookRows(b *views.Book) (head []string, rows [][]string) {
	width := shownColumns(b)
	rows = make([][]string, len(b.Rows))
	for i, r := range b.Rows {
		row := make([]string, width)
		for k := range r {
			row[k] = cell(r[k])
		}
		rows[i] = row
	}
	return rows[0], rows[1:]
}

func shownColumns(b *views.Book) int {
	n := 0
	for _, r := range b.Rows {
		n = max(n, len(r))
	}
	return n
}

// wordsQuery asks for the pages of a PDF or for its text, at the same place.
func wordsQuery(p views.Panel, words bool) string {
	q := url.Values{}
	if p.File.At != "" {
		q.Set("at", p.File.At)
	}
	if words {
		q.Set("tab", "text")
	} else {
		q.Set("tab", "pages")
	}
	return q.Encode()
}

func wordsURL(p views.Panel, words bool) string { return place(p, wordsQuery(p, words)) }

func wordsLink(p views.Panel, page, words bool) templ.Attributes {
	return placeLink(p, page, wordsQuery(p, words))
}
