package ui

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/labstack/echo/v4"

	"fawn/store"
	"fawn/views"
	viewaccount "fawn/views/account"
	"fawn/views/i18n"
	"fawn/web/account"
	"fawn/web/account/factor"
	"fawn/web/account/passkey"
	"fawn/web/httpx"
	"fawn/web/principal"
)

// appName is what authenticator apps and passkeys call this server.
const appName = "Fawn"

// secure tells whether the browser's connection is encrypted.
func secure(r *http.Request) bool { return strings.HasPrefix(httpx.Origin(r), "https://") }

// guarded tells whether people have to sign in.
func (u *UI) guarded() bool { return u.Accounts != nil && u.Accounts.Required() }

// withAccounts is the handler of a page that only is where people sign in.
func (u *UI) withAccounts(h echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) error {
		if !u.guarded() {
			if c.Request().Method == http.MethodGet && wantsPage(c.Request()) {
				return c.Redirect(http.StatusFound, "/")
			}
			return store.ErrNotFound
		}
		return h(c)
	}
}

func (u *UI) factors() factor.Factors { return factor.Factors{DB: u.DB} }

// clientIP is where a request comes from.
func (u *UI) clientIP(c echo.Context) string { return u.Accounts.Visit(c.Request(), false).IP }

// who is the account of a request, for the frame of a page; nil where there is none.
func (u *UI) who(c echo.Context) *views.Who {
	p := principal.Of(c.Request().Context())
	if !u.guarded() || !p.Known() {
		return nil
	}
	return &views.Who{Name: p.Name, Email: p.Email, Operator: p.Operator()}
}

// strangerShell is what is around a page for people who are not signed in.
func strangerShell(c echo.Context) views.Shell {
	p := readPrefs(c.Request())
	return views.Shell{Lang: p.Lang, Theme: p.Theme, Size: p.Size, NoKeys: p.Keys == "off", Now: time.Now()}
}

// afterwards is the page that somebody wanted before signing in.
func afterwards(next string) string {
	next = localPath(next, views.NewChatURL)
	for _, loop := range []string{views.LoginURL, views.LogoutURL, views.SetupURL, views.ResetURL, "/ui/"} {
		if strings.HasPrefix(next, loop) {
			return views.NewChatURL
		}
	}
	return next
}

// loginPage is GET /login.
func (u *UI) loginPage(c echo.Context) error {
	if principal.Of(c.Request().Context()).Known() {
		return c.Redirect(http.StatusFound, afterwards(c.QueryParam("next")))
	}
	empty, err := u.Accounts.NeedsSetup(c.Request().Context())
	if err != nil {
		return err
	}
	if empty {
		return c.Redirect(http.StatusFound, views.SetupURL)
	}
	p := views.SignIn{Next: c.QueryParam("next"), Keep: true}
	if c.QueryParam("done") == "reset" {
		p.Notice = say(c, "account.reset.done")
	}
	return u.showSignIn(c, http.StatusOK, p)
}

// showSignIn answers with the page to sign in.
func (u *UI) showSignIn(c echo.Context, status int, p views.SignIn) error {
	p.Shell, p.Local = strangerShell(c), true
	if p.Next = afterwards(p.Next); p.Next == views.NewChatURL {
		p.Next = ""
	}
	for _, one := range u.services() {
		one.URL = oauthURL(one.Name, url.Values{"next": {p.Next}})
		p.Services = append(p.Services, one)
	}
	_, err := passkey.At(httpx.Origin(c.Request()), appName)
	p.Passkeys = err == nil
	c.Response().Header().Set("Cache-Control", "no-store")
	return html(c, status, viewaccount.SignIn(p))
}

// pendingSignIn is somebody whose password was right and who still owes a code.
type pendingSignIn struct {
	User string `json:"u"`
	Next string `json:"n"`
	Keep bool   `json:"k"`
}

// stepCode is the step of signing in after the password.
const stepCode = "code"

// login is POST /login.
func (u *UI) login(c echo.Context) error {
	form, err := readForm(c.Request(), maxSmallForm)
	if err != nil {
		return err
	}
	ctx := c.Request().Context()
	p := views.SignIn{Email: strings.TrimSpace(form.Get("email")), Next: form.Get("next"), Keep: form.Get("keep") != ""}
	user, err := u.Accounts.CheckPassword(ctx, u.clientIP(c), p.Email, form.Get("password"))
	if err != nil {
		return u.refuseLogin(c, p, err)
	}
	owes, _, err := u.factors().Required(ctx, user.ID)
	if err != nil {
		return err
	}
	if owes {
		if err := u.keep(c, stepCode, pendingSignIn{user.ID, p.Next, p.Keep}); err != nil {
			return err
		}
		return c.Redirect(http.StatusSeeOther, views.LoginCodeURL)
	}
	return u.enter(c, user, p.Keep, p.Next)
}

