package account

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"strconv"
	"strings"

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
	"fawn/web/ui/page"
)

// appName is this server's name in authenticator apps and passkeys.
const appName = "Fawn"

// secure reports whether the browser's connection is encrypted.
func secure(r *http.Request) bool { return strings.HasPrefix(httpx.Origin(r), "https://") }

// withAccounts wraps the handler of a page that exists only with accounts.
func (h *Handlers) withAccounts(next echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) error {
		if !h.Guarded() {
			if c.Request().Method == http.MethodGet && page.WantsPage(c.Request()) {
				return c.Redirect(http.StatusFound, "/")
			}
			return store.ErrNotFound
		}
		return next(c)
	}
}

func (h *Handlers) factors() factor.Factors { return factor.Factors{DB: h.DB, Seal: h.seal} }

// clientIP returns the address of a request's client.
func (h *Handlers) clientIP(c echo.Context) string { return h.Accounts.Visit(c.Request(), false).IP }

// afterwards returns the page requested before signing in.
func afterwards(next string) string {
	next = page.LocalPath(next, views.NewChatURL)
	for _, loop := range []string{views.LoginURL, views.LogoutURL, views.SetupURL, views.ResetURL, "/ui/"} {
		if strings.HasPrefix(next, loop) {
			return views.NewChatURL
		}
	}
	return next
}

// loginPage handles GET /login.
func (h *Handlers) loginPage(c echo.Context) error {
	if principal.Of(c.Request().Context()).Known() {
		return c.Redirect(http.StatusFound, afterwards(c.QueryParam("next")))
	}
	empty, err := h.Accounts.NeedsSetup(c.Request().Context())
	if err != nil {
		return err
	}
	if empty {
		return c.Redirect(http.StatusFound, views.SetupURL)
	}
	p := views.SignIn{Next: c.QueryParam("next"), Keep: true}
	if c.QueryParam("done") == "reset" {
		p.Notice = page.Say(c, "account.reset.done")
	}
	return h.showSignIn(c, http.StatusOK, p)
}

// showSignIn answers with the page to sign in.
func (h *Handlers) showSignIn(c echo.Context, status int, p views.SignIn) error {
	p.Shell, p.Local = page.StrangerShell(c), true
	if p.Next = afterwards(p.Next); p.Next == views.NewChatURL {
		p.Next = ""
	}
	for _, one := range h.services() {
		one.URL = oauthURL(one.Name, url.Values{"next": {p.Next}})
		p.Services = append(p.Services, one)
	}
	_, err := passkey.At(httpx.Origin(c.Request()), appName)
	p.Passkeys = err == nil
	c.Response().Header().Set("Cache-Control", "no-store")
	return page.HTML(c, status, viewaccount.SignIn(p))
}

// pendingSignIn is a sign-in with a correct password and a pending code.
type pendingSignIn struct {
	User string `json:"u"`
	Next string `json:"n"`
	Keep bool   `json:"k"`
}

// stepCode is the step of signing in after the password.
const stepCode = "code"

// login handles POST /login.
func (h *Handlers) login(c echo.Context) error {
	form, err := page.ReadForm(c.Request(), page.SmallForm)
	if err != nil {
		return err
	}
	ctx := c.Request().Context()
	p := views.SignIn{Email: strings.TrimSpace(form.Get("email")), Next: form.Get("next"), Keep: form.Get("keep") != ""}
	user, err := h.Accounts.CheckPassword(ctx, h.clientIP(c), p.Email, form.Get("password"))
	if err != nil {
		return h.refuseLogin(c, p, err)
	}
	required, _, err := h.factors().Required(ctx, user.ID)
	if err != nil {
		return err
	}
	if required {
		if err := h.keep(c, stepCode, pendingSignIn{user.ID, p.Next, p.Keep}); err != nil {
			return err
		}
		return c.Redirect(http.StatusSeeOther, views.LoginCodeURL)
	}
	return h.enter(c, user, p.Keep, p.Next)
}

