package gateway

import (
	"errors"
	"io/fs"
	"net/http"
	"path"

	"github.com/labstack/echo/v4"

	"fawn/sandbox/changes"
	"fawn/sandbox/files"
	"fawn/store"
	"fawn/web/api/wire"
	"fawn/web/httpx"
	"fawn/web/route"

	o "fawn/web/openapi"
)

// fileVersionJSON is a content that a file had.
type fileVersionJSON struct {
	ID     string  `json:"version_id"`
	At     string  `json:"created_at"`
	Size   int64   `json:"size"`
	Hash   string  `json:"sha256"`
	Run    *string `json:"run_id"`
	Call   *string `json:"tool_call_id"`
	Tool   *string `json:"made_by"`
	Stored bool    `json:"available"`
}

type fileVersionList struct {
	Versions []fileVersionJSON `json:"versions"`
}

// fileVersions handles GET …/file-versions/{path}: the versions of a file, or with version the content of
// one.
func (g *Gateway) fileVersions(c echo.Context, t store.Thread) error {
	name, err := files.Clean("/" + route.Param(c, "*"))
	if err != nil {
		return err
	}
	history := changes.New(g.Dirs)
	if id := c.QueryParam("version"); id != "" {
		data, _, err := history.Content(t.ID, name, id)
		if err != nil {
			return versionError(err)
		}
		route.FileHeaders(c.Response().Header(), path.Base(name), "application/octet-stream", true)
		return c.Blob(http.StatusOK, "application/octet-stream", data)
	}
	list, err := history.Versions(t.ID, name)
	if err != nil {
		return err
	}
	out := make([]fileVersionJSON, len(list))
	for i, v := range list {
		out[i] = fileVersionJSON{v.ID, wire.Stamp(v.At), v.Size, v.Hash, route.TextOrNull(v.Run), route.TextOrNull(v.Call),
			route.TextOrNull(v.Tool), v.Kept}
	}
	return httpx.JSON(c, http.StatusOK, fileVersionList{out})
}

// versionBody is the body of restoreFile.
type versionBody struct {
	Version string `json:"version"`
}

// restoreFile handles POST …/file-versions/{path}: an earlier version becomes the newest one.
func (g *Gateway) restoreFile(c echo.Context, t store.Thread) error {
	var b versionBody
	if err := g.BindStrict(c, &b); err != nil {
		return err
	}
	name, err := files.Clean("/" + route.Param(c, "*"))
	if err != nil {
		return err
	}
	if g.Runs.Active(t.ID) != "" {
		return httpx.Errorf(http.StatusConflict, "A run is in progress; restore the file when it has ended")
	}
	if err := changes.New(g.Dirs).Restore(c.Request().Context(), t.ID, name, b.Version); err != nil {
		return versionError(err)
	}
	return g.fileVersions(c, t)
}

func versionError(err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return httpx.Errorf(http.StatusNotFound, "This version of the file isn't stored")
	}
	return err
}

// describeVersions describes the routes.
func describeVersions() []o.Op {
	const tag = "Files"
	list := route.Answered("The versions, the newest first, or the content of one",
		o.Of[fileVersionList](o.Is("versions", o.List(o.Of[fileVersionJSON](o.Is("size", o.Int(0)))))))
	return []o.Op{
		{ID: "listFileVersions", Tag: tag, Text: "List the versions of a file in outputs",
			More:  "made_by is the tool, \"person\" for an edit, or \"restore\". Versions stay on the server where the run was.",
			Query: []o.Param{{Name: "version", Schema: o.String(), Text: "ID of a version, to get its content"}},
			Out:   list, Fail: []int{400}},
		{ID: "restoreFileVersion", Tag: tag, Text: "Make an earlier version of a file the newest one", Need: true,
			Body: o.Reads[versionBody](o.Req("version", o.String())), Out: list, Fail: []int{400, 409, 507}},
	}
}
