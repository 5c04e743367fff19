package gateway

import (
	"errors"
	"io"
	"mime/multipart"
	"net/http"

	"github.com/labstack/echo/v4"

	"fawn/agent/takeout"
	"fawn/store"
	"fawn/web/httpx"
	"fawn/web/imports"
	o "fawn/web/openapi"
	"fawn/web/route"
)

// importLimit limits the body of an import: the export and the frame around it.
const importLimit = imports.MaxBytes + 64<<10

type importList struct {
	Imports []imports.Import `json:"imports"`
}

// listImports handles GET /imports.
func (g *Gateway) listImports(c echo.Context) error {
	if g.Imports == nil {
		return store.ErrNotFound
	}
	list, err := g.Imports.List(c.Request().Context(), g.Owner(c))
	if err != nil {
		return err
	}
	return httpx.JSON(c, http.StatusOK, importList{list})
}

// previewImport handles POST /imports: a form with the export as its file.
func (g *Gateway) previewImport(c echo.Context) error {
	if g.Imports == nil {
		return store.ErrNotFound
	}
	r := c.Request()
	r.Body = http.MaxBytesReader(c.Response(), r.Body, importLimit)
	form, err := r.MultipartReader()
	if err != nil {
		return httpx.Errorf(http.StatusUnprocessableEntity, "send the export as the field file of a multipart form")
	}
	part, err := exportPart(form)
	if err != nil {
		return err
	}
	p, err := g.Imports.Preview(r.Context(), g.Owner(c), part)
	if err != nil {
		return importError(err)
	}
	return httpx.JSON(c, http.StatusOK, p)
}

// exportPart returns the file of a form.
func exportPart(form *multipart.Reader) (*multipart.Part, error) {
	for {
		part, err := form.NextPart()
		if err == io.EOF {
			return nil, httpx.Errorf(http.StatusUnprocessableEntity, "the form has no field file")
		}
		if err != nil {
			return nil, httpx.Errorf(http.StatusBadRequest, "the form could not be read")
		}
		if part.FormName() == "file" {
			return part, nil
		}
	}
}

// confirmImport handles POST /imports/{import_id}/confirm.
func (g *Gateway) confirmImport(c echo.Context) error {
	if g.Imports == nil {
		return store.ErrNotFound
	}
	done, err := g.Imports.Confirm(c.Request().Context(), g.Owner(c), c.Param("import"))
	if err != nil {
		return importError(err)
	}
	return httpx.JSON(c, http.StatusOK, done)
}

// undoneImport counts the deleted and kept chats of an import.
type undoneImport struct {
	Kept    int `json:"kept"`
	Removed int `json:"removed"`
}

// undoImport handles DELETE /imports/{import_id}.
func (g *Gateway) undoImport(c echo.Context) error {
	if g.Imports == nil {
		return store.ErrNotFound
	}
	removed, kept, err := g.Imports.Undo(c.Request().Context(), g.Owner(c), c.Param("import"))
	if err != nil {
		return importError(err)
	}
	return httpx.JSON(c, http.StatusOK, undoneImport{kept, removed})
}

func importError(err error) error {
	switch {
	case errors.Is(err, imports.ErrGone):
		return httpx.Errorf(http.StatusNotFound, "%s", err)
	case errors.Is(err, imports.ErrBusy):
		return httpx.Errorf(http.StatusTooManyRequests, "%s", err)
	case errors.Is(err, imports.ErrTooLarge), errors.Is(err, takeout.ErrTooLarge):
		return httpx.Errorf(http.StatusRequestEntityTooLarge, "%s", err)
	case errors.Is(err, takeout.ErrFormat), errors.Is(err, takeout.ErrDamaged):
		return httpx.Errorf(http.StatusUnprocessableEntity, "%s", err)
	}
	return err
}

// describeImports returns the routes that create chats from exports of other apps.
func describeImports() []o.Op {
	const tag = "Import"
	one := o.Of[imports.Import]()
	preview := o.Of[imports.Preview](o.Is("titles", o.Nullable(o.List(o.Of[imports.Title]()))))
	return []o.Op{
		{ID: "listImports", Tag: tag, Text: "List your imports",
			Out: route.Answered("The imports, newest first", o.Of[importList]())},
		{ID: "previewImport", Tag: tag, Text: "Preview an import", Form: "file",
			More: "The file is an export of ChatGPT, Claude or Open WebUI. Its chats stay hidden until they are " +
				"confirmed, and are removed after an hour otherwise.",
			Out: route.Answered("What is imported and what isn't", preview), Fail: []int{413, 422, 429}},
		{ID: "confirmImport", Tag: tag, Text: "Import the chats of a preview",
			Out: route.Answered("The import", one)},
		{ID: "undoImport", Tag: tag, Text: "Delete the chats of an import",
			More: "Chats that you have continued are kept.",
			Out: route.Answered("How many chats were deleted and kept",
				o.Of[undoneImport](o.Is("kept", o.Int(0)), o.Is("removed", o.Int(0))))},
	}
}