// enter signs a person in and redirects.
func (h *Handlers) enter(c echo.Context, user store.User, keep bool, next string) error {
	if err := h.Accounts.SignIn(c, user, keep); err != nil {
		return err
	}
	return c.Redirect(http.StatusSeeOther, afterwards(next))
}

// refuseLogin shows the page again with the reason.
func (h *Handlers) refuseLogin(c echo.Context, p views.SignIn, err error) error {
	status, text, err := signInProblem(c, err)
	if err != nil {
		return err
	}
	p.Problem = text
	return h.showSignIn(c, status, p)
}

// signInProblem returns the reason of a refused sign-in, or passes on other errors.
func signInProblem(c echo.Context, err error) (status int, text string, other error) {
	var locked *account.ErrLocked
	switch {
	case errors.As(err, &locked):
		c.Response().Header().Set("Retry-After", strconv.Itoa(locked.Seconds()))
		return http.StatusTooManyRequests, i18n.Count(page.ReadPrefs(c.Request()).Lang, "account.wait",
			(locked.Seconds()+59)/60), nil
	case errors.Is(err, account.ErrCredentials):
		return http.StatusUnauthorized, page.Say(c, "account.wrong"), nil
	case errors.Is(err, account.ErrDisabled):
		return http.StatusForbidden, page.Say(c, "account.disabled"), nil
	case errors.Is(err, account.ErrBusy):
		c.Response().Header().Set("Retry-After", "2")
		return http.StatusServiceUnavailable, page.Say(c, "error.503.text"), nil
	case errors.Is(err, errSealed):
		return http.StatusBadRequest, page.Say(c, "account.expired"), nil
	}
	return 0, "", err
}

// codePage handles GET of the second step.
func (h *Handlers) codePage(c echo.Context) error {
	var p pendingSignIn
	if _, err := h.kept(c, stepCode, &p); err != nil {
		return c.Redirect(http.StatusFound, views.LoginURL)
	}
	return showCode(c, http.StatusOK, "")
}

func showCode(c echo.Context, status int, problem string) error {
	c.Response().Header().Set("Cache-Control", "no-store")
	return page.HTML(c, status,
		viewaccount.SignIn(views.SignIn{Shell: page.StrangerShell(c), Code: true, Problem: problem}))
}

// code handles POST of the second step.
func (h *Handlers) code(c echo.Context) error {
	form, err := page.ReadForm(c.Request(), page.SmallForm)
	if err != nil {
		return err
	}
	var p pendingSignIn
	spend, err := h.kept(c, stepCode, &p)
	if err != nil {
		return h.refuseLogin(c, views.SignIn{Keep: true}, err)
	}
	ctx, ip := c.Request().Context(), h.clientIP(c)
	user, err := h.user(ctx, p.User)
	if err == nil {
		err = h.Accounts.Try(ctx, ip, user, func() error { return h.factors().Check(ctx, user.ID, form.Get("code")) })
	}
	if errors.Is(err, factor.ErrCode) {
		return showCode(c, http.StatusUnauthorized, page.Say(c, "account.code.wrong"))
	}
	if err != nil {
		status, text, err := signInProblem(c, err)
		if err != nil {
			return err
		}
		return showCode(c, status, text)
	}
	if !spend() {
		return h.refuseLogin(c, views.SignIn{Keep: true}, errSealed)
	}
	return h.enter(c, user, p.Keep, p.Next)
}

// user returns an account that may sign in.
func (h *Handlers) user(ctx context.Context, id string) (store.User, error) {
	user, err := h.Accounts.ByID(ctx, id)
	switch {
	case errors.Is(err, store.ErrNotFound):
		return user, account.ErrCredentials
	case err == nil && user.Disabled:
		return user, account.ErrDisabled
	}
	return user, err
}

// signOut handles POST /logout.
func (h *Handlers) signOut(c echo.Context) error {
	if err := h.Accounts.SignOut(c); err != nil {
		return err
	}
	return c.Redirect(http.StatusSeeOther, views.LoginURL)
}
