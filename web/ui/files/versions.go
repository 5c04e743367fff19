package files

import (
	"bytes"
	"errors"
	"io/fs"
	"net/http"
	"path"
	"strings"
	"unicode/utf8"

	"github.com/labstack/echo/v4"

	"fawn/sandbox/changes"
	"fawn/sandbox/files"
	"fawn/sandbox/linediff"
	"fawn/store"
	"fawn/views"
	"fawn/web/httpx"
	"fawn/web/ui/page"
)

// versions adds to a file of the panel its number of versions, and with ?versions= the list of them, with the
// differences between the chosen one and the file.
func (h *Handlers) versions(c echo.Context, thread string, view *views.FileView) error {
	clean := "/" + view.Path
	if !files.Under(files.Outputs, clean) || view.Growing {
		return nil
	}
	list, err := changes.New(h.Dirs).Versions(thread, clean)
	if err != nil {
		return err
	}
	view.Versions = len(list)
	if !c.QueryParams().Has("versions") || len(list) == 0 {
		return nil
	}
	view.Editing, view.Editable = false, false
	chosen := c.QueryParam("versions")
	view.History = &views.FileHistory{}
	for i, v := range list {
		one := views.FileVersion{ID: v.ID, Number: v.Number, At: v.At, Bytes: v.Size, By: v.Tool, Run: v.Run, Kept: v.Kept,
			Current: i == 0 && !view.Missing}
		if v.ID == chosen {
			one.Chosen = true
			if err := h.compare(c, thread, clean, v, view.History); err != nil {
				return err
			}
		}
		view.History.List = append(view.History.List, one)
	}
	return nil
}

// compare fills in the differences between a version of a text and the current file.
func (h *Handlers) compare(c echo.Context, thread, clean string, v changes.Version, to *views.FileHistory) error {
	old, _, err := changes.New(h.Dirs).Content(thread, clean, v.ID)
	if errors.Is(err, fs.ErrNotExist) {
		to.Why = string(changes.Lost)
		return nil
	}
	if err != nil {
		return err
	}
	dir, err := h.Dirs.Open(thread)
	if page.IsMissing(err) {
		return store.ErrNotFound
	}
	if err != nil {
		return err
	}
	defer dir.Close()
	now, err := dir.ReadFile(c.Request().Context(), clean, changes.MaxText)
	if page.IsMissing(err) {
		now, err = nil, nil
	}
	switch {
	case errors.Is(err, files.ErrTooLarge), len(old) > changes.MaxText:
		to.Why = string(changes.Large)
		return nil
	case err != nil:
		return err
	case !isText(old) || !isText(now):
		to.Why = string(changes.Binary)
		return nil
	}
	lines := linediff.Compare(string(old), string(now))
	to.Added, to.Taken = linediff.Count(lines)
	to.Lines = linediff.Fold(lines)
	if len(to.Lines) > maxFileLines {
		to.Lines, to.Cut = to.Lines[:maxFileLines], true
	}
	to.Same = to.Added+to.Taken == 0
	return nil
}

func isText(b []byte) bool { return utf8.Valid(b) && bytes.IndexByte(b, 0) < 0 }

// former handles GET /ui/threads/:id/version/*: it downloads an earlier version of a file.
func (h *Handlers) former(c echo.Context, t store.Thread) error {
	clean, err := files.Clean("/" + page.TrimSlash(page.Param(c, "*")))
	if err != nil {
		return err
	}
	data, v, err := changes.New(h.Dirs).Content(t.ID, clean, c.QueryParam("version"))
	if errors.Is(err, fs.ErrNotExist) {
		return store.ErrNotFound
	}
	if err != nil {
		return err
	}
	name := path.Base(clean)
	end := path.Ext(name)
	header := c.Response().Header()
	header.Set("Content-Disposition", page.Attached(strings.TrimSuffix(name, end)+" "+v.At.Format("2006-01-02 15.04.05")+end))
	header.Set("X-Content-Type-Options", "nosniff")
	header.Set("Content-Security-Policy", activePolicy)
	header.Set("Cache-Control", "private, no-cache")
	return c.Blob(http.StatusOK, "application/octet-stream", data)
}

// restore handles POST /ui/threads/:id/restore/*: an earlier version becomes the newest one.
func (h *Handlers) restore(c echo.Context, t store.Thread) error {
	ctx := c.Request().Context()
	form, err := page.ReadForm(c.Request(), page.SmallForm)
	if err != nil {
		return err
	}
	clean, err := files.Clean("/" + page.TrimSlash(page.Param(c, "*")))
	if err != nil {
		return err
	}
	if h.Runs.Active(t.ID) != "" {
		return httpx.Errorf(http.StatusConflict, "%s", page.Say(c, "edit.busy"))
	}
	err = changes.New(h.Dirs).Restore(ctx, t.ID, clean, form.Get("version"))
	if errors.Is(err, fs.ErrNotExist) {
		return store.ErrNotFound
	}
	if err != nil {
		return err
	}
	where := views.PanelPageURL(t.ID, strings.TrimPrefix(clean, "/"))
	if form.Get("page") != "" {
		where = views.FileURL(t.ID, strings.TrimPrefix(clean, "/"))
	}
	return c.Redirect(http.StatusSeeOther, where)
}

// noteEdit adds a person's edit to the versions of a file.
func (h *Handlers) noteEdit(c echo.Context, thread string) {
	if err := changes.New(h.Dirs).Note(c.Request().Context(), thread, changes.By{Tool: changes.ByPerson}); err != nil {
		h.Log.Warn("couldn't record a version of an edited file", "thread", thread, "err", err)
	}
}
