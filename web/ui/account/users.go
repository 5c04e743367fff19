package account

import (
	"errors"
	"net/http"
	"net/url"
	"strings"

	"github.com/labstack/echo/v4"

	"fawn/store"
	"fawn/views"
	"fawn/views/settings"
	"fawn/web/account"
	"fawn/web/httpx"
	"fawn/web/principal"
	"fawn/web/ui/page"
)

// Users lists all accounts.
func (h *Handlers) Users(c echo.Context) (views.Users, error) {
	ctx := c.Request().Context()
	me := principal.Of(ctx)
	out := views.Users{Roles: []string{account.RoleUser}}
	if me.Role == principal.RoleOwner {
		out.Roles = []string{account.RoleUser, account.RoleAdmin, account.RoleOwner}
	}
	list, err := h.Accounts.List(ctx)
	if err != nil {
		return out, err
	}
	for _, one := range list {
		v := views.User{ID: one.ID, Name: one.Name, Email: one.Email, Role: one.Role, Disabled: one.Disabled,
			You: one.ID == me.Owner, Added: one.CreatedAt, Fixed: account.May(me, one, "") != nil}
		if v.Code, _, err = h.factors().Required(ctx, one.ID); err != nil {
			return out, err
		}
		sessions, err := h.Accounts.Sessions(ctx, one.ID)
		if err != nil {
			return out, err
		}
		if len(sessions) > 0 {
			v.Seen = sessions[0].UsedAt
		}
		out.List = append(out.List, v)
	}
	return out, nil
}

// showUsers responds with the section after edit changed its data.
func (h *Handlers) showUsers(c echo.Context, status int, edit func(*views.Users)) error {
	p, err := h.Settings(c, "users")
	if err != nil {
		return err
	}
	if p.Users, err = h.Users(c); err != nil {
		return err
	}
	edit(&p.Users)
	c.Response().Header().Set("Cache-Control", "no-store")
	return page.HTML(c, status, settings.Page(p))
}

// invite handles POST /ui/users: a link that creates an account.
func (h *Handlers) invite(c echo.Context) error {
	form, err := page.ReadForm(c.Request(), page.SmallForm)
	if err != nil {
		return err
	}
	ctx := c.Request().Context()
	if err := h.Accounts.Confirmed(ctx, principal.Of(ctx)); err != nil {
		return h.unconfirmed(c, "account", err)
	}
	email, role := strings.TrimSpace(form.Get("email")), form.Get("role")
	if err = account.May(principal.Of(ctx), store.User{Role: account.RoleUser}, role); err == nil {
		var token string
		if token, err = h.Accounts.InviteLink(ctx, email, role); err == nil {
			return h.showUsers(c, http.StatusOK, func(v *views.Users) {
				v.Link, v.For = linkTo(c, views.SetupURL, token), email
			})
		}
	}
	return h.usersProblem(c, err, func(v *views.Users) { v.Email = email })
}

// linkTo returns a one-time link to be sent to a person.
func linkTo(c echo.Context, path, token string) string {
	return httpx.Root(c.Request()) + path + "?token=" + url.QueryEscape(token)
}

func (h *Handlers) usersProblem(c echo.Context, err error, edit func(*views.Users)) error {
	text, other := accountText(c, err)
	if other != nil {
		return other
	}
	return h.showUsers(c, http.StatusUnprocessableEntity, func(v *views.Users) {
		v.Problem = text
		edit(v)
	})
}

// changeUser handles POST /ui/users/:id/:action.
func (h *Handlers) changeUser(c echo.Context) error {
	form, err := page.ReadForm(c.Request(), page.SmallForm)
	if err != nil {
		return err
	}
	ctx := c.Request().Context()
	me, id := principal.Of(ctx), page.Param(c, "id")
	if err := h.Accounts.Confirmed(ctx, me); err != nil {
		return h.unconfirmed(c, "account", err)
	}
	user, err := h.Accounts.ByID(ctx, id)
	if err != nil {
		return err
	}
	role := form.Get("role")
	if err := account.May(me, user, role); err != nil || id == me.Owner {
		return h.usersProblem(c, errors.Join(err, account.ErrForbidden), func(*views.Users) {})
	}
	switch page.Param(c, "action") {
	case "role":
		err = h.Accounts.SetRole(ctx, id, role)
	case "disable":
		err = h.Accounts.SetDisabled(ctx, id, form.Get("on") == "")
	case "factor":
		err = h.factors().Off(ctx, id)
	case "reset":
		var token string
		if token, err = h.Accounts.ResetLink(ctx, id); err == nil {
			return h.showUsers(c, http.StatusOK, func(v *views.Users) {
				v.Link, v.For, v.Reset = linkTo(c, views.ResetURL, token), user.Email, true
			})
		}
	case "delete":
		if form.Get("sure") == "" {
			return h.showUsers(c, http.StatusOK, func(v *views.Users) { v.Confirm = id })
		}
		err = h.Accounts.Delete(ctx, id, false)
	default:
		return store.ErrNotFound
	}
	if err != nil {
		return h.usersProblem(c, err, func(*views.Users) {})
	}
	return c.Redirect(http.StatusSeeOther, views.SettingsURL("users"))
}
