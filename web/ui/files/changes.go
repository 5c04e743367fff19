package files

import (
	"errors"
	"io/fs"
	"net/http"

	"github.com/labstack/echo/v4"

	"fawn/sandbox/changes"
	"fawn/sandbox/linediff"
	"fawn/store"
	"fawn/views"
	"fawn/views/files"
	"fawn/web/ui/page"
)

const (
	// Lines of one file, and of all files of a run, that a page shows.
	maxFileLines = 1000
	maxRunLines  = 4000
)

// changes handles GET /ui/threads/:id/changes/:run: a run's file changes, for the panel.
func (h *Handlers) changes(c echo.Context, t store.Thread) error {
	if !page.WantsFragment(c.Request()) {
		return c.Redirect(http.StatusSeeOther, views.ChangesURL(t.ID, page.Param(c, "run")))
	}
	p, err := h.changesPanel(c, t)
	if err != nil {
		return err
	}
	return page.HTML(c, http.StatusOK, page.InLang(page.ReadPrefs(c.Request()).Lang, files.Panel(p)))
}

// changesPage handles GET /workspace/chats/:id/changes/:run.
func (h *Handlers) changesPage(c echo.Context, t store.Thread) error {
	p, err := h.changesPanel(c, t)
	if err != nil {
		return err
	}
	shell, err := h.Shell(c, views.NavNone, t.ID)
	if err != nil {
		return err
	}
	return page.HTML(c, http.StatusOK, files.FilePage(views.FilePage{Shell: shell, Panel: p}))
}

func (h *Handlers) changesPanel(c echo.Context, t store.Thread) (views.Panel, error) {
	p := views.Panel{ThreadID: t.ID, Title: t.Title, Changes: &views.Changes{}}
	ctx, run := c.Request().Context(), page.Param(c, "run")
	row, err := h.DB.Run(ctx, run)
	if err == nil && row.ThreadID != t.ID {
		err = store.ErrNotFound
	}
	if err != nil {
		return p, err
	}
	r, _, err := h.ChangesOf(ctx, t.ID, run)
	if err != nil {
		return p, err
	}
	p.Changes.RunChanges = views.RunChanges{Run: run, Files: r.Summary.Files(), Added: r.Summary.Additions,
		Removed: r.Summary.Deletions}
	p.Changes.More = r.Summary.Truncated
	describe, left := h.Describer(t.ID), maxRunLines
	for _, f := range r.Files {
		one, err := h.change(t.ID, f, &left)
		if err != nil {
			return p, err
		}
		one.File = describe(f.Path)
		one.Gone = one.File.Modified.IsZero()
		p.Changes.List = append(p.Changes.List, one)
	}
	return p, nil
}

// change returns a file with as many of its lines as the limit allows.
func (h *Handlers) change(thread string, f changes.File, left *int) (views.Change, error) {
	one := views.Change{What: string(f.Status), Was: -1, Is: -1, Added: f.Additions, Taken: f.Deletions}
	if f.Before != nil {
		one.Was = *f.Before
	}
	if f.After != nil {
		one.Is = *f.After
	}
	if f.Why != nil {
		one.Why = string(*f.Why)
		return one, nil
	}
	lines, ok, err := changes.New(h.Dirs).Diff(thread, f)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return one, err
	}
	if !ok {
		one.Why = string(changes.Lost)
		return one, nil
	}
	one.Lines = linediff.Fold(lines)
	if most := min(maxFileLines, *left); len(one.Lines) > most {
		one.Lines, one.Cut = one.Lines[:most], true
	}
	*left -= len(one.Lines)
	return one, nil
}
