package gateway

import (
	"context"
	"errors"
	"net/http"
	"time"

	"github.com/labstack/echo/v4"

	"fawn/store"
	"fawn/web/account"
	"fawn/web/api/wire"
	"fawn/web/httpx"
	"fawn/web/principal"
	"fawn/web/proxy"
	"fawn/web/route"
)

type sessionJSON struct {
	ID        string `json:"id"`
	Device    string `json:"device"`
	IP        string `json:"ip"`
	Current   bool   `json:"current"`
	CreatedAt string `json:"created_at"`
	UsedAt    string `json:"last_used_at"`
	ExpiresAt string `json:"expires_at"`
}

// listSessions handles GET /v1/auth/sessions.
func (g *Gateway) listSessions(c echo.Context) error {
	who := principal.Of(c.Request().Context())
	list, err := g.Accounts.Sessions(c.Request().Context(), who.Owner)
	if err != nil {
		return err
	}
	out := make([]sessionJSON, len(list))
	for i, x := range list {
		out[i] = sessionJSON{x.ID, x.Device, x.IP, x.ID == who.Session, wire.Stamp(x.CreatedAt), wire.Stamp(x.UsedAt),
			wire.Stamp(x.ExpiresAt)}
	}
	return httpx.JSON(c, http.StatusOK, out)
}

// endSession handles DELETE /v1/auth/sessions/:sid.
func (g *Gateway) endSession(c echo.Context) error {
	ctx := c.Request().Context()
	if err := g.Accounts.Revoke(ctx, principal.Owner(ctx), route.Param(c, "sid")); err != nil {
		return notThere(err, "Session not found")
	}
	return message(c, "Session ended")
}

// endOtherSessions handles POST /v1/auth/sessions/end-others.
func (g *Gateway) endOtherSessions(c echo.Context) error {
	who := principal.Of(c.Request().Context())
	if who.Session != "" {
		if err := g.Accounts.RevokeOthers(c.Request().Context(), who.Owner, who.Session); err != nil {
			return err
		}
	}
	return message(c, "Other sessions ended")
}

func notThere(err error, text string) error {
	if errors.Is(err, store.ErrNotFound) {
		return httpx.Errorf(http.StatusNotFound, "%s", text)
	}
	return authError(err)
}

type tokenJSON struct {
	ID        string   `json:"id"`
	Name      string   `json:"name"`
	Scopes    []string `json:"scopes"`
	ExpiresAt *string  `json:"expires_at"`
	UsedAt    *string  `json:"last_used_at"`
	CreatedAt string   `json:"created_at"`
	RevokedAt *string  `json:"revoked_at"`
	Token     string   `json:"token,omitempty"` // only when it is made
}

func tokenOf(t store.Token) tokenJSON {
	return tokenJSON{ID: t.ID, Name: t.Name, Scopes: []string{t.Scope}, ExpiresAt: route.StampOrNull(t.ExpiresAt),
		UsedAt: route.StampOrNull(t.UsedAt), CreatedAt: wire.Stamp(t.CreatedAt)}
}

// listTokens handles GET /v1/auth/pats.
func (g *Gateway) listTokens(c echo.Context) error {
	ctx := c.Request().Context()
	list, err := g.Accounts.Tokens(ctx, principal.Owner(ctx))
	if err != nil {
		return err
	}
	out := make([]tokenJSON, len(list))
	for i, t := range list {
		out[i] = tokenOf(t)
	}
	return httpx.JSON(c, http.StatusOK, out)
}

// tokenBody is the body of createToken.
type tokenBody struct {
	Name   string   `json:"name"`
	Scopes []string `json:"scopes"`
	Days   *int     `json:"expires_in_days"`

	// After a while a session alone is not enough.
	Current string `json:"current_password"`
	Code    string `json:"totp"`
}

// createToken handles POST /v1/auth/pats.
func (g *Gateway) createToken(c echo.Context) error {
	var in tokenBody
	if err := g.bindAuth(c, &in); err != nil {
		return err
	}
	if len(in.Scopes) != 1 {
		return authError(account.ErrScope)
	}
	n := account.NewToken{Name: in.Name, Scope: in.Scopes[0]}
	if in.Days != nil {
		if *in.Days < 1 || *in.Days > 3650 {
			return httpx.Invalid("body", "expires_in_days", "a token ends after 1 to 3650 days")
		}
		n.Expires = time.Duration(*in.Days) * 24 * time.Hour
	}
	ctx := c.Request().Context()
	who := principal.Of(ctx)
	err := g.Accounts.Confirmed(ctx, who)
	if errors.Is(err, account.ErrConfirm) && in.Current != "" {
		_, err = g.Accounts.Login(ctx, proxy.Of(c.Request()).IP(), who.Email, in.Current, in.Code)
	}
	if err != nil {
		return authError(err)
	}
	secret, t, err := g.Accounts.CreateToken(ctx, principal.Owner(ctx), n)
	if err != nil {
		return authError(err)
	}
	out := tokenOf(t)
	out.Token = secret
	return httpx.JSON(c, http.StatusCreated, out)
}

