package settings

import (
	"errors"
	"io"
	"mime/multipart"
	"net/http"
	"net/url"
	"strconv"

	"github.com/labstack/echo/v4"

	"fawn/agent/takeout"
	"fawn/store"
	"fawn/views"
	"fawn/views/settings"
	"fawn/web/imports"
	"fawn/web/principal"
	"fawn/web/ui/page"
)

// dataSection returns the export, backups and imports.
func (h *Handlers) dataSection(c echo.Context) (views.Data, error) {
	d := views.Data{Lang: page.ReadPrefs(c.Request()).Lang}
	if h.Backups != nil && page.MayChange(c) {
		b := h.Backups()
		d.Backups = &b
	}
	if h.Imports == nil {
		return d, nil
	}
	ctx := c.Request().Context()
	list, err := h.Imports.List(ctx, principal.Owner(ctx))
	if err != nil {
		return d, err
	}
	d.Imports = &views.Imports{Done: c.QueryParam("imported"), Undone: c.QueryParam("undone") != ""}
	d.Imports.Kept, _ = strconv.Atoi(c.QueryParam("kept"))
	for _, i := range list {
		d.Imports.Earlier = append(d.Imports.Earlier, views.Import{ID: i.ID, App: i.App, At: i.At, Chats: i.Chats})
	}
	return d, nil
}

// previewImport handles POST /ui/import: it reads an export and shows a preview of the import.
func (h *Handlers) previewImport(c echo.Context) error {
	if h.Imports == nil {
		return store.ErrNotFound
	}
	r := c.Request()
	ctx := r.Context()
	r.Body = http.MaxBytesReader(c.Response(), r.Body, imports.MaxBytes+page.SmallForm)
	var p imports.Preview
	_, had, err := page.ReadFormFiles(r, page.SmallForm, func(_ url.Values, parts *multipart.Reader) error {
		part, err := parts.NextPart()
		if err != nil {
			return page.FormError(err)
		}
		p, err = h.Imports.Preview(ctx, principal.Owner(ctx), part)
		if err != nil { // the rest is read, so that the browser gets the answer
			if _, drained := io.Copy(io.Discard, part); drained != nil {
				return page.FormError(drained)
			}
		}
		return err
	})
	if err == nil && !had {
		err = takeout.ErrFormat
	}
	if err != nil {
		return h.importProblem(c, err)
	}
	return h.showImports(c, http.StatusOK, func(i *views.Imports) {
		i.Preview = &views.ImportPreview{Import: views.Import{ID: p.ID, App: p.App, Chats: p.Chats}, Messages: p.Messages,
			Files: p.Files, Existing: p.Existing, Branches: p.Branches, Missing: p.Missing, Refused: p.Refused,
			Empty: p.Empty, Unreadable: p.Unreadable, TooLarge: p.TooLarge}
		for _, t := range p.Titles {
			i.Preview.Titles = append(i.Preview.Titles, views.ImportTitle{Title: t.Title, At: t.At})
		}
	})
}

// confirmImport handles POST /ui/import/confirm.
func (h *Handlers) confirmImport(c echo.Context) error {
	return h.onImport(c, func(owner, id string) (string, error) {
		_, err := h.Imports.Confirm(c.Request().Context(), owner, id)
		return "?imported=" + url.QueryEscape(id), err
	})
}

// undoImport handles POST /ui/import/undo.
func (h *Handlers) undoImport(c echo.Context) error {
	return h.onImport(c, func(owner, id string) (string, error) {
		_, kept, err := h.Imports.Undo(c.Request().Context(), owner, id)
		return "?undone=1&kept=" + strconv.Itoa(kept), err
	})
}

func (h *Handlers) onImport(c echo.Context, do func(owner, id string) (query string, err error)) error {
	if h.Imports == nil {
		return store.ErrNotFound
	}
	form, err := page.ReadForm(c.Request(), page.SmallForm)
	if err != nil {
		return err
	}
	query, err := do(principal.Owner(c.Request().Context()), form.Get("import"))
	if err != nil {
		return h.importProblem(c, err)
	}
	return c.Redirect(http.StatusSeeOther, views.SettingsURL("data")+query)
}

// importProblem shows the section with an error.
func (h *Handlers) importProblem(c echo.Context, err error) error {
	status, key := http.StatusUnprocessableEntity, ""
	switch {
	case errors.Is(err, takeout.ErrFormat):
		key = "data.chats.wrong.format"
	case errors.Is(err, takeout.ErrDamaged):
		key = "data.chats.wrong.damaged"
	case errors.Is(err, takeout.ErrTooLarge), errors.Is(err, imports.ErrTooLarge):
		key = "data.chats.wrong.large"
	case errors.Is(err, imports.ErrBusy):
		status, key = http.StatusTooManyRequests, "data.chats.wrong.busy"
	case errors.Is(err, imports.ErrGone):
		status, key = http.StatusNotFound, "data.chats.wrong.gone"
	default:
		return err
	}
	return h.showImports(c, status, func(i *views.Imports) { i.Problem = page.Say(c, key) })
}

func (h *Handlers) showImports(c echo.Context, status int, change func(*views.Imports)) error {
	p, err := h.Settings(c, "data")
	if err == nil {
		p.Data, err = h.dataSection(c)
	}
	if err != nil {
		return err
	}
	change(p.Data.Imports)
	return page.HTML(c, status, settings.Page(p))
}
