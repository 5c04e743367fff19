package ui

import (
	"errors"
	"io/fs"
	"log/slog"
	"net/http"
	"strings"
	"syscall"

	"github.com/a-h/templ"
	"github.com/google/uuid"
	"github.com/labstack/echo/v4"

	"fawn/sandbox/files"
	"fawn/views"
	"fawn/views/chat"
	"fawn/views/i18n"
	"fawn/views/part"
	"fawn/web/errstatus"
	"fawn/web/httpx"
	"fawn/web/principal"
)

// isMissing tells whether a file is not there; below a file, too, there is nothing.
func isMissing(err error) bool {
	return errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR)
}

func inLang(lang string, c templ.Component) templ.Component { return i18n.In(lang, c) }

// ErrorHandler answers browsers on pages and their actions with an error page, a toast or a
// frame, whichever was asked for, and leaves everything else to next. Statuses are those
// of errstatus.Of.
func (u *UI) ErrorHandler(next echo.HTTPErrorHandler) echo.HTTPErrorHandler {
	return func(err error, c echo.Context) {
		if !ours(c.Request()) || c.Response().Committed {
			next(err, c)
			return
		}
		if answerErr := u.answerError(c, err); answerErr != nil {
			u.Log.Warn("an error page could not be sent", "path", c.Request().URL.Path, "err", answerErr)
		}
	}
}

// ours tells whether a browser asks for something of this package.
func ours(r *http.Request) bool {
	p := r.URL.Path
	if p == "/" || strings.HasPrefix(p, "/workspace") || strings.HasPrefix(p, "/ui") {
		return fragment(r) || wantsPage(r) || strings.Contains(r.Header.Get("Accept"), "text/event-stream")
	}
	// A person who mistypes an address gets a page, also outside of these.
	return r.Method == http.MethodGet && wantsPage(r) && !strings.HasPrefix(p, "/api/") &&
		!strings.HasPrefix(p, "/threads") &&
		!strings.HasPrefix(p, "/runs") && !strings.HasPrefix(p, "/assistants")
}

func wantsPage(r *http.Request) bool { return strings.Contains(r.Header.Get("Accept"), "text/html") }

func (u *UI) answerError(c echo.Context, err error) error {
	r := c.Request()
	status, detail := errstatus.Of(err)
	if status == http.StatusUnauthorized && u.guarded() && !principal.Of(r.Context()).Known() {
		return toSignIn(c)
	}
	if errors.Is(err, files.ErrThread) { // on a page an impossible id is one that is not there
		status, detail = http.StatusNotFound, nil
	}
	text, id, level := "", uuid.NewString(), slog.LevelDebug
	if status >= http.StatusInternalServerError {
		level = slog.LevelError
	}
	u.Log.Log(r.Context(), level, "a page failed", "request", id, "status", status, "method", r.Method, "path", r.URL.Path,
		"err", err)
	if s, ok := detail.(string); ok && status != http.StatusNotFound {
		text = s
	}
	var d *httpx.Detail
	if errors.As(err, &d) {
		for name, values := range d.Header {
			c.Response().Header()[name] = values
		}
	}
	lang := readPrefs(r).Lang
	toast := views.Toast{Kind: views.NoticeError, Text: text}
	if toast.Text == "" {
		toast.Text = i18n.T(lang, errorKey(status))
	}
	switch {
	case wantsFrame(r):
		return sendFrame(c, status, views.Frame{Error: toast.Text})
	case scripted(r):
		return html(c, status, inLang(lang, part.Notice(views.Notice{Kind: views.NoticeError, Text: toast.Text})))
	case r.Header.Get("HX-Request") != "":
		c.Response().Header().Set("HX-Retarget", "#toasts")
		c.Response().Header().Set("HX-Reswap", "beforeend")
		return html(c, status, inLang(lang, part.Toast(toast)))
	}
	p := views.ErrorPage{Status: status, Detail: text, RequestID: id}
	if forLink(r) {
		p.Shell, p.Bare, p.Public = sharedShell(c), true, true
		return html(c, status, chat.ErrorPage(p))
	}
	shell, shellErr := u.shell(c, views.NavNone, "")
	p.Shell, p.Bare = shell, shellErr != nil
	return html(c, status, chat.ErrorPage(p))
}

// errorKey is the sentence of the catalogue for a status.
func errorKey(status int) string {
	switch status {
	case http.StatusNotFound, http.StatusGone:
		return "error.404"
	case http.StatusMisdirectedRequest:
		return "error.421"
	case http.StatusInsufficientStorage:
		return "error.507"
	case http.StatusUnauthorized, http.StatusForbidden:
		return "error.403"
	case http.StatusRequestEntityTooLarge:
		return "error.413"
	case http.StatusTooManyRequests, http.StatusServiceUnavailable:
		return "error.503"
	}
	return "error.500"
}