// revokeToken handles DELETE /v1/auth/pats/:tokid.
func (g *Gateway) revokeToken(c echo.Context) error {
	ctx := c.Request().Context()
	if err := g.Accounts.RevokeToken(ctx, principal.Owner(ctx), route.Param(c, "tokid")); err != nil {
		return notThere(err, "Token not found")
	}
	return message(c, "Token revoked")
}

type userJSON struct {
	me
	Disabled  bool   `json:"disabled"`
	CreatedAt string `json:"created_at"`
}

func userOf(u store.User) userJSON { return userJSON{meOf(u), u.Disabled, wire.Stamp(u.CreatedAt)} }

// listUsers handles GET /v1/auth/users.
func (g *Gateway) listUsers(c echo.Context) error {
	list, err := g.Accounts.List(c.Request().Context())
	if err != nil {
		return err
	}
	out := make([]userJSON, len(list))
	for i, u := range list {
		out[i] = userOf(u)
	}
	return httpx.JSON(c, http.StatusOK, out)
}

type linkJSON struct {
	Link  string `json:"link"` // one-time address
	Token string `json:"token"`
}

// inviteBody is the body of inviteUser.
type inviteBody struct {
	Email string `json:"email"`
	Role  string `json:"role"`
}

// inviteUser handles POST /v1/auth/users: the response has a link for the new user.
func (g *Gateway) inviteUser(c echo.Context) error {
	var in inviteBody
	if err := g.bindAuth(c, &in); err != nil {
		return err
	}
	if in.Role == "" {
		in.Role = account.RoleUser
	}
	ctx := c.Request().Context()
	if err := g.Accounts.Confirmed(ctx, principal.Of(ctx)); err != nil {
		return authError(err)
	}
	if err := account.May(principal.Of(ctx), store.User{Role: account.RoleUser}, in.Role); err != nil {
		return authError(err)
	}
	token, err := g.Accounts.InviteLink(ctx, in.Email, in.Role)
	if err != nil {
		return authError(err)
	}
	return httpx.JSON(c, http.StatusCreated, linkJSON{proxy.Of(c.Request()).Root() + account.SetupPath(token), token})
}

// managed returns the user of a path if the caller may change it and assign it a role, in a recent session.
func (g *Gateway) managed(c echo.Context, role string) (store.User, error) {
	ctx := c.Request().Context()
	if err := g.Accounts.Confirmed(ctx, principal.Of(ctx)); err != nil {
		return store.User{}, authError(err)
	}
	u, err := g.Accounts.ByID(ctx, route.Param(c, "uid"))
	if err == nil {
		err = account.May(principal.Of(ctx), u, role)
	}
	if err != nil {
		return store.User{}, notThere(err, "User not found")
	}
	return u, nil
}

// userChange is the body of changeUser.
type userChange struct {
	Role     *string `json:"role"`
	Disabled *bool   `json:"disabled"`
	Name     *string `json:"name"`
}

// changeUser handles PATCH /v1/auth/users/:uid.
func (g *Gateway) changeUser(c echo.Context) error {
	var in userChange
	if err := g.bindAuth(c, &in); err != nil {
		return err
	}
	role := ""
	if in.Role != nil {
		role = *in.Role
	}
	u, err := g.managed(c, role)
	if err != nil {
		return err
	}
	ctx := context.WithoutCancel(c.Request().Context()) // this may end the request's own session
	if in.Name != nil {
		err = g.Accounts.SetName(ctx, u.ID, *in.Name)
	}
	if err == nil && in.Role != nil {
		err = g.Accounts.SetRole(ctx, u.ID, *in.Role)
	}
	if err == nil && in.Disabled != nil {
		err = g.Accounts.SetDisabled(ctx, u.ID, *in.Disabled)
	}
	if err == nil {
		u, err = g.Accounts.ByID(ctx, u.ID)
	}
	if err != nil {
		return authError(err)
	}
	return httpx.JSON(c, http.StatusOK, userOf(u))
}

// deleteUser handles DELETE /v1/auth/users/:uid.
func (g *Gateway) deleteUser(c echo.Context) error {
	keep, err := httpx.Bool(c.QueryParams(), "keep_data", false)
	if err != nil {
		return err
	}
	u, err := g.managed(c, "")
	if err == nil {
		err = authError(g.Accounts.Delete(c.Request().Context(), u.ID, keep))
	}
	if err != nil {
		return err
	}
	return message(c, "User deleted")
}

// resetUser handles POST /v1/auth/users/:uid/reset.
func (g *Gateway) resetUser(c echo.Context) error {
	u, err := g.managed(c, "")
	if err != nil {
		return err
	}
	token, err := g.Accounts.ResetLink(c.Request().Context(), u.ID)
	if err != nil {
		return err
	}
	return httpx.JSON(c, http.StatusCreated, linkJSON{proxy.Of(c.Request()).Root() + account.ResetPath(token), token})
}
