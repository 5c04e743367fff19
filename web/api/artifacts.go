package api

import (
	"errors"
	"io"
	"net/http"
	"path"
	"strings"

	"github.com/labstack/echo/v4"

	"fawn/sandbox/files"
	"fawn/uploads"
	"fawn/web/httpx"
	"fawn/web/route"
)

// artifact serves a file of a thread, with ranges.
func (m mount) artifact(c echo.Context, id string) error {
	download, err := httpx.Bool(c.QueryParams(), "download", false)
	if err != nil {
		return err
	}
	side, err := httpx.Side(c)
	if err != nil {
		return err
	}
	p := "/" + strings.TrimPrefix(route.Param(c, "*"), "/")
	if p != files.UserData && !strings.HasPrefix(p, files.UserData+"/") {
		return httpx.Errorf(http.StatusBadRequest, "Path must start with %s", files.UserData)
	}
	dir, err := m.files(id)
	if err != nil {
		return err
	}
	if at, _, err := m.Dirs.ProjectDir(id); dir == nil && at != "" && err == nil { // a chat without a folder yet
		if err := m.Dirs.Create(id); err != nil {
			return err
		}
		if dir, err = m.files(id); err != nil {
			return err
		}
	}
	if dir == nil {
		if _, err := files.Clean(p); errors.Is(err, files.ErrEscape) {
			return route.Traversal()
		}
		return route.NoFile(p)
	}
	defer dir.Close()
	if archive, inner, ok := skillPath(p); ok {
		return m.skillFile(c, dir, archive, inner, download)
	}
	file, info, err := route.OpenFile(dir, p)
	if err != nil {
		return err
	}
	defer file.Close()
	if side > 0 {
		t, err := uploads.Thumb(c.Request().Context(), m.Pictures, id, file, side)
		if err != nil {
			return err
		}
		return httpx.Thumbnail(c, t.Type, t.Hash, t.Data)
	}
	head := make([]byte, uploads.HeadBytes)
	n, err := file.ReadAt(head, 0)
	if err != nil && !errors.Is(err, io.EOF) {
		return err
	}
	name := path.Base(p)
	kind, active := uploads.ContentType(name, head[:n])
	route.FileHeaders(c.Response().Header(), name, kind, active || download)
	http.ServeContent(c.Response(), c.Request(), name, info.ModTime(), file)
	return nil
}
