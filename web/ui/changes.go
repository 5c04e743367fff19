package ui

import (
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"net/http"
	"slices"
	"strings"

	"github.com/labstack/echo/v4"

	"fawn/sandbox/changes"
	"fawn/sandbox/linediff"
	"fawn/store"
	"fawn/views"
	"fawn/views/files"
	"fawn/web/ui/page"
	"fawn/web/ui/turns"
)

const (
	// maxMade is how many cards a turn has for files that were not handed over.
	maxMade = 6
	// Lines of one file, and of all files of a run, that a page shows.
	maxFileLines = 1000
	maxRunLines  = 4000
)

// changesOf reads what a run did to files; known is false when it did nothing.
func (u *UI) changesOf(ctx context.Context, thread, run string) (r changes.Record, known bool, err error) {
	body, err := u.DB.KV(ctx, store.Global, store.ChangesSpace, store.ChangesKey(thread, run))
	if errors.Is(err, store.ErrNotFound) {
		return r, false, nil
	}
	if err == nil {
		err = json.Unmarshal(body, &r)
	}
	return r, err == nil, err
}

// touched adds to a turn what its runs did to files: after those handed over, cards of others.
func (u *UI) touched(ctx context.Context, b *turns.Builder, t *views.Turn, list []store.Run) error {
	t.Changes = nil
	left := maxMade
	for _, run := range list {
		r, known, err := u.changesOf(ctx, run.ThreadID, run.ID)
		if err != nil {
			return err
		}
		if !known {
			continue
		}
		t.Changes = append(t.Changes, views.RunChanges{Run: run.ID, Files: r.Summary.Files(), Added: r.Summary.Additions,
			Removed: r.Summary.Deletions})
		for _, f := range r.Files {
			at := strings.TrimPrefix(f.Path, "/")
			if left == 0 || f.Status == changes.Deleted || f.Symlink ||
				slices.ContainsFunc(t.Files, func(o views.File) bool { return o.Path == at }) {
				continue
			}
			card := b.File(f.Path)
			if card.Modified.IsZero() { // gone since
				continue
			}
			card.New = f.Status == changes.Created
			t.Files = append(t.Files, card)
			left--
		}
	}
	return nil
}

// made are the files of turns that were not handed over.
func (v *conversation) made() []views.File {
	var out []views.File
	for i := len(v.turns.Turns) - 1; i >= 0; i-- {
		for _, f := range v.turns.Turns[i].Files {
			known := func(o views.File) bool { return o.Path == f.Path }
			if !slices.Contains(v.artifacts, "/"+f.Path) && !slices.ContainsFunc(out, known) {
				out = append(out, f)
			}
		}
	}
	return out
}

// changes is GET /ui/threads/:id/changes/:run: what a run did to files, for the panel.
func (u *UI) changes(c echo.Context, t store.Thread) error {
	if !page.WantsFragment(c.Request()) {
		return c.Redirect(http.StatusSeeOther, views.ChangesURL(t.ID, page.Param(c, "run")))
	}
	p, err := u.changesPanel(c, t)
	if err != nil {
		return err
	}
	return page.HTML(c, http.StatusOK, page.InLang(page.ReadPrefs(c.Request()).Lang, files.Panel(p)))
}

// changesPage is GET /workspace/chats/:id/changes/:run.
func (u *UI) changesPage(c echo.Context, t store.Thread) error {
	p, err := u.changesPanel(c, t)
	if err != nil {
		return err
	}
	shell, err := u.Shell(c, views.NavNone, t.ID)
	if err != nil {
		return err
	}
	return page.HTML(c, http.StatusOK, files.FilePage(views.FilePage{Shell: shell, Panel: p}))
}

func (u *UI) changesPanel(c echo.Context, t store.Thread) (views.Panel, error) {
	p := views.Panel{ThreadID: t.ID, Title: t.Title, Changes: &views.Changes{}}
	ctx, run := c.Request().Context(), page.Param(c, "run")
	row, err := u.DB.Run(ctx, run)
	if err == nil && row.ThreadID != t.ID {
		err = store.ErrNotFound
	}
	if err != nil {
		return p, err
	}
	r, _, err := u.changesOf(ctx, t.ID, run)
	if err != nil {
		return p, err
	}
	p.Changes.RunChanges = views.RunChanges{Run: run, Files: r.Summary.Files(), Added: r.Summary.Additions,
		Removed: r.Summary.Deletions}
	p.Changes.More = r.Summary.Truncated
	describe, left := u.describer(t.ID), maxRunLines
	for _, f := range r.Files {
		one, err := u.change(t.ID, f, &left)
		if err != nil {
			return p, err
		}
		one.File = describe(f.Path)
		one.Gone = one.File.Modified.IsZero()
		p.Changes.List = append(p.Changes.List, one)
	}
	return p, nil
}

// change is one file with as many of its lines as are left.
func (u *UI) change(thread string, f changes.File, left *int) (views.Change, error) {
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
	lines, ok, err := changes.New(u.Dirs).Diff(thread, f)
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
