package account

import (
	"context"
	"errors"
	"net/http"
	"net/url"

	"github.com/labstack/echo/v4"

	"fawn/store"
	"fawn/views"
	"fawn/views/settings"
	"fawn/web/account"
	"fawn/web/principal"
	"fawn/web/ui/page"
)

// confirmNeeded returns the proof a person must give before adding a way to sign in.
func (h *Handlers) confirmNeeded(c echo.Context, user store.User, section string) (views.Confirm, error) {
	ctx := c.Request().Context()
	v := views.Confirm{Password: user.Password != "", Back: section}
	err := h.Accounts.Confirmed(ctx, principal.Of(ctx))
	if !errors.Is(err, account.ErrConfirm) {
		return v, err
	}
	v.Needed = true
	v.Code, _, err = h.factors().Required(ctx, user.ID)
	return v, err
}

// unconfirmed leads to the section that asks for proof.
func (h *Handlers) unconfirmed(c echo.Context, section string, err error) error {
	if !errors.Is(err, account.ErrConfirm) {
		return err
	}
	return c.Redirect(http.StatusSeeOther, views.SettingsURL(section)+"#confirm")
}

// confirm checks the password, and the code if the person has an authenticator app, and renews the session.
func (h *Handlers) confirm(c echo.Context, user store.User, form url.Values) error {
	ctx := c.Request().Context()
	section := "account"
	if form.Get("back") == "tokens" {
		section = "tokens"
	}
	_, err := h.Accounts.Login(ctx, h.clientIP(c), user.Email, form.Get("current"), form.Get("code"))
	if err != nil {
		return h.refuseConfirm(c, section, err)
	}
	list, err := h.Accounts.Sessions(ctx, user.ID)
	if err != nil {
		return err
	}
	lasting := false
	for _, x := range list {
		lasting = lasting || x.ID == principal.Of(ctx).Session && x.Lasting
	}
	// The session before ends, and this request with it.
	c.SetRequest(c.Request().WithContext(context.WithoutCancel(ctx)))
	if err := h.Accounts.SignIn(c, user, lasting); err != nil {
		return err
	}
	return c.Redirect(http.StatusSeeOther, views.SettingsURL(section))
}

// refuseConfirm shows the section again with the error.
func (h *Handlers) refuseConfirm(c echo.Context, section string, err error) error {
	text := page.Say(c, "account.code.wrong")
	if !errors.Is(err, account.ErrSecondFactor) {
		var other error
		if text, other = accountText(c, err); other != nil {
			return other
		}
	}
	if section == "account" {
		return h.showAccount(c, http.StatusUnprocessableEntity, func(a *views.Account) { a.Confirm.Problem = text })
	}
	p, err := h.Settings(c, section)
	if err != nil {
		return err
	}
	if p.Tokens, err = h.Tokens(c); err != nil {
		return err
	}
	p.Tokens.Confirm.Problem = text
	c.Response().Header().Set("Cache-Control", "no-store")
	return page.HTML(c, http.StatusUnprocessableEntity, settings.Page(p))
}
