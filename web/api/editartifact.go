package api

import (
	"net/http"
	"strings"

	"github.com/labstack/echo/v4"

	"fawn/agent/runs"
	"fawn/sandbox/files"
	"fawn/store"
	"fawn/web/httpx"
	"fawn/web/route"
)

// artifactBody is the body of editArtifact.
type artifactBody struct {
	Content *string `json:"content"`
	Sum     string  `json:"expected_sha256"`
}

// savedArtifact is a stored text.
type savedArtifact struct {
	Path string `json:"path"`
	Sum  string `json:"sha256"`
	Size int    `json:"size"`
}

// editArtifact handles PUT of a text made by the agent, with the hash of the version that was read.
func (m mount) editArtifact(c echo.Context, t store.Thread) error {
	var b artifactBody
	if err := m.BindStrict(c, &b); err != nil {
		return err
	}
	p := "/" + strings.TrimPrefix(route.Param(c, "*"), "/")
	switch {
	case b.Content == nil:
		return httpx.Invalid("body", "content", "want the whole text")
	case b.Sum == "":
		return httpx.Invalid("body", "expected_sha256", "want the hash of the text as it was read")
	case m.Runs.Active(t.ID) != "":
		return runs.ErrBusy
	}
	dir, err := m.files(t.ID)
	if err != nil {
		return err
	}
	if dir == nil {
		return route.NoFile(p)
	}
	defer dir.Close()
	sum, err := dir.Edit(c.Request().Context(), p, *b.Content, b.Sum)
	if err != nil {
		return err
	}
	clean, err := files.Clean(p)
	if err != nil {
		return err
	}
	return httpx.JSON(c, http.StatusOK, savedArtifact{clean, sum, len(*b.Content)})
}
