package httpx

import (
	"crypto/sha256"
	"encoding/base64"
	"net/http"
	"strings"

	"github.com/labstack/echo/v4"
)

// Tagged responds with JSON and an ETag of its bytes: a client that has them gets a 304. It is compressed like
// [Compressed].
func Tagged(c echo.Context, body []byte) error {
	hash := sha256.Sum256(body)
	tag := `W/"` + base64.RawURLEncoding.EncodeToString(hash[:15]) + `"`
	h := c.Response().Header()
	h.Set("ETag", tag)
	if h.Get("Cache-Control") == "" {
		h.Set("Cache-Control", "private, no-cache")
	}
	if r := c.Request(); r.Method == http.MethodGet && matches(r.Header.Get("If-None-Match"), tag) {
		return c.NoContent(http.StatusNotModified)
	}
	return Compressed(c, http.StatusOK, echo.MIMEApplicationJSON, body)
}

// matches reports whether a list of an If-None-Match header has a tag.
func matches(list, tag string) bool {
	for one := range strings.SplitSeq(list, ",") {
		one = strings.TrimSpace(one)
		if one == "*" || strings.TrimPrefix(one, "W/") == strings.TrimPrefix(tag, "W/") {
			return true
		}
	}
	return false
}
