package httpx

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"maps"
	"net/http"
	"slices"
	"syscall"

	"github.com/google/uuid"
	"github.com/labstack/echo/v4"

	"fawn/agent"
	"fawn/agent/access"
	"fawn/agent/runs"
	"fawn/agent/runs/request"
	"fawn/sandbox/files"
	"fawn/store"
	"fawn/uploads"
)

// statusGone is logged by proxies when the client left before the response.
const statusGone = 499

// retryAfter is the number of seconds after which a client may ask again that got a 503, unless the error names one.
const retryAfter = "5"

// StatusFor returns a request's status: [StatusOf] the error, or 499 if it failed because its client left.
func StatusFor(r *http.Request, err error) (status int, detail any) {
	if status, detail = StatusOf(err); r.Context().Err() != nil && ended(err) {
		return statusGone, nil
	}
	return status, detail
}

// ended reports whether an operation failed because its context ended.
func ended(err error) bool {
	return errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded)
}

// ErrorHeader adds headers for a status: Retry-After for a 503, and the error's own.
func ErrorHeader(h http.Header, status int, err error) {
	var d *Detail
	if errors.As(err, &d) {
		maps.Copy(h, d.Header)
	}
	if (status == http.StatusServiceUnavailable || errors.Is(err, store.ErrCrowded)) && h.Get("Retry-After") == "" {
		h.Set("Retry-After", retryAfter)
	}
}

// StatusOf maps errors to responses. An unlisted error is a 500 with a nil detail: its text is for the log.
func StatusOf(err error) (status int, detail any) {
	var d *Detail
	var he *echo.HTTPError
	var unasked *request.InterruptError
	switch {
	case errors.As(err, &d):
		return d.Status, d.Detail
	case errors.As(err, &he):
		return he.Code, he.Message
	case errors.Is(err, store.ErrCrowded):
		return http.StatusTooManyRequests, store.ErrCrowded.Error()
	case errors.Is(err, store.ErrAway): // its text may contain an address
		return http.StatusServiceUnavailable, store.ErrAway.Error()
	case errors.Is(err, store.ErrFenced):
		return http.StatusServiceUnavailable, store.ErrFenced.Error()
	case errors.As(err, &unasked):
		return http.StatusNotFound, unasked.Error()
	}
	for _, row := range []struct {
		target error
		status int
	}{
		{runs.ErrClosed, http.StatusServiceUnavailable},
		{store.ErrClosed, http.StatusServiceUnavailable},
		{runs.ErrBarred, http.StatusForbidden},
		{access.ErrDenied, http.StatusForbidden},
		{runs.ErrBusy, http.StatusConflict},
		{runs.ErrExists, http.StatusConflict},
		{runs.ErrNotCancelable, http.StatusConflict},
		{runs.ErrNotFound, http.StatusNotFound},
		{runs.ErrNoProject, http.StatusNotFound},
		{store.ErrNotFound, http.StatusNotFound},
		{store.ErrExists, http.StatusConflict},
		{store.ErrChanged, http.StatusConflict},
		{runs.ErrInput, http.StatusBadRequest},
		{agent.ErrMessage, http.StatusBadRequest},
		{agent.ErrPatch, http.StatusUnprocessableEntity},
		{uploads.ErrTooLarge, http.StatusRequestEntityTooLarge},
		{uploads.ErrNoFiles, http.StatusBadRequest},
		{uploads.ErrForm, http.StatusBadRequest},
		{uploads.ErrName, http.StatusBadRequest},
		{uploads.ErrPicture, http.StatusUnsupportedMediaType},
		{uploads.ErrNotFound, http.StatusNotFound},
		{files.ErrThread, http.StatusUnprocessableEntity},
		{files.ErrEscape, http.StatusForbidden},
		{files.ErrReadOnly, http.StatusForbidden},
		{files.ErrPath, http.StatusBadRequest},
		{files.ErrNotRegular, http.StatusBadRequest},
		{files.ErrNotDir, http.StatusBadRequest},
		{files.ErrTooLarge, http.StatusRequestEntityTooLarge},
		{files.ErrChanged, http.StatusPreconditionFailed},
		{files.ErrNotText, http.StatusUnsupportedMediaType},
		{files.ErrQuota, http.StatusInsufficientStorage},
		{fs.ErrNotExist, http.StatusNotFound},
		{syscall.ENOTDIR, http.StatusNotFound}, // below a file there is nothing
	} {
		if errors.Is(err, row.target) {
			return row.status, err.Error()
		}
	}
	if errors.Is(err, store.ErrFull) || errors.Is(err, runs.ErrStorage) ||
		slices.ContainsFunc(fullDisk(), func(e syscall.Errno) bool { return errors.Is(err, e) }) {
		return http.StatusInsufficientStorage,
			"the disk is full or failing, so nothing can be stored; free some space and try again"
	}
	if ended(err) { // a dependency ended, not the request; the text may contain an address
		return http.StatusServiceUnavailable, "the server couldn't finish this; try again"
	}
	return http.StatusInternalServerError, nil
}

