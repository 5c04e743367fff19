package files

import (
	"context"
	"errors"
	"net/http"
	"os"

	"github.com/labstack/echo/v4"

	"fawn/sandbox/files"
	"fawn/store"
	"fawn/uploads"
	"fawn/uploads/preview"
	"fawn/views"
	"fawn/views/i18n"
	"fawn/web/httpx"
	"fawn/web/ui/page"
)

// contents lists the content of an archive or skill, or explains why it can't.
func contents(ctx context.Context, dir *files.Files, clean string, view *views.FileView) error {
	file, info, err := dir.Open(clean)
	if err != nil {
		return err
	}
	defer file.Close()
	var a preview.Archive
	var s preview.Skill
	if view.Kind == views.KindSkill {
		s, err = preview.ReadSkill(file, info.Size())
		a = s.Archive
	} else {
		a, err = preview.ReadArchive(ctx, clean, file, info.Size())
	}
	switch {
	case errors.Is(err, preview.ErrDamaged):
		view.Problem = i18n.C(ctx, "files.archive.damaged")
		return nil
	case errors.Is(err, preview.ErrMany):
		view.Problem = i18n.C(ctx, "files.archive.many")
		return nil
	case err != nil:
		return err
	}
	list := &views.Archive{Files: a.Files, Bytes: a.Bytes, Cut: a.Cut, Outside: a.Outside, Main: s.Main,
		Fields: s.Fields}
	for _, e := range a.Entries {
		list.Entries = append(list.Entries, views.ArchiveEntry(e))
	}
	view.Archive, view.Text, view.Cut = list, s.Text, s.Long
	view.Bytes = info.Size()
	return nil
}

// notebook reads the cells of a notebook. Other files, and oversized ones, are shown as text.
func notebook(ctx context.Context, dir *files.Files, clean string, view *views.FileView) error {
	data, err := dir.ReadFile(ctx, clean, preview.MaxNotebook)
	if err != nil && !errors.Is(err, files.ErrTooLarge) {
		return err
	}
	nb, ok := preview.ReadNotebook(data)
	if err != nil || !ok {
		view.Kind = views.KindText
		return nil
	}
	view.Notebook = &views.Notebook{Language: nb.Language, More: nb.More, Cut: nb.Cut}
	for _, c := range nb.Cells {
		cell := views.Cell{Kind: c.Kind, Source: c.Source, Count: c.Count}
		for _, o := range c.Outputs {
			cell.Outputs = append(cell.Outputs, views.CellOutput(o))
		}
		view.Notebook.Cells = append(view.Notebook.Cells, cell)
	}
	return nil
}

// thumbnail responds with a small version of an image. Pages show an icon beneath, so a failure isn't an error for
// browsers.
func (h *Handlers) thumbnail(c echo.Context, thread string, file *os.File, side int) error {
	t, err := uploads.Thumb(c.Request().Context(), h.Pictures, thread, file, side)
	if errors.Is(err, uploads.ErrPicture) {
		return c.NoContent(http.StatusNoContent)
	}
	if err != nil {
		return err
	}
	if page.ForLink(c.Request()) {
		page.Private(c.Response().Header())
	}
	return httpx.Thumbnail(c, t.Type, t.Hash, t.Data)
}

// missingFile responds that there is no such file; a chip may still refer to it.
func missingFile(c echo.Context, side int) error {
	if side > 0 {
		return c.NoContent(http.StatusNoContent)
	}
	return store.ErrNotFound
}