// enter signs somebody in and leads on.
func (u *UI) enter(c echo.Context, user store.User, keep bool, next string) error {
	if err := u.Accounts.SignIn(c, user, keep); err != nil {
		return err
	}
	return c.Redirect(http.StatusSeeOther, afterwards(next))
}

// refuseLogin shows the page again with why nobody was let in.
func (u *UI) refuseLogin(c echo.Context, p views.SignIn, err error) error {
	status, text, err := signInProblem(c, err)
	if err != nil {
		return err
	}
	p.Problem = text
	return u.showSignIn(c, status, p)
}

// signInProblem says why somebody was not let in, or returns an error that is another matter.
func signInProblem(c echo.Context, err error) (status int, text string, other error) {
	var locked *account.ErrLocked
	switch {
	case errors.As(err, &locked):
		c.Response().Header().Set("Retry-After", strconv.Itoa(locked.Seconds()))
		return http.StatusTooManyRequests, i18n.Count(readPrefs(c.Request()).Lang, "account.wait", (locked.Seconds()+59)/60), nil
	case errors.Is(err, account.ErrCredentials):
		return http.StatusUnauthorized, say(c, "account.wrong"), nil
	case errors.Is(err, account.ErrDisabled):
		return http.StatusForbidden, say(c, "account.disabled"), nil
	case errors.Is(err, account.ErrBusy):
		c.Response().Header().Set("Retry-After", "2")
		return http.StatusServiceUnavailable, say(c, "error.503.text"), nil
	case errors.Is(err, errSealed):
		return http.StatusBadRequest, say(c, "account.expired"), nil
	}
	return 0, "", err
}

// codePage is GET of the second step.
func (u *UI) codePage(c echo.Context) error {
	var p pendingSignIn
	if _, err := u.kept(c, stepCode, &p); err != nil {
		return c.Redirect(http.StatusFound, views.LoginURL)
	}
	return showCode(c, http.StatusOK, "")
}

func showCode(c echo.Context, status int, problem string) error {
	c.Response().Header().Set("Cache-Control", "no-store")
	return html(c, status, viewaccount.SignIn(views.SignIn{Shell: strangerShell(c), Code: true, Problem: problem}))
}

// code is POST of the second step.
func (u *UI) code(c echo.Context) error {
	form, err := readForm(c.Request(), maxSmallForm)
	if err != nil {
		return err
	}
	var p pendingSignIn
	spend, err := u.kept(c, stepCode, &p)
	if err != nil {
		return u.refuseLogin(c, views.SignIn{Keep: true}, err)
	}
	ctx, ip := c.Request().Context(), u.clientIP(c)
	user, err := u.user(ctx, p.User)
	if err == nil {
		err = u.Accounts.Try(ctx, ip, user, func() error { return u.factors().Check(ctx, user.ID, form.Get("code")) })
	}
	if errors.Is(err, factor.ErrCode) {
		return showCode(c, http.StatusUnauthorized, say(c, "account.code.wrong"))
	}
	if err != nil {
		status, text, err := signInProblem(c, err)
		if err != nil {
			return err
		}
		return showCode(c, status, text)
	}
	if !spend() {
		return u.refuseLogin(c, views.SignIn{Keep: true}, errSealed)
	}
	return u.enter(c, user, p.Keep, p.Next)
}

// user is an account that may sign in.
func (u *UI) user(ctx context.Context, id string) (store.User, error) {
	user, err := u.Accounts.ByID(ctx, id)
	switch {
	case errors.Is(err, store.ErrNotFound):
		return user, account.ErrCredentials
	case err == nil && user.Disabled:
		return user, account.ErrDisabled
	}
	return user, err
}

// signOut is POST /logout.
func (u *UI) signOut(c echo.Context) error {
	if err := u.Accounts.SignOut(c); err != nil {
		return err
	}
	return c.Redirect(http.StatusSeeOther, views.LoginURL)
}

// toSignIn answers whoever is not signed in and asks for something of a page: pages lead to
// /login, and what a page asks for in the background tells it to.
func toSignIn(c echo.Context) error {
	r := c.Request()
	where := views.LoginURL
	if r.Method == http.MethodGet && !fragment(r) && r.URL.Path != "/" {
		where += "?next=" + url.QueryEscape(r.URL.RequestURI())
	}
	switch {
	case strings.Contains(r.Header.Get("Accept"), "text/event-stream"):
		c.Response().Header().Set(echo.HeaderContentType, "text/event-stream")
		return c.String(http.StatusOK, "event: gone\ndata:\n\n")
	case wantsFrame(r):
		return httpx.JSON(c, http.StatusUnauthorized, views.Frame{Error: say(c, "account.signedout"), Location: based(c, where)})
	case r.Header.Get("HX-Request") != "":
		c.Response().Header().Set("HX-Redirect", where)
		return c.NoContent(http.StatusUnauthorized)
	}
	c.Response().Header().Set("Cache-Control", "no-store")
	return c.Redirect(http.StatusSeeOther, where)
}
