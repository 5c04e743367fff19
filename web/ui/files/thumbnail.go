package files

import (
	"errors"
	"net/http"
	"os"

	"github.com/labstack/echo/v4"

	"fawn/store"
	"fawn/uploads"
	"fawn/web/httpx"
	"fawn/web/ui/page"
)

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
