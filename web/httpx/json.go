package httpx

import (
	"bytes"
	"encoding/json"

	"github.com/labstack/echo/v4"
)

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
