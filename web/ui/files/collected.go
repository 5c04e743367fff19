package files

import (
	"errors"
	"strings"

	"github.com/labstack/echo/v4"

	"fawn/store"
	"fawn/uploads"
	"fawn/views"
	"fawn/views/markdown"
	"fawn/web/principal"
	"fawn/web/ui/page"
)

// collected begins the paths of documents of collections among the files of a chat.
const collected = "mnt/user-data/knowledge/"

// collected adds a document of a collection to a panel if the reader may read it. at is its path there.
func (h *Handlers) collected(c echo.Context, p *views.Panel, at string) error {
	view := &views.FileView{File: views.File{ThreadID: p.ThreadID, Path: collected + at}, Missing: true}
	p.File = view
	if h.Knowledge == nil {
		return nil
	}
	ctx := c.Request().Context()
	k, d, text, err := h.Knowledge.Find(ctx, principal.Owner(ctx), p.ThreadID, at)
	if errors.Is(err, store.ErrNotFound) {
		return nil
	}
	if err != nil {
		return err
	}
	if place := c.QueryParam("at"); markdown.IsPlace(place) {
		view.At = place
	}
	view.Missing, view.Raw = false, views.CollectionTextURL(k.ID, d.ID)
	Collected(view, d, text, page.Say(c, "knowledge.doc.empty"))
	p.Code = c.QueryParam("tab") == "code" || strings.HasPrefix(view.At, "line-") && view.Kind.Textual()
	return nil
}

// Collected fills a view with the text of a collection's document, or with the reason why there is
// none.
func Collected(view *views.FileView, d store.Document, text, none string) {
	view.Kind, view.Bytes, view.Modified = views.KindOf(d.Name, ""), d.Bytes, d.UpdatedAt
	switch {
	case text == "" || d.State == uploads.Pending:
		view.Kind, view.Problem = views.KindDocument, none
		return
	case d.Address != "":
		view.Kind = views.KindMarkdown
	case view.Kind == views.KindSheets:
		convertedTo(view, []byte(text))
		return
	case !view.Kind.Textual(), view.Kind == views.KindHTML, view.Kind == views.KindSVG, view.Kind == views.KindNotebook:
		view.Kind = views.KindDocument
		convertedTo(view, []byte(text))
		return
	}
	view.Text, view.Cut = wholeRunes([]byte(text[:min(len(text), views.PreviewBytes)])), len(text) > views.PreviewBytes
}
