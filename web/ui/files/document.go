package files

import (
	"bytes"
	"context"
	"errors"
	"path"
	"slices"
	"strconv"
	"strings"

	"fawn/sandbox/files"
	"fawn/uploads"
	"fawn/uploads/preview"
	"fawn/views"
	"fawn/views/chat"
	"fawn/web/ui/page"
)

// maxConverted limits the converted text that is searched.
const maxConverted = 16 << 20

// document adds a document's converted text to its view, or the reason for its absence.
func (h *Handlers) document(ctx context.Context, view *views.FileView) error {
	clean := "/" + view.Path
	if view.Missing {
		return nil
	}
	switch view.Kind {
	case views.KindDocument, views.KindSheets, views.KindPDF, views.KindOther:
	default:
		if !view.Kind.Textual() || path.Dir(clean) != uploads.Folder {
			return nil
		}
	}
	dir, err := h.Dirs.Open(view.ThreadID)
	if err != nil {
		return err
	}
	defer dir.Close()
	if path.Dir(clean) != uploads.Folder {
		return h.made(ctx, dir, view)
	}
	list, err := h.Documents.Files(ctx, dir, view.ThreadID)
	if err != nil {
		return err
	}
	i := slices.IndexFunc(list.Files, func(f uploads.File) bool { return f.VirtualPath == clean })
	if i < 0 || list.Files[i].Conversion == nil {
		return nil
	}
	file := list.Files[i]
	if c := file.Conversion; c.Encoding != "" {
		view.Encoding, view.Chosen, view.Encodings = c.Encoding, c.Chosen, uploads.EncodingNames()
	} else if view.Kind.Textual() { // shown unchanged
		return nil
	}
	if said := Attachment(file); said.Document != "" {
		view.Lack, view.Waiting = chat.DocumentText(ctx, said), said.Document == uploads.Pending
	}
	if file.MarkdownVirtualPath == "" {
		return nil
	}
	text, err := dir.ReadFile(ctx, file.MarkdownVirtualPath, maxConverted)
	if page.IsMissing(err) {
		return nil
	}
	if err != nil && !errors.Is(err, files.ErrTooLarge) {
		return err
	}
	if view.Kind.Textual() {
		if view.Kind != views.KindHTML && view.Kind != views.KindNotebook {
			view.Cut = len(text) > views.PreviewBytes
			view.Text = strings.ReplaceAll(wholeRunes(text[:min(len(text), views.PreviewBytes)]), "&lt;!--", "<!--")
			view.Lack = ""
		}
		return nil
	}
	convertedTo(view, text)
	return nil
}

// made is [UI.document] for a file outside the uploads: its text is created on request.
func (h *Handlers) made(ctx context.Context, dir uploads.Opener, view *views.FileView) error {
	if view.Kind == views.KindOther {
		return nil
	}
	c, text, err := h.Documents.Show(ctx, dir, view.ThreadID, "/"+view.Path)
	if page.IsMissing(err) || err == nil && c == nil {
		return nil
	}
	if err != nil {
		return err
	}
	if said := Attachment(uploads.File{Conversion: c}); said.Document != "" {
		view.Lack, view.Waiting = chat.DocumentText(ctx, said), said.Document == uploads.Pending
	}
	if text != nil {
		convertedTo(view, text[:min(len(text), maxConverted)])
	}
	return nil
}

// convertedTo shows a document's converted text.
func convertedTo(view *views.FileView, text []byte) {
	view.Converted = true
	switch view.Kind {
	case views.KindSheets:
		view.Book = bookOf(text, view.At)
	case views.KindOther:
		view.Kind = views.KindDocument
		fallthrough
	default:
		view.Text, view.Cut = around(text, view.At)
	}
}

// around returns the shown part of a converted text, with the place at which it opens.
func around(text []byte, at string) (shown string, cut bool) {
	mark := "<!-- " + strings.Replace(at, "-", " ", 1) + " -->"
	if n := bytes.Index(text, []byte(mark)); at != "" && n > views.PreviewBytes/2 {
		text, cut = text[n:], true
	}
	if len(text) > views.PreviewBytes {
		text, cut = text[:views.PreviewBytes], true
	}
	return wholeRunes(text), cut
}

// bookOf returns a workbook at the sheet that at names, or at its first.
func bookOf(text []byte, at string) *views.Book {
	digits, _ := strings.CutPrefix(at, "sheet-")
	n, err := strconv.Atoi(digits)
	if err != nil {
		n = 0 // a place of another kind
	}
	w := preview.ReadWorkbook(text, n)
	b := &views.Book{More: w.More, Shown: w.Shown.N, Rows: w.Rows, Total: w.Total, Width: w.Width}
	for _, s := range w.Sheets {
		b.Sheets = append(b.Sheets, views.Sheet(s))
	}
	return b
}
