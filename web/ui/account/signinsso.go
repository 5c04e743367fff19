package account

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/labstack/echo/v4"

	"fawn/agent/config"
	"fawn/store"
	"fawn/views"
	"fawn/web/account"
	"fawn/web/account/sso"
	"fawn/web/httpx"
	"fawn/web/principal"
	"fawn/web/ui/page"
)

// stepSSO is the data kept by a browser during a sign-in at another service.
const stepSSO = "sso"

func oauthURL(name string, q url.Values) string {
	if q.Get("next") == "" {
		q.Del("next")
	}
	where := "/api/v1/auth/oauth/" + url.PathEscape(name)
	if len(q) > 0 {
		where += "?" + q.Encode()
	}
	return where
}

// services returns the other services that people can sign in with, in the order of their names.
func (h *Handlers) services() (list []views.Service) {
	o := h.Config.Current().File.Auth.OIDC
	if !o.Enabled {
		return nil
	}
	for name, p := range o.Providers {
		label := p.DisplayName
		if label == "" {
			label = name
		}
		list = append(list, views.Service{Name: name, Label: label})
	}
	slices.SortFunc(list, func(a, b views.Service) int { return strings.Compare(a.Name, b.Name) })
	return list
}

// Providers returns the services that people can sign in with, for clients of the API.
func (h *Handlers) Providers() (list []account.Provider) {
	for _, s := range h.services() {
		list = append(list, account.Provider{ID: s.Name, Name: s.Label})
	}
	return list
}

// service returns a configured service; ok is false if there is none with this name.
func (h *Handlers) service(name string) (p sso.Provider, set config.OIDCProvider, label string, ok bool) {
	o := h.Config.Current().File.Auth.OIDC
	set, ok = o.Providers[name]
	if !ok || !o.Enabled || h.SSO == nil {
		return p, set, "", false
	}
	if label = set.DisplayName; label == "" {
		label = name
	}
	return sso.Provider{Name: name, Issuer: set.Issuer, ClientID: set.ClientID, ClientSecret: set.ClientSecret.Value(),
		Scopes: set.Scopes, SecretInHeader: set.TokenEndpointAuthMethod == "client_secret_basic",
		PKCE: set.PKCEEnabled, Nonce: set.NonceEnabled, VerifiedEmail: set.RequireVerifiedEmail,
		Domains: set.AllowedEmailDomains}, set, label, true
}

// oauth handles GET /api/v1/auth/oauth/:provider: it redirects to the service. With link, the result is linked to the
// signed-in account.
func (h *Handlers) oauth(c echo.Context) error {
	name := page.Param(c, "provider")
	p, set, label, ok := h.service(name)
	if !ok {
		return &httpx.Detail{Status: http.StatusNotFound,
			Detail: map[string]string{"code": "provider_not_found", "message": "There is no such provider"}}
	}
	pending := sso.Pending{Redirect: h.callbackURL(c, name, set), Next: c.QueryParam("next")}
	if who := principal.Of(c.Request().Context()); c.QueryParam("link") != "" && who.Known() && who.Session != "" {
		if err := h.Accounts.Confirmed(c.Request().Context(), who); err != nil {
			return h.unconfirmed(c, "account", err)
		}
		pending.User, pending.Next = who.Owner, views.SettingsURL("account")+"#linked"
	}
	where, err := h.SSO.Begin(c.Request().Context(), p, &pending)
	if err != nil {
		h.Log.Warn("sign-in service unreachable", "provider", name, "err", err)
		return h.showSignIn(c, http.StatusBadGateway,
			views.SignIn{Next: pending.Next, Keep: true, Problem: page.Say(c, "account.sso.unreachable", label)})
	}
	if err := h.keep(c, stepSSO, pending); err != nil {
		return err
	}
	return c.Redirect(http.StatusFound, where)
}

// callbackURL returns where the service sends people back to. It must be known to the service.
func (h *Handlers) callbackURL(c echo.Context, name string, set config.OIDCProvider) string {
	if set.RedirectURI != "" {
		return set.RedirectURI
	}
	root := strings.TrimSuffix(h.Config.Current().File.Auth.OIDC.FrontendBaseURL, "/")
	if root == "" {
		root = httpx.Root(c.Request())
	}
	return root + "/api/v1/auth/callback/" + url.PathEscape(name)
}

// errClosed means that no account has this address, and none may be created for it.
var errClosed = errors.New("there is no account for this address")

// oauthCallback handles GET /api/v1/auth/callback/:provider.
func (h *Handlers) oauthCallback(c echo.Context) error {
	ctx, name := c.Request().Context(), page.Param(c, "provider")
	p, set, label, ok := h.service(name)
	if !ok {
		return store.ErrNotFound
	}
	var pending sso.Pending
	spend, err := h.kept(c, stepSSO, &pending)
	var id sso.Identity
	if err == nil {
		id, err = h.SSO.Finish(ctx, p, pending, c.QueryParams())
	}
	if err == nil && !spend() {
		err = errSealed
	}
	if err == nil && pending.User != "" {
		return h.linkIdentity(c, pending.User, id)
	}
	var user store.User
	if err == nil {
		user, err = h.ofIdentity(ctx, id, set)
	}
	if err != nil {
		return h.refuseSSO(c, label, id.Email, err)
	}
	return h.enter(c, user, true, pending.Next)
}

