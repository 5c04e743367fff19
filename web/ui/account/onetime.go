package account

import (
	"errors"
	"net/http"
	"strings"

	"github.com/labstack/echo/v4"

	"fawn/store"
	"fawn/views"
	viewaccount "fawn/views/account"
	"fawn/web/account"
	"fawn/web/ui/page"
)

// showLink answers with the page of a one-time link.
func showLink(c echo.Context, status int, p views.LinkPage) error {
	p.Shell, p.Shortest = page.StrangerShell(c), account.MinPassword
	h := c.Response().Header()
	h.Set("Cache-Control", "no-store")
	err := page.HTML(c, status, viewaccount.Link(p))
	return err
}

// linkPage returns the page for a link's purpose. Its error is only of the store.
func (h *Handlers) linkPage(c echo.Context, token string, reset bool) (views.LinkPage, error) {
	ctx := c.Request().Context()
	p := views.LinkPage{Token: token, Reset: reset}
	if token == "" {
		p.Missing = true
		empty, err := h.Accounts.NeedsSetup(ctx)
		p.Done = !empty && !reset
		return p, err
	}
	l, err := h.Accounts.Link(ctx, token)
	if errors.Is(err, account.ErrLink) || err == nil && (l.Kind == account.LinkReset) != reset {
		p.Gone = true
		return p, nil
	}
	if err != nil {
		return p, err
	}
	p.Owner, p.Email, p.Fixed = l.Kind == account.LinkSetup, l.Email, l.Email != ""
	if reset {
		user, err := h.Accounts.ByID(ctx, l.User)
		if errors.Is(err, store.ErrNotFound) {
			p.Gone = true
			return p, nil
		}
		if err != nil {
			return p, err
		}
		p.Email = user.Email
		tokens, err := h.Accounts.Tokens(ctx, user.ID)
		p.Tokens = len(tokens)
		return p, err
	}
	return p, nil
}

// openLink handles GET /setup and /reset.
func (h *Handlers) openLink(reset bool) echo.HandlerFunc {
	return h.withAccounts(func(c echo.Context) error {
		p, err := h.linkPage(c, c.QueryParam("token"), reset)
		if err != nil {
			return err
		}
		status := http.StatusOK
		if p.Gone {
			status = http.StatusGone
		}
		if p.Owner && p.Token != "" { // for clients that create the account themselves, in this browser
			h.Accounts.SetSetup(c, p.Token)
		}
		return showLink(c, status, p)
	})
}

// useLink handles POST /setup and /reset.
func (h *Handlers) useLink(reset bool) echo.HandlerFunc {
	return h.withAccounts(func(c echo.Context) error {
		form, err := page.ReadForm(c.Request(), page.SmallForm)
		if err != nil {
			return err
		}
		p, err := h.linkPage(c, form.Get("token"), reset)
		if err != nil {
			return err
		}
		if p.Gone || p.Missing || p.Done {
			return showLink(c, http.StatusGone, p)
		}
		if !p.Fixed && !reset {
			p.Email = strings.TrimSpace(form.Get("email"))
		}
		p.Name = strings.TrimSpace(page.PlainText(form.Get("name")))
		user, err := h.Accounts.UseLink(c.Request().Context(), p.Token,
			account.NewUser{Email: p.Email, Name: p.Name, Password: form.Get("password"),
				KeepTokens: form.Get("keep-tokens") != ""})
		if errors.Is(err, account.ErrLink) || errors.Is(err, account.ErrSetUp) {
			p.Gone = true
			return showLink(c, http.StatusGone, p)
		}
		if err != nil {
			if p.Problem, err = accountText(c, err); err != nil {
				return err
			}
			return showLink(c, http.StatusUnprocessableEntity, p)
		}
		if !user.Enters {
			return c.Redirect(http.StatusSeeOther, views.LoginURL+"?done=reset")
		}
		return h.enter(c, user.User, true, "")
	})
}

// accountText returns the message for invalid account data, or passes on other errors.
func accountText(c echo.Context, err error) (string, error) {
	for _, one := range []struct {
		err error
		key string
	}{
		{account.ErrPassword, "account.password.short"}, {account.ErrEmail, "account.email.bad"},
		{account.ErrEmailTaken, "account.email.taken"}, {account.ErrName, "account.name.long"},
		{account.ErrCredentials, "account.password.wrong"}, {account.ErrLastOwner, "users.last"},
		{account.ErrForbidden, "users.denied"}, {account.ErrTooMany, "account.many"},
	} {
		if errors.Is(err, one.err) {
			return page.Say(c, one.key), nil
		}
	}
	_, text, err := signInProblem(c, err)
	return text, err
}
