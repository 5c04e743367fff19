package api

import (
	"errors"
	"io/fs"
	"net/http"

	"github.com/labstack/echo/v4"

	"fawn/sandbox"
	"fawn/uploads"
	"fawn/web/httpx"
)

// formOverhead is how much a form may add to the files in it.
const formOverhead = 1 << 20

// upload stores the files of a form. They may come before the thread's first run.
func (m mount) upload(c echo.Context, id string) error {
	r := c.Request()
	limits := m.Uploads()
	if r.ContentLength > limits.MaxTotalSize+formOverhead {
		c.Response().Header().Set("Connection", "close") // the rest of the body is not worth reading
		return &uploads.TotalTooLargeError{Limit: limits.MaxTotalSize}
	}
	r.Body = http.MaxBytesReader(c.Response(), r.Body, limits.MaxTotalSize+formOverhead)
	form, err := r.MultipartReader()
	if err != nil {
		return httpx.Errorf(http.StatusBadRequest, "%s", uploads.ErrNoFiles)
	}
	if err := m.Dirs.Create(id); err != nil {
		return err
	}
	dir, err := m.Dirs.Open(id)
	if err != nil {
		return err
	}
	defer dir.Close()
	out, err := uploads.Save(r.Context(), dir, id, form, limits)
	if err != nil {
		var over *http.MaxBytesError
		if errors.As(err, &over) {
			return &uploads.TotalTooLargeError{Limit: limits.MaxTotalSize}
		}
		return err
	}
	return httpx.JSON(c, http.StatusOK, out)
}

// files opens a thread's folder; nil when it has none yet.
func (a *API) files(thread string) (*sandbox.Files, error) {
	dir, err := a.Dirs.Open(thread)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	return dir, err
}

func (m mount) listUploads(c echo.Context, id string) error {
	dir, err := m.files(id)
	if err != nil {
		return err
	}
	list := uploads.List{Files: []uploads.File{}}
	if dir != nil {
		defer dir.Close()
		if list, err = uploads.Files(dir, id); err != nil {
			return err
		}
	}
	return httpx.JSON(c, http.StatusOK, list)
}

func (m mount) uploadLimits(c echo.Context, _ string) error {
	return httpx.JSON(c, http.StatusOK, m.Uploads())
}

func (m mount) deleteUpload(c echo.Context, id string) error {
	name := pathParam(c, "name")
	dir, err := m.files(id)
	if err != nil {
		return err
	}
	if dir == nil {
		return &uploads.NotFoundError{Name: name}
	}
	defer dir.Close()
	if err := uploads.Delete(dir, name); err != nil {
		return err
	}
	return httpx.JSON(c, http.StatusOK, map[string]any{"success": true, "message": "Deleted " + name})
}
