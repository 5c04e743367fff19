package page

import (
	"errors"
	"io/fs"
	"log/slog"
	"net/http"
	"net/url"
	"strings"
	"syscall"

	"github.com/a-h/templ"
	"github.com/google/uuid"
	"github.com/labstack/echo/v4"

	"fawn/agent/channels"
	apps "fawn/agent/channels/chat"
	"fawn/sandbox/files"
	"fawn/views"
	"fawn/views/agents"
	"fawn/views/chat"
	"fawn/views/i18n"
	"fawn/views/part"
	"fawn/web/httpx"
	"fawn/web/principal"
)

// IsMissing reports whether a file is missing; a path below a file is missing, too.
func IsMissing(err error) bool {
	return errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR)
}

// InLang renders a component in a language.
func InLang(lang string, c templ.Component) templ.Component { return i18n.In(lang, c) }

// ErrorHandler responds to browsers' requests for pages and actions with an error page, a toast or a frame, as
// requested, and passes everything else to next. Statuses are those of httpx.StatusOf.
func (s *Site) ErrorHandler(next echo.HTTPErrorHandler) echo.HTTPErrorHandler {
	return func(err error, c echo.Context) {
		if !ours(c.Request()) || c.Response().Committed {
			next(err, c)
			return
		}
		if answerErr := s.answerError(c, err); answerErr != nil {
			s.Log.Warn("couldn't send an error page", "path", c.Request().URL.Path, "err", answerErr)
		}
	}
}

// ours reports whether a browser asks for something of this package.
func ours(r *http.Request) bool {
	p := r.URL.Path
	if p == "/" || strings.HasPrefix(p, "/workspace") || strings.HasPrefix(p, "/ui") {
		return WantsFragment(r) || WantsPage(r) || strings.Contains(r.Header.Get("Accept"), "text/event-stream")
	}
	// Mistyped addresses get a page, also outside of these.
	return r.Method == http.MethodGet && WantsPage(r) && !strings.HasPrefix(p, "/api/") &&
		!strings.HasPrefix(p, "/threads") &&
		!strings.HasPrefix(p, "/runs") && !strings.HasPrefix(p, "/assistants")
}

// WantsPage reports whether a browser asks for a page.
func WantsPage(r *http.Request) bool { return strings.Contains(r.Header.Get("Accept"), "text/html") }

func (s *Site) answerError(c echo.Context, err error) error {
	r := c.Request()
	status, detail := httpx.StatusFor(r, err)
	if status == http.StatusUnauthorized && s.Guarded() && !principal.Of(r.Context()).Known() {
		return toSignIn(c)
	}
	if errors.Is(err, files.ErrThread) { // on a page an invalid id is a missing one
		status, detail = http.StatusNotFound, nil
	}
	text, id, level := "", uuid.NewString(), slog.LevelDebug
	switch {
	case away(status): // the page shows the id
		level = slog.LevelWarn
	case status >= http.StatusInternalServerError:
		level = slog.LevelError
	}
	s.Log.Log(r.Context(), level, "page failed", "request", id, "status", status, "method", r.Method, "path",
		r.URL.Path, "err", err)
	var d *httpx.Detail
	worded := errors.As(err, &d)
	if said, ok := detail.(string); ok && status != http.StatusNotFound && (worded || !away(status)) {
		text = said
	}
	if said := DeniedText(c, err); said != "" {
		text = said
	}
	httpx.ErrorHeader(c.Response().Header(), status, err)
	lang := ReadPrefs(r).Lang
	toast := views.Toast{Kind: views.NoticeError, Text: text}
	if toast.Text == "" {
		toast.Text = i18n.T(lang, ErrorKey(status))
	}
	if WantsFragment(r) && text == "" && status == http.StatusNotFound { // the page itself is there
		toast.Text = i18n.T(lang, "error.404.text")
	}
	switch {
	case status == http.StatusNotFound && strings.Contains(r.Header.Get("Accept"), "text/event-stream"):
		c.Response().Header().Set(echo.HeaderContentType, "text/event-stream")
		return c.String(http.StatusOK, "event: gone\ndata:\n\n")
	case WantsFrame(r):
		return SendFrame(c, status, views.Frame{Error: toast.Text})
	case Scripted(r):
		return HTML(c, status, InLang(lang, part.Notice(views.Notice{Kind: views.NoticeError, Text: toast.Text})))
	case r.Header.Get("HX-Request") != "":
		c.Response().Header().Set("HX-Retarget", "#toasts")
		c.Response().Header().Set("HX-Reswap", "beforeend")
		return HTML(c, status, InLang(lang, part.Toast(toast)))
	}
	p := views.ErrorPage{Status: status, Detail: text, RequestID: id}
	if ForLink(r) {
		p.Shell, p.Bare, p.Public = SharedShell(c), true, true
		return HTML(c, status, chat.ErrorPage(p))
	}
	shell, shellErr := s.Shell(c, views.NavNone, "")
	p.Shell, p.Bare = shell, shellErr != nil
	return HTML(c, status, chat.ErrorPage(p))
}

// away reports whether a status means that the server is busy, or away for a moment.
func away(status int) bool { return status == http.StatusServiceUnavailable }

// ErrorKey returns the sentence of the catalogue for a status.
func ErrorKey(status int) string {
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

// toSignIn responds to requests without a session: pages redirect to /login, and background requests tell the page to
// do so.
func toSignIn(c echo.Context) error {
	r := c.Request()
	where := views.LoginURL
	if r.Method == http.MethodGet && !WantsFragment(r) && r.URL.Path != "/" {
		where += "?next=" + url.QueryEscape(r.URL.RequestURI())
	}
	switch {
	case strings.Contains(r.Header.Get("Accept"), "text/event-stream"):
		c.Response().Header().Set(echo.HeaderContentType, "text/event-stream")
		return c.String(http.StatusOK, "event: gone\ndata:\n\n")
	case WantsFrame(r):
		return httpx.JSON(c, http.StatusUnauthorized,
			views.Frame{Error: Say(c, "account.signedout"), Location: Based(c, where)})
	case r.Header.Get("HX-Request") != "":
		c.Response().Header().Set("HX-Redirect", where)
		return c.NoContent(http.StatusUnauthorized)
	}
	c.Response().Header().Set("Cache-Control", "no-store")
	return c.Redirect(http.StatusSeeOther, where)
}

// Based returns a path as the browser sees it.
func Based(c echo.Context, path string) string { return views.Base(c.Request().Context()) + path }

// maxRaw limits quoted text of a platform, in bytes.
const maxRaw = 2000

// Trouble explains a failure of a chat app.
func Trouble(app string, t apps.Trouble) *views.Trouble {
	v := &views.Trouble{App: app, Label: app, Cause: string(t.Cause), Need: Head(t.Need, MaxTitle)}
	if p, known := channels.ProviderOf(app); known {
		v.Label = p.Display
	}
	if t.Cause != apps.Disconnected && t.Cause != apps.Deleted {
		v.Raw = Head(t.Text, maxRaw)
	}
	return v
}

// Missing returns the page of a missing agent or skill.
func (s *Site) Missing(skill bool) echo.HandlerFunc {
	return func(c echo.Context) error {
		nav := views.NavAgents
		if skill {
			nav = views.NavSkills
		}
		shell, err := s.Shell(c, nav, "")
		if err != nil {
			return err
		}
		return HTML(c, http.StatusNotFound,
			agents.Missing(views.MissingPage{Shell: shell, Name: Head(OneLine(Param(c, "name")), MaxTitle),
				Skill: skill}))
	}
}
