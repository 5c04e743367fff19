package api

import (
	"errors"
	"io"
	"io/fs"
	"net/http"
	"net/url"
	"os"
	"path"
	"strings"
	"syscall"

	"github.com/labstack/echo/v4"

	"fawn/sandbox/files"
	"fawn/uploads"
	"fawn/web/httpx"
)

// artifactPolicy is what a browser may do with a file it shows on its own: nothing active.
const artifactPolicy = "default-src 'none'; style-src 'unsafe-inline'; img-src 'self' data: blob:; media-src 'self'; frame-ancestors 'self'"

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
	p := "/" + strings.TrimPrefix(pathParam(c, "*"), "/")
	if p != files.UserData && !strings.HasPrefix(p, files.UserData+"/") {
		return httpx.Errorf(http.StatusBadRequest, "Path must start with %s", files.UserData)
	}
	dir, err := m.files(id)
	if err != nil {
		return err
	}
	if dir == nil {
		if _, err := files.Clean(p); errors.Is(err, files.ErrEscape) {
			return escape()
		}
		return missing(p)
	}
	defer dir.Close()
	if archive, inner, ok := skillPath(p); ok {
		return m.skillFile(c, dir, archive, inner, download)
	}
	file, info, err := openArtifact(dir, p)
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
	serveHeaders(c.Response().Header(), name, kind, active || download)
	http.ServeContent(c.Response(), c.Request(), name, info.ModTime(), file)
	return nil
}

// openArtifact opens a file, wording what can go wrong for clients.
func openArtifact(dir *files.Files, p string) (*os.File, fs.FileInfo, error) {
	file, info, err := dir.Open(p)
	switch {
	case errors.Is(err, files.ErrEscape):
		return nil, nil, escape()
	case errors.Is(err, files.ErrNotRegular):
		return nil, nil, httpx.Errorf(http.StatusBadRequest, "Path is not a file: %s", p)
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, syscall.ENOTDIR),
		errors.Is(err, syscall.EINVAL): // the last: a name that became another kind of thing meanwhile
		return nil, nil, missing(p)
	case errors.Is(err, fs.ErrPermission):
		return nil, nil, httpx.Errorf(http.StatusForbidden, "Access denied: %s", p)
	}
	return file, info, err
}

func missing(p string) error {
	return httpx.Errorf(http.StatusNotFound, "Artifact not found: %s", p)
}

func escape() error {
	return httpx.Errorf(http.StatusForbidden, "Access denied: path traversal detected")
}

// serveHeaders describes a file and keeps a browser from running what is in it. A browser's
// PDF viewer does not start inside a sandbox, and has one of its own.
func serveHeaders(h http.Header, name, kind string, attachment bool) {
	how, policy := "inline", "sandbox; "+artifactPolicy
	if attachment {
		how = "attachment"
	}
	if kind == "application/pdf" {
		policy = artifactPolicy
	}
	h.Set("Content-Type", kind)
	h.Set("Content-Disposition", how+"; filename*=UTF-8''"+strings.ReplaceAll(url.QueryEscape(name), "+", "%20"))
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Content-Security-Policy", policy)
	h.Set("Cache-Control", "private, no-cache")
}
