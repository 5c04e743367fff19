package httpx

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"io"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/andybalholm/brotli"
	"github.com/labstack/echo/v4"
)

// worthIt is the size in bytes from which a body is compressed: less fits into one packet.
const worthIt = 1 << 10

// Levels at which pages take a millisecond or two.
const (
	brotliLevel = 4
	gzipLevel   = 5
)

// compressors are kept between pages: each holds some hundred kilobytes.
var compressors = map[string]*sync.Pool{
	"br":   {New: func() any { return brotli.NewWriterLevel(io.Discard, brotliLevel) }},
	"gzip": {New: func() any { zw, _ := gzip.NewWriterLevel(io.Discard, gzipLevel); return zw }},
}

// compressor is the common interface of both kinds of writers.
type compressor interface {
	io.WriteCloser
	Reset(io.Writer)
}

// Compressed responds with a body compressed as far as the client supports it. Event streams never use
// it: a compressor would hold their events back.
func Compressed(c echo.Context, status int, contentType string, body []byte) error {
	h := c.Response().Header()
	h.Add("Vary", "Accept-Encoding")
	if coding := Coding(c.Request().Header.Get("Accept-Encoding")); coding != "" && len(body) >= worthIt {
		pool := compressors[coding]
		zw := pool.Get().(compressor)
		var out bytes.Buffer
		out.Grow(len(body) / 4)
		zw.Reset(&out)
		_, err := zw.Write(body)
		if closed := zw.Close(); err == nil {
			err = closed
		}
		zw.Reset(io.Discard) // its output is discarded
		pool.Put(zw)
		if err != nil {
			return err
		}
		h.Set("Content-Encoding", coding)
		body = out.Bytes()
	}
	return c.Blob(status, contentType, body)
}

// Coding returns the best coding of a body that an Accept-Encoding header allows: br, gzip or none.
func Coding(accept string) string {
	best := ""
	for part := range strings.SplitSeq(accept, ",") {
		name, params, _ := strings.Cut(part, ";")
		name = strings.ToLower(strings.TrimSpace(name))
		if name != "br" && name != "gzip" || name == "gzip" && best == "br" {
			continue
		}
		weight, given := strings.CutPrefix(strings.ReplaceAll(params, " ", ""), "q=")
		if q, err := strconv.ParseFloat(weight, 64); given && (err != nil || q <= 0) {
			continue
		}
		best = name
	}
	return best
}

// JSON answers with v in the form that is stored everywhere else: no HTML escapes.
func JSON(c echo.Context, status int, v any) error {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return err
	}
	return c.JSONBlob(status, bytes.TrimSuffix(b.Bytes(), []byte("\n")))
}

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
