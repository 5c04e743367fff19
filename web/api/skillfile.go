package api

import (
	"archive/zip"
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

// maxMember limits one file inside an archive, in bytes once unpacked.
const maxMember = 16 << 20

// skillPath splits a path that continues inside a skill's archive.
func skillPath(p string) (archive, inner string, ok bool) {
	head, tail, ok := strings.Cut(p, ".skill/")
	return head + ".skill", tail, ok && tail != ""
}

// skillFile serves one file of an archive without unpacking the rest. The name may leave
// out the folder that archives usually have on top.
func (m mount) skillFile(c echo.Context, dir *files.Files, archive, inner string, download bool) error {
	file, info, err := route.OpenFile(dir, archive)
	if err != nil {
		return err
	}
	defer file.Close()
	z, err := zip.NewReader(file, info.Size())
	if err != nil {
		return httpx.Errorf(http.StatusBadRequest, "Not a skill archive: %s", archive)
	}
	var found *zip.File
	for _, f := range z.File {
		if f.Name == inner {
			found = f
			break
		}
		if found == nil && strings.HasSuffix(f.Name, "/"+inner) {
			found = f
		}
	}
	if found == nil || !found.Mode().IsRegular() {
		return httpx.Errorf(http.StatusNotFound, "File '%s' not found in skill archive", route.Cut(inner, 200))
	}
	tooLarge := httpx.Errorf(http.StatusRequestEntityTooLarge, "File in skill archive is larger than %d bytes",
		maxMember)
	if found.UncompressedSize64 > maxMember {
		return tooLarge
	}
	r, err := found.Open()
	if err != nil {
		return httpx.Errorf(http.StatusBadRequest, "File '%s' cannot be read from the skill archive",
			route.Cut(inner, 200))
	}
	defer r.Close()
	data, err := io.ReadAll(io.LimitReader(r, maxMember+1)) // the directory's size may be wrong
	if err != nil {
		return httpx.Errorf(http.StatusBadRequest, "File '%s' cannot be read from the skill archive",
			route.Cut(inner, 200))
	}
	if len(data) > maxMember {
		return tooLarge
	}
	name := path.Base(inner)
	kind, active := uploads.ContentType(name, data)
	route.FileHeaders(c.Response().Header(), name, kind, active || download)
	c.Response().Header().Set("Cache-Control", "private, max-age=300")
	return c.Blob(http.StatusOK, kind, data)
}
