package account

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"strings"

	"github.com/labstack/echo/v4"

	"fawn/store"
	"fawn/views"
	"fawn/views/settings"
	"fawn/web/account"
	"fawn/web/account/factor"
	"fawn/web/account/passkey"
	"fawn/web/account/totp"
	"fawn/web/httpx"
	"fawn/web/principal"
	"fawn/web/ui/page"
)

// Section returns the account section of the settings.
func (h *Handlers) Section(c echo.Context) (views.Account, error) {
	ctx := c.Request().Context()
	user, err := h.Accounts.ByID(ctx, principal.Owner(ctx))
	if err != nil {
		return views.Account{}, err
	}
	a := views.Account{Name: user.Name, Email: user.Email, Role: user.Role, Password: user.Password != "",
		Saved: c.QueryParam("saved"), Shortest: account.MinPassword}
	if a.Confirm, err = h.confirmNeeded(c, user, "account"); err != nil {
		return a, err
	}
	if a.TOTP, a.Left, err = h.factors().Required(ctx, user.ID); err != nil {
		return a, err
	}
	keys, err := h.factors().Passkeys(ctx, user.ID)
	if err != nil {
		return a, err
	}
	for _, k := range keys {
		a.Passkeys = append(a.Passkeys, views.Passkey{ID: k.ID, Name: k.Name, Added: k.CreatedAt, Used: k.UsedAt})
	}
	_, err = passkey.At(httpx.Origin(c.Request()), appName)
	a.CanKey = err == nil
	return a, h.linkedServices(ctx, user.ID, &a)
}

// linkedServices fills in the linked accounts at other services, and the available services.
func (h *Handlers) linkedServices(ctx context.Context, user string, a *views.Account) error {
	list, err := h.DB.Identities(ctx, user)
	if err != nil {
		return err
	}
	providers := h.Config.Current().File.Auth.OIDC.Providers
	services := h.services()
	linked := map[string]bool{}
	for _, one := range list {
		l := views.Linked{ID: one.Issuer + " " + one.Subject, Service: one.Issuer, Email: one.Email}
		for _, s := range services {
			if providers[s.Name].Issuer == one.Issuer {
				l.Service, linked[s.Name] = s.Label, true
			}
		}
		a.Linked = append(a.Linked, l)
	}
	for _, s := range services {
		if !linked[s.Name] {
			s.URL = oauthURL(s.Name, url.Values{"link": {"1"}})
			a.Services = append(a.Services, s)
		}
	}
	return nil
}

// showAccount responds with the section after edit changed its data.
func (h *Handlers) showAccount(c echo.Context, status int, edit func(*views.Account)) error {
	p, err := h.Settings(c, "account")
	if err != nil {
		return err
	}
	if p.Account, err = h.Section(c); err != nil {
		return err
	}
	edit(&p.Account)
	c.Response().Header().Set("Cache-Control", "no-store")
	return page.HTML(c, status, settings.Page(p))
}

func (h *Handlers) accountProblem(c echo.Context, status int, form, problem string) error {
	return h.showAccount(c, status, func(a *views.Account) { a.Wrong, a.Problem = form, problem })
}

// accountDone redirects to the section with a confirmation.
func accountDone(c echo.Context, form string) error {
	return c.Redirect(http.StatusSeeOther, views.SettingsURL("account")+"?saved="+form)
}

// changeAccount handles POST /ui/account: one of the forms of the section.
func (h *Handlers) changeAccount(c echo.Context) error {
	form, err := page.ReadForm(c.Request(), page.SmallForm)
	if err != nil {
		return err
	}
	ctx := c.Request().Context()
	user, err := h.Accounts.ByID(ctx, principal.Owner(ctx))
	if err != nil {
		return err
	}
	do := map[string]func(echo.Context, store.User, url.Values) error{
		"profile": h.saveProfile, "password": h.changePassword, "totp-begin": h.beginTOTP, "totp": h.confirmTOTP,
		"totp-off": h.changeTOTP, "recovery": h.changeTOTP, "confirm": h.confirm, "passkey-remove": h.removePasskey, "unlink": h.unlink,
	}[form.Get("do")]
	if do == nil {
		return store.ErrNotFound
	}
	return do(c, user, form)
}

// proves checks the password of the person at an open browser. An account without one needs a session that began lately.
func (h *Handlers) proves(c echo.Context, user store.User, password string) error {
	if user.Password == "" {
		ctx := c.Request().Context()
		return h.Accounts.Confirmed(ctx, principal.Of(ctx))
	}
	_, err := h.Accounts.CheckPassword(c.Request().Context(), h.clientIP(c), user.Email, password)
	return err
}

// wrongForm shows a form again with why it was refused.
func (h *Handlers) wrongForm(c echo.Context, form string, err error, edit func(*views.Account)) error {
	if errors.Is(err, account.ErrConfirm) {
		return h.unconfirmed(c, "account", err)
	}
	text, other := accountText(c, err)
	if other != nil {
		return other
	}
	return h.showAccount(c, http.StatusUnprocessableEntity, func(a *views.Account) {
		a.Wrong, a.Problem = form, text
		if edit != nil {
			edit(a)
		}
	})
}

