package httpx

import (
	"bytes"
	"net/http"
	"time"

	"github.com/labstack/echo/v4"
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

// Thumbnail responds with a picture drawn by the server, which has no active content. hash identifies
// its content.
func Thumbnail(c echo.Context, kind, hash string, data []byte) error {
	h := c.Response().Header()
	h.Set("Content-Type", kind)
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Content-Security-Policy", "default-src 'none'; sandbox")
	if h.Get("Cache-Control") == "" {
		h.Set("Cache-Control", "private, no-cache")
	}
	h.Set("ETag", `"`+hash+`"`)
	http.ServeContent(c.Response(), c.Request(), "", time.Time{}, bytes.NewReader(data))
	return nil
}
