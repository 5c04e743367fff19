package files

import (
	"errors"
	"net/http"
	"strings"

	"github.com/labstack/echo/v4"

	"fawn/sandbox/files"
	"fawn/sandbox/linediff"
	"fawn/store"
	"fawn/views"
	fileviews "fawn/views/files"
	"fawn/views/i18n"
	"fawn/web/httpx"
	"fawn/web/ui/conversation"
	"fawn/web/ui/page"
)

// editable reports whether a file's text is complete and survives a form unchanged.
func editable(f *views.FileView) bool {
	return f.Kind.Textual() && !f.Missing && !f.Cut && !f.Growing && !f.Converted &&
		strings.HasPrefix("/"+f.Path, files.Outputs+"/") &&
		!strings.ContainsRune(f.Text, '\uFFFD') && !strings.Contains(strings.ReplaceAll(f.Text, "\r\n", ""), "\r")
}

// saveFile handles POST /ui/threads/:id/save/*: it replaces the text that was read. If the file changed meanwhile, the
// response shows both.
func (h *Handlers) saveFile(c echo.Context, t store.Thread) error {
	ctx := c.Request().Context()
	form, err := page.ReadForm(c.Request(),
		3*files.MaxEdit+page.SmallForm) // forms may encode letters in three times as many bytes
	if err != nil {
		return err
	}
	clean, err := files.Clean("/" + page.TrimSlash(page.Param(c, "*")))
	if err != nil {
		return err
	}
	dir, err := h.Dirs.Open(t.ID)
	if page.IsMissing(err) {
		return store.ErrNotFound
	}
	if err != nil {
		return err
	}
	defer dir.Close()
	now, err := dir.Editable(clean)
	if err != nil {
		return err
	}
	text := strings.ReplaceAll(form.Get("text"), "\r\n", "\n")
	if n := strings.Count(string(now), "\n"); n > 0 && strings.Count(string(now), "\r\n") == n {
		text = strings.ReplaceAll(text, "\n", "\r\n")
	}
	err = conversation.ErrBusy
	if h.Runs.Active(t.ID) == "" {
		if _, err = dir.Edit(ctx, clean, text, form.Get("sum")); err == nil {
			err = h.Dirs.Save(ctx, t.ID)
			h.noteEdit(c, t.ID)
		}
	}
	if errors.Is(err, files.ErrChanged) && string(now) == text { // the same text was written meanwhile
		err = nil
	}
	if err == nil && !page.Scripted(c.Request()) {
		return c.Redirect(http.StatusSeeOther, views.FileURL(t.ID, strings.TrimPrefix(clean, "/")))
	}
	v, loadErr := h.Load(ctx, t.ID, "", conversation.Everything, "")
	if loadErr != nil {
		return loadErr
	}
	p, loadErr := h.PanelOf(c, v, clean)
	if loadErr != nil {
		return loadErr
	}
	status := http.StatusOK
	if err != nil {
		status = h.unsaved(c, p.File, err)
		if status >= http.StatusInternalServerError && !errors.Is(err, files.ErrQuota) {
			return err
		}
		p.File.Editing, p.File.Text, p.File.Sum = true, text, form.Get("sum")
		if errors.Is(err, files.ErrChanged) {
			p.File.Sum = files.Sum(now)
			p.File.Theirs = linediff.Fold(linediff.Compare(string(now), text))
			p.File.Theirs = p.File.Theirs[:min(len(p.File.Theirs), maxFileLines)]
		}
	}
	if page.WantsFragment(c.Request()) {
		return page.HTML(c, status, page.InLang(page.ReadPrefs(c.Request()).Lang, fileviews.Panel(p)))
	}
	shell, shellErr := h.Shell(c, views.NavNone, t.ID)
	if shellErr != nil {
		return shellErr
	}
	return page.HTML(c, status, fileviews.FilePage(views.FilePage{Shell: shell, Panel: p}))
}

// unsaved shows in the form why a text wasn't saved.
func (h *Handlers) unsaved(c echo.Context, f *views.FileView, err error) int {
	switch {
	case errors.Is(err, files.ErrChanged): // the differences show it
		return http.StatusConflict
	case errors.Is(err, conversation.ErrBusy):
		f.Trouble = i18n.T(page.ReadPrefs(c.Request()).Lang, "edit.busy")
		return http.StatusConflict
	}
	status, detail := httpx.StatusOf(err)
	if f.Trouble, _ = detail.(string); f.Trouble == "" {
		f.Trouble = i18n.T(page.ReadPrefs(c.Request()).Lang, page.ErrorKey(status))
	}
	return status
}
