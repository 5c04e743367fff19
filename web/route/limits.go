package route

import (
	"encoding/json"
	"errors"
	"mime/multipart"
	"net/http"
	"net/url"
	"strings"

	"github.com/labstack/echo/v4"

	"fawn/agent/config"
	"fawn/uploads"
	"fawn/web/httpx"
)

// Limits returns the currently configured sizes.
func (p *Parts) Limits() config.Server { return p.Config().File.Server }

// Bind reads the JSON body of a request.
func (p *Parts) Bind(c echo.Context, into any) error {
	return httpx.Bind(c.Request(), p.BodyLimit(), into)
}

// BodyLimit returns the size limit of a body.
func (p *Parts) BodyLimit() httpx.Limit {
	return httpx.Limit{Bytes: p.Limits().MaxBodyBytes, Key: "server.max_body_bytes"}
}

// Given returns raw, or nil if it is absent or null.
func Given(raw json.RawMessage) json.RawMessage {
	if string(raw) == "null" {
		return nil
	}
	return raw
}

// Metadata checks a metadata object of a request: an object within the limit, or nil.
func (p *Parts) Metadata(raw json.RawMessage) (map[string]json.RawMessage, error) {
	raw = Given(raw)
	if raw == nil {
		return nil, nil
	}
	if max := p.Limits().MaxMetadataBytes; int64(len(raw)) > max {
		return nil, httpx.TooLarge("metadata", max, "server.max_metadata_bytes")
	}
	return Members("metadata", raw)
}

// Param returns a parameter of the path, decoded.
func Param(c echo.Context, name string) string {
	v := c.Param(name)
	if c.Request().URL.RawPath == "" || !strings.Contains(v, "%") {
		return v
	}
	if dec, err := url.PathUnescape(v); err == nil {
		return dec
	}
	return v
}

// MaxName limits names of assistants and titles of tasks, longestText descriptions.
const (
	MaxName = 256
	MaxText = 4096
)

// MaxID limits the length of a thread folder's name.
const MaxID = 64

// BadID refuses an id that a client must not use for a thread.
func (p *Parts) BadID(where, id string) error {
	return httpx.Invalid(where, "thread_id", "want 1 to %d letters, digits, dashes and underscores, got %q",
		min(p.Limits().MaxIDBytes, MaxID), Cut(id, 80))
}

// ValidID reports whether a client may use id for a thread.
func (p *Parts) ValidID(id string) bool {
	if id == "" || len(id) > min(p.Limits().MaxIDBytes, MaxID) {
		return false
	}
	for _, c := range []byte(id) {
		switch {
		case 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z', '0' <= c && c <= '9', c == '-', c == '_':
		default:
			return false
		}
	}
	return true
}

// Cut returns a text of at most n bytes, for errors.
func Cut(s string, n int) string {
	if len(s) > n {
		return strings.ToValidUTF8(s[:n], "") + "…"
	}
	return s
}

// formOverhead is the maximum size of a form besides its files.
const formOverhead = 1 << 20

// UploadForm returns the form of a request that uploads files, with the limits it has.
func (p *Parts) UploadForm(c echo.Context) (*multipart.Reader, uploads.Config, error) {
	r, limits := c.Request(), p.Uploads()
	if r.ContentLength > limits.MaxTotalSize+formOverhead {
		c.Response().Header().Set("Connection", "close") // the rest of the body is not worth reading
		return nil, limits, &uploads.TotalTooLargeError{Limit: limits.MaxTotalSize}
	}
	r.Body = http.MaxBytesReader(c.Response(), r.Body, limits.MaxTotalSize+formOverhead)
	form, err := r.MultipartReader()
	if err != nil {
		return nil, limits, httpx.Errorf(http.StatusBadRequest, "%s", uploads.ErrNoFiles)
	}
	return form, limits, nil
}

// UploadError words an error of storing a form, including the server's own limit.
func UploadError(err error, limits uploads.Config) error {
	var over *http.MaxBytesError
	if errors.As(err, &over) {
		return &uploads.TotalTooLargeError{Limit: limits.MaxTotalSize}
	}
	return err
}
