package completions

import (
	"encoding/json"
	"errors"
	"net/http"

	"github.com/labstack/echo/v4"

	"fawn/web/httpx"
	"fawn/web/inproc"
)

// failure is an error in the form of OpenAI's API.
type failure struct {
	Message string  `json:"message"`
	Type    string  `json:"type"`
	Param   *string `json:"param"`
	Code    *string `json:"code"`

	status int
}

// Error implements error.
func (f *failure) Error() string { return f.Message }

// invalid returns a 400 about a parameter.
func invalid(param, message string) error {
	return &failure{Message: param + ": " + message, Type: "invalid_request_error", Param: &param, status: http.StatusBadRequest}
}

// kinds maps statuses to error types; others of the server are "server_error".
var kinds = map[int]string{401: "authentication_error", 403: "permission_error", 404: "invalid_request_error",
	413: "invalid_request_error", 422: "invalid_request_error", 400: "invalid_request_error", 409: "conflict_error",
	429: "rate_limit_error"}

// failureOf converts an error of the API for OpenAI's clients. A field's problem is a 400, as in their API.
func failureOf(err error) *failure {
	var f *failure
	if errors.As(err, &f) {
		return f
	}
	f = &failure{Type: "server_error"}
	var told *inproc.Refusal
	if errors.As(err, &told) {
		f.status, f.Message = told.Status, told.Text
	} else {
		var detail any
		f.status, detail = httpx.StatusOf(err)
		body, _ := json.Marshal(map[string]any{"detail": detail}) // a detail always encodes
		f.Message = inproc.Detail(body, f.status)
		var object struct{ Detail struct{ Message string } }
		if json.Unmarshal(body, &object) == nil && object.Detail.Message != "" {
			f.Message = object.Detail.Message
		}
	}
	if kind := kinds[f.status]; kind != "" {
		f.Type = kind
	}
	if f.status == http.StatusUnprocessableEntity {
		f.status = http.StatusBadRequest
	}
	return f
}

// failureJSON is an error response.
type failureJSON struct {
	Error *failure `json:"error"`
}

// worded converts errors of the routes to OpenAI's form. Errors without a status are left to the server's
// handler, which logs them.
func (s *Server) worded(next echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) error {
		err := next(c)
		if err == nil || c.Response().Committed || httpx.Left(c.Request(), err) {
			return err
		}
		f := failureOf(err)
		if f.status == http.StatusInternalServerError {
			return err
		}
		if f.status == http.StatusUnauthorized {
			c.Response().Header().Set("WWW-Authenticate", "Bearer")
		}
		if f.status == http.StatusServiceUnavailable || f.status == http.StatusTooManyRequests {
			c.Response().Header().Set("Retry-After", "5")
		}
		return httpx.JSON(c, f.status, failureJSON{f})
	}
}
