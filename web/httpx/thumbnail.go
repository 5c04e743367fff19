package httpx

import (
	"bytes"
	"errors"
	"net/http"
	"os"
	"time"

	"github.com/labstack/echo/v4"

	"fawn/uploads"
)

// Side reads the size of a thumbnail from a query: the longest side in pixels, which becomes
// the next of few sizes. Absent is 0.
func Side(c echo.Context) (int, error) {
	side, err := Int(c.QueryParams(), "thumb", 0, 1, 1024)
	if err != nil || side == 0 {
		return 0, err
	}
	for _, size := range []int{96, 256, 512} {
		if side <= size {
			return size, nil
		}
	}
	return 1024, nil
}

// Thumbnail answers with a small version of a picture. It is drawn by the server, so there is
// nothing active in it.
func Thumbnail(c echo.Context, p uploads.Pictures, thread string, file *os.File, side int) error {
	info, err := file.Stat()
	if err != nil {
		return err
	}
	t, err := p.Thumbnail(c.Request().Context(), thread, file, info.Size(), side)
	if errors.Is(err, uploads.ErrPicture) {
		return Errorf(http.StatusUnsupportedMediaType, "No thumbnail: %s", err)
	}
	if err != nil {
		return err
	}
	h := c.Response().Header()
	h.Set("Content-Type", t.Type)
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Content-Security-Policy", "default-src 'none'; sandbox")
	h.Set("Cache-Control", "private, no-cache")
	h.Set("ETag", `"`+t.Hash+`"`)
	http.ServeContent(c.Response(), c.Request(), "", time.Time{}, bytes.NewReader(t.Data))
	return nil
}
