package export

import (
	"context"
	"encoding/base64"
	"html"
	"io"
	"mime"
	"net/http"
	"net/url"
	"path"
	"regexp"
	"strings"

	"github.com/labstack/echo/v4"

	"fawn/agent"
	"fawn/assets"
	"fawn/sandbox/files"
	"fawn/store"
	"fawn/views"
	"fawn/views/chat"
	"fawn/views/i18n"
	"fawn/web/ui/page"
	"fawn/web/ui/turns"
)

// Printer creates a PDF of a document that loads nothing.
type Printer func(ctx context.Context, document string) ([]byte, error)

// Limits of PDFs.
const (
	maxPDFs     = 2        // at a time
	maxPicture  = 5 << 20  // bytes of one picture
	maxPictures = 11 << 20 // bytes of all, so that they fit into a message to the browser as base64
)

// printed returns a chat with all its turns.
func (h *Handlers) printed(c echo.Context, t store.Thread) (views.PrintPage, error) {
	ctx, lang := c.Request().Context(), page.ReadPrefs(c.Request()).Lang
	snap, err := h.wholeThread(ctx, t)
	if err != nil {
		return views.PrintPage{}, err
	}
	b := turns.New(t.ID, h.Describer(t.ID))
	for _, row := range snap.Messages {
		m, err := agent.ParseMessage(row.Body)
		if err != nil {
			return views.PrintPage{}, err
		}
		b.Add(m)
	}
	return views.PrintPage{Shell: page.SharedShell(c), ThreadID: t.ID, Title: ExportTitle(t, b.Turns, lang),
		At: t.UpdatedAt, Turns: b.Turns}, nil
}

// printPage handles GET /ui/threads/:id/print: the whole chat for printing, with now=1 immediately.
func (h *Handlers) printPage(c echo.Context, t store.Thread) error {
	p, err := h.printed(c, t)
	if err != nil {
		return err
	}
	p.Now = c.QueryParam("now") != ""
	return page.HTML(c, http.StatusOK, chat.PrintPage(p))
}

// exportPDF handles GET /ui/threads/:id/export.pdf. Where no browser is at hand, or it fails, the reader's own prints.
func (h *Handlers) exportPDF(c echo.Context, t store.Thread) error {
	ctx := c.Request().Context()
	other := views.ActionURL(t.ID, "print") + "?now=1"
	if h.Print == nil {
		return c.Redirect(http.StatusSeeOther, other)
	}
	select {
	case h.pdfs <- struct{}{}:
		defer func() { <-h.pdfs }()
	default: // the limit is reached: let the reader's browser print
		return c.Redirect(http.StatusSeeOther, other)
	}
	p, err := h.printed(c, t)
	if err != nil {
		return err
	}
	document, err := h.document(page.Localized(c), p)
	if err != nil {
		return err
	}
	body, err := h.Print(ctx, document)
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if err != nil {
		h.Log.Info("couldn't make a PDF; the browser prints instead", "thread", t.ID, "err", err)
		return c.Redirect(http.StatusSeeOther, other)
	}
	return download(c, p.Title+".pdf", "application/pdf", body)
}

// picture returns the address of a chat's file on its page.
var picture = regexp.MustCompile(`(<img\b[^>]*?\bsrc=")(/ui/threads/[^"]+/view/([^"?]+))[^"]*"`)

// document returns a chat as one HTML document that loads nothing and runs nothing: style, fonts, icons and pictures
// are inside.
func (h *Handlers) document(ctx context.Context, p views.PrintPage) (string, error) {
	body, err := views.Render(ctx, chat.Paper(p))
	if err != nil {
		return "", err
	}
	text := string(body)
	css, err := assets.Inline(assets.Style, func(font string) bool {
		name := path.Base(font)
		return name == "hanken.woff2" || name == "jbmono.woff2" && strings.Contains(text, "<code") ||
			strings.HasPrefix(name, "math") && strings.Contains(text, "<math")
	})
	if err != nil {
		return "", err
	}
	icons, err := assets.Symbols()
	if err != nil {
		return "", err
	}
	text = strings.ReplaceAll(text, assets.URL(assets.Sprite)+"#", "#")
	left := maxPictures
	text = picture.ReplaceAllStringFunc(text, func(tag string) string {
		m := picture.FindStringSubmatch(tag)
		data, kind := h.pictureOf(p.ThreadID, m[3], min(left, maxPicture))
		left -= len(data)
		if len(data) == 0 {
			return m[1] + `data:,"`
		}
		return m[1] + "data:" + kind + ";base64," + base64.StdEncoding.EncodeToString(data) + `"`
	})
	var out strings.Builder
	out.WriteString(`<!DOCTYPE html><html lang="` + i18n.Lang(ctx) + `" data-theme="light"><head><meta charset="utf-8">` +
		`<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'; font-src data:; img-src data:">` +
		"<style>" + css + "</style></head><body>" + `<div hidden>` + icons + "</div>")
	out.WriteString(text + "</body></html>")
	return out.String(), nil
}

// pictureOf reads an image of a chat, nil if there is no suitable one.
func (h *Handlers) pictureOf(thread, escaped string, most int) ([]byte, string) {
	name, err := url.PathUnescape(html.UnescapeString(escaped))
	if err != nil {
		return nil, ""
	}
	clean, err := files.Clean("/" + page.TrimSlash(name))
	kind := mime.TypeByExtension(strings.ToLower(path.Ext(name)))
	if err != nil || !strings.HasPrefix(kind, "image/") {
		return nil, ""
	}
	dir, err := h.Dirs.Open(thread)
	if err != nil {
		return nil, ""
	}
	defer dir.Close()
	f, info, err := dir.Open(clean)
	if err != nil {
		return nil, ""
	}
	defer f.Close()
	if !info.Mode().IsRegular() || info.Size() > int64(most) {
		return nil, ""
	}
	data, err := io.ReadAll(io.LimitReader(f, int64(most)))
	if err != nil {
		return nil, ""
	}
	kind, _, _ = strings.Cut(kind, ";")
	return data, kind
}