func (h *Handlers) saveProfile(c echo.Context, user store.User, form url.Values) error {
	ctx := c.Request().Context()
	name, email := strings.TrimSpace(page.PlainText(form.Get("name"))), strings.TrimSpace(form.Get("email"))
	draft := func(a *views.Account) { a.Name, a.Email = name, email }
	if !strings.EqualFold(email, user.Email) {
		if err := h.proves(c, user, form.Get("current")); err != nil {
			return h.wrongForm(c, "profile", err, draft)
		}
		if err := h.Accounts.SetEmail(ctx, user.ID, email); err != nil {
			return h.wrongForm(c, "profile", err, draft)
		}
	}
	if err := h.Accounts.SetName(ctx, user.ID, name); err != nil {
		return h.wrongForm(c, "profile", err, draft)
	}
	return accountDone(c, "profile")
}

func (h *Handlers) changePassword(c echo.Context, user store.User, form url.Values) error {
	ctx := c.Request().Context()
	err := h.proves(c, user, form.Get("current"))
	if err == nil {
		err = h.Accounts.SetPassword(ctx, user.ID, form.Get("password"), principal.Of(ctx).Session)
	}
	if err != nil {
		return h.wrongForm(c, "password", err, nil)
	}
	return accountDone(c, "password")
}

func (h *Handlers) beginTOTP(c echo.Context, user store.User, _ url.Values) error {
	ctx := c.Request().Context()
	if err := h.Accounts.Confirmed(ctx, principal.Of(ctx)); err != nil {
		return h.unconfirmed(c, "account", err)
	}
	if on, _, err := h.factors().Required(ctx, user.ID); err != nil || on {
		return errors.Join(err, c.Redirect(http.StatusSeeOther, views.SettingsURL("account")))
	}
	secret, err := h.factors().Begin(ctx, user.ID)
	if err != nil {
		return err
	}
	return h.showTOTP(c, http.StatusOK, user, secret, "")
}

// showTOTP shows the secret of an app that is being set up.
func (h *Handlers) showTOTP(c echo.Context, status int, user store.User, secret, problem string) error {
	uri := totp.URI(secret, appName, user.Email)
	picture, err := DrawQR(uri)
	if err != nil {
		return err
	}
	return h.showAccount(c, status, func(a *views.Account) {
		a.Setup = &views.TOTPSetup{Secret: secret, URI: uri, QR: picture}
		if problem != "" {
			a.Wrong, a.Problem = "totp", problem
		}
	})
}

func (h *Handlers) confirmTOTP(c echo.Context, user store.User, form url.Values) error {
	ctx := c.Request().Context()
	if err := h.Accounts.Confirmed(ctx, principal.Of(ctx)); err != nil {
		return h.unconfirmed(c, "account", err)
	}
	recovery, err := h.factors().Confirm(ctx, user.ID, form.Get("code"))
	if errors.Is(err, factor.ErrCode) {
		secret, err := h.factors().Pending(ctx, user.ID)
		if err != nil || secret == "" {
			return errors.Join(err, c.Redirect(http.StatusSeeOther, views.SettingsURL("account")))
		}
		return h.showTOTP(c, http.StatusUnprocessableEntity, user, secret, page.Say(c, "account.code.wrong"))
	}
	if err != nil {
		return err
	}
	return h.showAccount(c, http.StatusOK, func(a *views.Account) { a.Recovery = recovery })
}

// changeTOTP turns the app off, or creates new recovery codes.
func (h *Handlers) changeTOTP(c echo.Context, user store.User, form url.Values) error {
	ctx := c.Request().Context()
	if err := h.proves(c, user, form.Get("current")); err != nil {
		return h.wrongForm(c, "totp-off", err, nil)
	}
	if err := h.Accounts.Confirmed(ctx, principal.Of(ctx)); err != nil { // the password is only one of the two
		return h.unconfirmed(c, "account", err)
	}
	if form.Get("do") == "totp-off" {
		if err := h.factors().Off(ctx, user.ID); err != nil {
			return err
		}
		return accountDone(c, "totp")
	}
	if on, _, err := h.factors().Required(ctx, user.ID); err != nil || !on {
		return errors.Join(err, accountDone(c, "totp"))
	}
	recovery, err := h.factors().Recovery(ctx, user.ID)
	if err != nil {
		return err
	}
	return h.showAccount(c, http.StatusOK, func(a *views.Account) { a.Recovery = recovery })
}

func (h *Handlers) removePasskey(c echo.Context, user store.User, form url.Values) error {
	err := h.factors().DeletePasskey(c.Request().Context(), user.ID, form.Get("id"))
	if err != nil && !errors.Is(err, store.ErrNotFound) {
		return err
	}
	return accountDone(c, "passkey")
}

// unlink removes a linked account unless it is the only way to sign in.
func (h *Handlers) unlink(c echo.Context, user store.User, form url.Values) error {
	ctx := c.Request().Context()
	issuer, subject, _ := strings.Cut(form.Get("id"), " ")
	list, err := h.DB.Identities(ctx, user.ID)
	if err != nil {
		return err
	}
	keys, err := h.factors().Passkeys(ctx, user.ID)
	if err != nil {
		return err
	}
	if user.Password == "" && len(keys) == 0 && len(list) < 2 {
		return h.accountProblem(c, http.StatusConflict, "linked", page.Say(c, "account.unlink.last"))
	}
	if err := h.DB.DeleteIdentity(ctx, user.ID, issuer, subject); err != nil && !errors.Is(err, store.ErrNotFound) {
		return err
	}
	return accountDone(c, "linked")
}
