package api

import (
	"encoding/json"
	"net/url"
	"strings"

	"github.com/labstack/echo/v4"

	"fawn/agent/config"
	"fawn/web/httpx"
)

// limits are the sizes of this moment's configuration.
func (a *API) limits() config.Server { return a.snapshotNow().File.Server }

// bind reads the JSON body of a request.
func (a *API) bind(c echo.Context, into any) error {
	return httpx.Bind(c.Request(), a.bodyLimit(), into)
}

func (a *API) bodyLimit() httpx.Limit {
	return httpx.Limit{Bytes: a.limits().MaxBodyBytes, Key: "server.max_body_bytes"}
}

// given is raw, or nil when it is absent or null.
func given(raw json.RawMessage) json.RawMessage {
	if string(raw) == "null" {
		return nil
	}
	return raw
}

// metadata checks a metadata object of a request: an object within the limit, or nil.
func (a *API) metadata(raw json.RawMessage) (map[string]json.RawMessage, error) {
	raw = given(raw)
	if raw == nil {
		return nil, nil
	}
	if max := a.limits().MaxMetadataBytes; int64(len(raw)) > max {
		return nil, httpx.TooLarge("metadata", max, "server.max_metadata_bytes")
	}
	return members("metadata", raw)
}

// pathParam is a parameter of the path, decoded.
func pathParam(c echo.Context, name string) string {
	v := c.Param(name)
	if c.Request().URL.RawPath == "" || !strings.Contains(v, "%") {
		return v
	}
	if dec, err := url.PathUnescape(v); err == nil {
		return dec
	}
	return v
}

// longestID is what a folder of a thread may be called at most.
const longestID = 64

func (a *API) badID(where, id string) error {
	return httpx.Invalid(where, "thread_id", "want 1 to %d letters, digits, dashes and underscores, got %q",
		min(a.limits().MaxIDBytes, longestID), cut(id, 80))
}

// validID tells whether a client may use id for a thread.
func (a *API) validID(id string) bool {
	if id == "" || len(id) > min(a.limits().MaxIDBytes, longestID) {
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

func cut(s string, n int) string {
	if len(s) > n {
		return strings.ToValidUTF8(s[:n], "") + "…"
	}
	return s
}