// ErrorHandler responds to every error of a handler with {"detail": ...}. It logs errors without a
// status under an id, which is all the client sees. A response that has begun is cut off if it fails
// because of the server.
func ErrorHandler(log *slog.Logger) echo.HTTPErrorHandler {
	return func(err error, c echo.Context) {
		r := c.Request()
		status, detail := StatusFor(r, err)
		if c.Response().Committed {
			if status < statusGone || Left(r, err) {
				return
			}
			if status == http.StatusInternalServerError {
				log.Error("response interrupted", "method", r.Method, "path", r.URL.Path, "err", err)
			}
			panic(http.ErrAbortHandler) // abort, so that the result isn't mistaken for complete: followers of a run return
		}
		if status >= http.StatusInternalServerError && detail == nil {
			id := c.Response().Header().Get(echo.HeaderXRequestID)
			if id == "" {
				id = uuid.NewString()
			}
			log.Error("request failed", "request", id, "method", r.Method, "path", r.URL.Path, "err", err)
			detail = "internal error (request " + id + ")"
		}
		ErrorHeader(c.Response().Header(), status, err)
		if r.Method == http.MethodHead || status == statusGone {
			err = c.NoContent(status)
		} else {
			err = JSON(c, status, map[string]any{"detail": detail})
		}
		if err != nil && !Left(r, err) {
			log.Warn("couldn't send an error response", "path", r.URL.Path, "err", err)
		}
	}
}

// fullDisk returns the system's answers when a file cannot grow.
func fullDisk() []syscall.Errno {
	return []syscall.Errno{syscall.ENOSPC, syscall.EDQUOT, syscall.EFBIG}
}

// Detail is an error meant for the client. The body of the answer is {"detail": Detail}.
type Detail struct {
	Status int
	Detail any         // a sentence, or a list of [Problem]
	Header http.Header // added to the answer; may be nil
}

// Error implements error.
func (d *Detail) Error() string { return fmt.Sprintf("%d: %v", d.Status, d.Detail) }

// Problem describes an invalid field of a request.
type Problem struct {
	Loc  []string `json:"loc"` // "body" or "query" or "path", then the names that lead to the field
	Msg  string   `json:"msg"`
	Type string   `json:"type"`
}

// Errorf returns a Detail with a sentence.
func Errorf(status int, format string, args ...any) *Detail {
	return &Detail{Status: status, Detail: fmt.Sprintf(format, args...)}
}

// Invalid returns a 422 about one field. where is "body", "query" or "path".
func Invalid(where, field, format string, args ...any) *Detail {
	return &Detail{Status: http.StatusUnprocessableEntity,
		Detail: []Problem{{Loc: []string{where, field}, Msg: fmt.Sprintf(format, args...), Type: "value_error"}}}
}

// TooLarge returns a 413 that names the limit in bytes and the key that sets it.
func TooLarge(what string, limit int64, key string) *Detail {
	return Errorf(http.StatusRequestEntityTooLarge,
		"%s is larger than %d bytes (%s in the config sets this limit)", what, limit, key)
}