// refuseSSO shows the page to sign in with why it did not work.
func (h *Handlers) refuseSSO(c echo.Context, label, email string, err error) error {
	h.Log.Warn("sign-in through a service failed", "service", label, "err", err)
	p := views.SignIn{Keep: true}
	status := http.StatusForbidden
	switch {
	case errors.Is(err, sso.ErrState), errors.Is(err, errSealed):
		p.Problem, status = page.Say(c, "account.sso.expired"), http.StatusBadRequest
	case errors.Is(err, sso.ErrDenied):
		p.Problem = page.Say(c, "account.sso.denied", label)
	case errors.Is(err, sso.ErrEmail):
		p.Problem = page.Say(c, "account.sso.email", label)
	case errors.Is(err, errClosed):
		p.Problem = page.Say(c, "account.sso.closed", email)
	case errors.Is(err, account.ErrEmailTaken):
		p.Problem = page.Say(c, "account.sso.exists", label)
	case errors.Is(err, account.ErrDisabled):
		p.Problem = page.Say(c, "account.disabled")
	default:
		p.Problem, status = page.Say(c, "account.sso.failed", label), http.StatusBadGateway
	}
	return h.showSignIn(c, status, p)
}

// ofIdentity returns an identity's account: the linked one or, if configured, a new one. An existing usable account
// with the same address isn't taken over: only its user may link it.
func (h *Handlers) ofIdentity(ctx context.Context, id sso.Identity, set config.OIDCProvider) (store.User, error) {
	known, err := h.DB.Identity(ctx, id.Issuer, id.Subject)
	if err == nil {
		return h.user(ctx, known.User)
	}
	if !errors.Is(err, store.ErrNotFound) {
		return store.User{}, err
	}
	user, err := h.Accounts.ByEmail(ctx, id.Email)
	claimed := false
	if err == nil {
		if claimed, err = h.claimed(ctx, user); err != nil {
			return user, err
		}
	}
	switch {
	case err == nil && (claimed || !id.Verified):
		return user, account.ErrEmailTaken
	case err == nil && user.Disabled:
		return user, account.ErrDisabled
	case errors.Is(err, store.ErrNotFound):
		user, err = h.createFor(ctx, id, set)
	}
	if err != nil {
		return user, err
	}
	return user, h.DB.AddIdentity(ctx, store.Identity{Issuer: id.Issuer, Subject: id.Subject, User: user.ID,
		Email: id.Email})
}

// claimed reports whether an account can already be signed in to. Its user decides whether to trust another service's
// claim of its address.
func (h *Handlers) claimed(ctx context.Context, user store.User) (bool, error) {
	if user.Password != "" {
		return true, nil
	}
	keys, err := h.factors().Passkeys(ctx, user.ID)
	if err != nil || len(keys) > 0 {
		return true, err
	}
	list, err := h.DB.Identities(ctx, user.ID)
	return len(list) > 0, err
}

// createFor creates an account for a person without one.
func (h *Handlers) createFor(ctx context.Context, id sso.Identity, set config.OIDCProvider) (store.User, error) {
	admin := id.Verified && slices.ContainsFunc(set.AdminEmails, func(s string) bool {
		return strings.EqualFold(s, id.Email)
	})
	first, err := h.Accounts.NeedsSetup(ctx)
	if err != nil {
		return store.User{}, err
	}
	n := account.NewUser{Email: id.Email, Name: page.CutRunes(id.Name, 100), Role: account.RoleUser}
	switch {
	case first && admin:
		n.Role = account.RoleOwner
	case first, !admin && !set.AutoCreateUsers:
		return store.User{}, errClosed
	case admin:
		n.Role = account.RoleAdmin
	}
	return h.Accounts.Create(ctx, n)
}

// linkIdentity adds a person at a service to the account that is signed in.
func (h *Handlers) linkIdentity(c echo.Context, user string, id sso.Identity) error {
	ctx := c.Request().Context()
	if principal.Of(ctx).Owner != user {
		return h.refuseSSO(c, "", id.Email, errSealed)
	}
	err := h.DB.AddIdentity(ctx, store.Identity{Issuer: id.Issuer, Subject: id.Subject, User: user, Email: id.Email})
	if errors.Is(err, store.ErrConflict) {
		return h.accountProblem(c, http.StatusConflict, "linked", page.Say(c, "account.linked.taken"))
	}
	if err != nil {
		return err
	}
	return c.Redirect(http.StatusSeeOther, views.SettingsURL("account")+"?saved=linked#linked")
}
