package ui

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
)

// accountSection is the section of one's own account.
func (u *UI) accountSection(c echo.Context) (views.Account, error) {
	ctx := c.Request().Context()
	user, err := u.Accounts.ByID(ctx, principal.Owner(ctx))
	if err != nil {
		return views.Account{}, err
	}
	a := views.Account{Name: user.Name, Email: user.Email, Role: user.Role, Password: user.Password != "",
		Saved: c.QueryParam("saved"), Shortest: account.MinPassword}
	if a.TOTP, a.Left, err = u.factors().Required(ctx, user.ID); err != nil {
		return a, err
	}
	keys, err := u.factors().Passkeys(ctx, user.ID)
	if err != nil {
		return a, err
	}
	for _, k := range keys {
		a.Passkeys = append(a.Passkeys, views.Passkey{ID: k.ID, Name: k.Name, Added: k.CreatedAt, Used: k.UsedAt})
	}
	_, err = passkey.At(httpx.Origin(c.Request()), appName)
	a.CanKey = err == nil
	return a, u.linkedServices(ctx, user.ID, &a)
}

// linkedServices are the accounts at other services that are linked, and those that can be.
func (u *UI) linkedServices(ctx context.Context, user string, a *views.Account) error {
	list, err := u.DB.Identities(ctx, user)
	if err != nil {
		return err
	}
	providers := u.Config.Current().File.Auth.OIDC.Providers
	services := u.services()
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

// showAccount answers with the section after edit has changed what it shows.
func (u *UI) showAccount(c echo.Context, status int, edit func(*views.Account)) error {
	p, err := u.settingsPage(c, "account")
	if err != nil {
		return err
	}
	if p.Account, err = u.accountSection(c); err != nil {
		return err
	}
	edit(&p.Account)
	c.Response().Header().Set("Cache-Control", "no-store")
	return html(c, status, settings.Page(p))
}

func (u *UI) accountProblem(c echo.Context, status int, form, problem string) error {
	return u.showAccount(c, status, func(a *views.Account) { a.Wrong, a.Problem = form, problem })
}

// accountDone goes back to the section, which says that a form was saved.
func accountDone(c echo.Context, form string) error {
	return c.Redirect(http.StatusSeeOther, views.SettingsURL("account")+"?saved="+form)
}

// changeAccount is POST /ui/account: one of the forms of the section.
func (u *UI) changeAccount(c echo.Context) error {
	form, err := readForm(c.Request(), maxSmallForm)
	if err != nil {
		return err
	}
	ctx := c.Request().Context()
	user, err := u.Accounts.ByID(ctx, principal.Owner(ctx))
	if err != nil {
		return err
	}
	do := map[string]func(echo.Context, store.User, url.Values) error{
		"profile": u.saveProfile, "password": u.changePassword, "totp-begin": u.beginTOTP, "totp": u.confirmTOTP,
		"totp-off": u.changeTOTP, "recovery": u.changeTOTP, "passkey-remove": u.removePasskey, "unlink": u.unlink,
	}[form.Get("do")]
	if do == nil {
		return store.ErrNotFound
	}
	return do(c, user, form)
}

// proves checks the password of whoever sits at an open browser. An account without one needs none.
func (u *UI) proves(c echo.Context, user store.User, password string) error {
	if user.Password == "" {
		return nil
	}
	_, err := u.Accounts.CheckPassword(c.Request().Context(), u.clientIP(c), user.Email, password)
	return err
}

// wrongForm shows a form again with why it was refused.
func (u *UI) wrongForm(c echo.Context, form string, err error, edit func(*views.Account)) error {
	text, other := accountText(c, err)
	if other != nil {
		return other
	}
	return u.showAccount(c, http.StatusUnprocessableEntity, func(a *views.Account) {
		a.Wrong, a.Problem = form, text
		if edit != nil {
			edit(a)
		}
	})
}

func (u *UI) saveProfile(c echo.Context, user store.User, form url.Values) error {
	ctx := c.Request().Context()
	name, email := strings.TrimSpace(plainText(form.Get("name"))), strings.TrimSpace(form.Get("email"))
	draft := func(a *views.Account) { a.Name, a.Email = name, email }
	if !strings.EqualFold(email, user.Email) {
		if err := u.proves(c, user, form.Get("current")); err != nil {
			return u.wrongForm(c, "profile", err, draft)
		}
		if err := u.Accounts.SetEmail(ctx, user.ID, email); err != nil {
			return u.wrongForm(c, "profile", err, draft)
		}
	}
	if err := u.Accounts.SetName(ctx, user.ID, name); err != nil {
		return u.wrongForm(c, "profile", err, draft)
	}
	return accountDone(c, "profile")
}

func (u *UI) changePassword(c echo.Context, user store.User, form url.Values) error {
	ctx := c.Request().Context()
	err := u.proves(c, user, form.Get("current"))
	if err == nil {
		err = u.Accounts.SetPassword(ctx, user.ID, form.Get("password"), principal.Of(ctx).Session)
	}
	if err != nil {
		return u.wrongForm(c, "password", err, nil)
	}
	return accountDone(c, "password")
}

func (u *UI) beginTOTP(c echo.Context, user store.User, _ url.Values) error {
	ctx := c.Request().Context()
	if on, _, err := u.factors().Required(ctx, user.ID); err != nil || on {
		return errors.Join(err, c.Redirect(http.StatusSeeOther, views.SettingsURL("account")))
	}
	secret, err := u.factors().Begin(ctx, user.ID)
	if err != nil {
		return err
	}
	return u.showTOTP(c, http.StatusOK, user, secret, "")
}

// showTOTP shows the secret of an app that is being set up.
func (u *UI) showTOTP(c echo.Context, status int, user store.User, secret, problem string) error {
	uri := totp.URI(secret, appName, user.Email)
	picture, err := drawQR(uri)
	if err != nil {
		return err
	}
	return u.showAccount(c, status, func(a *views.Account) {
		a.Setup = &views.TOTPSetup{Secret: secret, URI: uri, QR: picture}
		if problem != "" {
			a.Wrong, a.Problem = "totp", problem
		}
	})
}

func (u *UI) confirmTOTP(c echo.Context, user store.User, form url.Values) error {
	ctx := c.Request().Context()
	recovery, err := u.factors().Confirm(ctx, user.ID, form.Get("code"))
	if errors.Is(err, factor.ErrCode) {
		secret, err := u.factors().Pending(ctx, user.ID)
		if err != nil || secret == "" {
			return errors.Join(err, c.Redirect(http.StatusSeeOther, views.SettingsURL("account")))
		}
		return u.showTOTP(c, http.StatusUnprocessableEntity, user, secret, say(c, "account.code.wrong"))
	}
	if err != nil {
		return err
	}
	return u.showAccount(c, http.StatusOK, func(a *views.Account) { a.Recovery = recovery })
}

// changeTOTP turns the app off, or makes new recovery codes.
func (u *UI) changeTOTP(c echo.Context, user store.User, form url.Values) error {
	ctx := c.Request().Context()
	if err := u.proves(c, user, form.Get("current")); err != nil {
		return u.wrongForm(c, "totp-off", err, nil)
	}
	if form.Get("do") == "totp-off" {
		if err := u.factors().Off(ctx, user.ID); err != nil {
			return err
		}
		return accountDone(c, "totp")
	}
	if on, _, err := u.factors().Required(ctx, user.ID); err != nil || !on {
		return errors.Join(err, accountDone(c, "totp"))
	}
	recovery, err := u.factors().Recovery(ctx, user.ID)
	if err != nil {
		return err
	}
	return u.showAccount(c, http.StatusOK, func(a *views.Account) { a.Recovery = recovery })
}

func (u *UI) removePasskey(c echo.Context, user store.User, form url.Values) error {
	err := u.factors().DeletePasskey(c.Request().Context(), user.ID, form.Get("id"))
	if err != nil && !errors.Is(err, store.ErrNotFound) {
		return err
	}
	return accountDone(c, "passkey")
}

// unlink takes an account at another service away, unless nothing would be left to sign in with.
func (u *UI) unlink(c echo.Context, user store.User, form url.Values) error {
	ctx := c.Request().Context()
	issuer, subject, _ := strings.Cut(form.Get("id"), " ")
	list, err := u.DB.Identities(ctx, user.ID)
	if err != nil {
		return err
	}
	keys, err := u.factors().Passkeys(ctx, user.ID)
	if err != nil {
		return err
	}
	if user.Password == "" && len(keys) == 0 && len(list) < 2 {
		return u.accountProblem(c, http.StatusConflict, "linked", say(c, "account.unlink.last"))
	}
	if err := u.DB.DeleteIdentity(ctx, user.ID, issuer, subject); err != nil && !errors.Is(err, store.ErrNotFound) {
		return err
	}
	return accountDone(c, "linked")
}
