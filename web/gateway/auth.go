package gateway

import (
	"cmp"
	"errors"
	"net/http"
	"strconv"

	"github.com/labstack/echo/v4"

	"fawn/store"
	"fawn/web/account"
	"fawn/web/httpx"
	o "fawn/web/openapi"
	"fawn/web/principal"
	"fawn/web/proxy"
	"fawn/web/route"
)

// Name of the user of a server without accounts, the same as DeerFlow's.
const localEmail = "default@test.local"

// maxLogin limits the body of a sign-in.
const maxLogin = 16 << 10

// accounts returns DeerFlow's sign-in routes and those of accounts.
func (g *Gateway) accounts() []route.Route {
	const person, manager = principal.Person, principal.Manager
	return []route.Route{
		route.On("GET", "/v1/auth/setup-status", anyone, "getSetupStatus", g.setupStatus),
		route.On("GET", "/v1/auth/providers", anyone, "listProviders", g.providers),
		route.On("POST", "/v1/auth/initialize", anyone, "createOwner", g.initialize),
		route.On("POST", "/v1/auth/register", anyone, "register", g.register),
		route.On("POST", "/v1/auth/login/local", anyone, "login", g.login),
		route.On("POST", "/v1/auth/link", anyone, "redeemLink", g.useLink),
		route.On("POST", "/v1/auth/logout", anyone, "logout", g.logout),
		route.On("GET", "/v1/auth/me", user, "getMe", g.me),
		route.On("POST", "/v1/auth/change-password", person, "changePassword", g.changePassword),
		route.On("GET", "/v1/auth/sessions", person, "listSessions", g.listSessions),
		route.On("POST", "/v1/auth/sessions/end-others", person, "endOtherSessions", g.endOtherSessions),
		route.On("DELETE", "/v1/auth/sessions/{session_id}", person, "endSession", g.endSession),
		route.On("GET", "/v1/auth/pats", person, "listTokens", g.listTokens),
		route.On("POST", "/v1/auth/pats", person, "createToken", g.createToken),
		route.On("DELETE", "/v1/auth/pats/{token_id}", person, "revokeToken", g.revokeToken),
		route.On("GET", "/v1/auth/users", manager, "listUsers", g.listUsers),
		route.On("POST", "/v1/auth/users", manager, "inviteUser", g.inviteUser),
		route.On("PATCH", "/v1/auth/users/{user_id}", manager, "changeUser", g.changeUser),
		route.On("DELETE", "/v1/auth/users/{user_id}", manager, "deleteUser", g.deleteUser),
		route.On("POST", "/v1/auth/users/{user_id}/reset", manager, "createPasswordLink", g.resetUser),
	}
}

// coded returns an error in the form of DeerFlow's auth routes.
func coded(status int, code, message string) *httpx.Detail {
	return &httpx.Detail{Status: status, Detail: map[string]string{"code": code, "message": message}}
}

// authError answers an error of an account.
func authError(err error) error {
	var locked *account.ErrLocked
	switch {
	case err == nil:
		return nil
	case errors.As(err, &locked):
		d := httpx.Errorf(http.StatusTooManyRequests, "Too many login attempts. Try again later.")
		d.Header = http.Header{"Retry-After": {strconv.Itoa(locked.Seconds())}}
		return d
	case errors.Is(err, account.ErrBusy):
		d := httpx.Errorf(http.StatusServiceUnavailable, "too many sign-ins at once; try again")
		d.Header = http.Header{"Retry-After": {"2"}}
		return d
	case errors.Is(err, account.ErrCredentials), errors.Is(err, account.ErrDisabled):
		return coded(http.StatusUnauthorized, "invalid_credentials", "Incorrect email or password")
	case errors.Is(err, account.ErrSecondFactor):
		return coded(http.StatusUnauthorized, "second_factor_required", "A code from your second factor is needed")
	case errors.Is(err, account.ErrConfirm):
		return coded(http.StatusForbidden, "reauthentication_required",
			"This session began a while ago: sign in again, or send current_password (and totp)")
	case errors.Is(err, account.ErrEmailTaken):
		return coded(http.StatusBadRequest, "email_already_exists", "Email already registered")
	case errors.Is(err, account.ErrSetUp):
		return coded(http.StatusConflict, "system_already_initialized", "System already initialized")
	case errors.Is(err, account.ErrLink):
		return coded(http.StatusForbidden, "token_invalid", account.ErrLink.Error())
	case errors.Is(err, account.ErrPassword):
		return httpx.Invalid("body", "password", "%s", account.ErrPassword)
	case errors.Is(err, account.ErrEmail):
		return httpx.Invalid("body", "email", "%s", account.ErrEmail)
	case errors.Is(err, account.ErrRole):
		return httpx.Invalid("body", "role", "%s", account.ErrRole)
	case errors.Is(err, account.ErrName):
		return httpx.Invalid("body", "name", "%s", account.ErrName)
	case errors.Is(err, account.ErrScope):
		return httpx.Invalid("body", "scopes", "%s", account.ErrScope)
	case errors.Is(err, account.ErrForbidden):
		return httpx.Errorf(http.StatusForbidden, "%s", account.ErrForbidden)
	case errors.Is(err, account.ErrLastOwner), errors.Is(err, account.ErrTooMany):
		return httpx.Errorf(http.StatusConflict, "%s", err)
	}
	return err
}

// bindAuth reads a body, and refuses it on a server where accounts are not in force.
func (g *Gateway) bindAuth(c echo.Context, into any) error {
	if err := g.Bind(c, into); err != nil {
		return err
	}
	if !g.Accounts.Required() {
		return coded(http.StatusBadRequest, "invalid_credentials", "Accounts are off on this server")
	}
	return nil
}

type setupStatusJSON struct {
	NeedsSetup   bool `json:"needs_setup"`
	Registration bool `json:"registration_enabled"`
}

// setupStatus handles GET /v1/auth/setup-status.
func (g *Gateway) setupStatus(c echo.Context) error {
	needs, err := g.Accounts.NeedsSetup(c.Request().Context())
	if err != nil {
		return err
	}
	return httpx.JSON(c, http.StatusOK, setupStatusJSON{needs, g.mayRegister()})
}

func (g *Gateway) mayRegister() bool {
	return g.Accounts.Required() && g.Snapshot().File.Auth.Local.AllowRegistration
}

type provider struct {
	ID          string `json:"id"`
	DisplayName string `json:"display_name"`
	Type        string `json:"type"`
}

// serviceList are the services to sign in with.
type serviceList struct {
	Providers []provider `json:"providers"`
}

// providers handles GET /v1/auth/providers.
func (g *Gateway) providers(c echo.Context) error {
	list := []provider{}
	if g.Providers != nil && g.Accounts.Required() {
		for _, p := range g.Providers() {
			list = append(list, provider{p.ID, p.Name, "oidc"})
		}
	}
	return httpx.JSON(c, http.StatusOK, serviceList{list})
}

type credentials struct {
	Email    string `json:"email"`
	Password string `json:"password"`
	Name     string `json:"name"`
	Remember *bool  `json:"remember_me"`
	Token    string `json:"token"` // token of a link
	Keep     bool   `json:"keep_tokens"`
}

func (c credentials) remember() bool { return c.Remember == nil || *c.Remember }

// initialize handles POST /v1/auth/initialize: with the link shown on the console, a visitor creates
// the owner's account. The page behind the link keeps its token in a cookie for clients that don't
// know the link.
func (g *Gateway) initialize(c echo.Context) error {
	var in credentials
	if err := g.Bind(c, &in); err != nil {
		return err
	}
	ctx := c.Request().Context()
	if needs, err := g.Accounts.NeedsSetup(ctx); err != nil || !needs {
		return cmp.Or(err, authError(account.ErrSetUp))
	}
	if cookie, err := c.Cookie(account.CookieSetup); in.Token == "" && err == nil {
		in.Token = cookie.Value
	}
	l, err := g.Accounts.Link(ctx, in.Token)
	if err != nil || l.Kind != account.LinkSetup {
		return coded(http.StatusForbidden, "token_invalid",
			"Open the set-up link that the server shows on its console first")
	}
	return g.join(c, in)
}

// useLink handles POST /v1/auth/link.
func (g *Gateway) useLink(c echo.Context) error {
	var in credentials
	if err := g.bindAuth(c, &in); err != nil {
		return err
	}
	return g.join(c, in)
}

// join uses a link and signs its user in, unless the link only sets a new password.
func (g *Gateway) join(c echo.Context, in credentials) error {
	u, err := g.Accounts.UseLink(c.Request().Context(), in.Token,
		account.NewUser{Email: in.Email, Name: in.Name, Password: in.Password, KeepTokens: in.Keep})
	if err == nil && u.Enters {
		err = g.Accounts.SignIn(c, u.User, in.remember())
	}
	if err != nil {
		return authError(err)
	}
	return httpx.JSON(c, http.StatusCreated, meOf(u.User))
}

// register handles POST /v1/auth/register.
func (g *Gateway) register(c echo.Context) error {
	var in credentials
	if err := g.Bind(c, &in); err != nil {
		return err
	}
	if !g.mayRegister() {
		return coded(http.StatusForbidden, "registration_disabled", "Self-registration is disabled on this deployment")
	}
	ctx := c.Request().Context()
	if needs, err := g.Accounts.NeedsSetup(ctx); err != nil || needs {
		return cmp.Or(err, error(coded(http.StatusForbidden, "registration_disabled", "This server has no owner yet")))
	}
	if in.Password == "" {
		return authError(account.ErrPassword)
	}
	u, err := g.Accounts.Register(ctx, proxy.Of(c.Request()).IP(),
		account.NewUser{Email: in.Email, Name: in.Name, Role: account.RoleUser, Password: in.Password})
	if err == nil {
		err = g.Accounts.SignIn(c, u, in.remember())
	}
	if err != nil {
		return authError(err)
	}
	return httpx.JSON(c, http.StatusCreated, meOf(u))
}

type loggedIn struct {
	ExpiresIn  int  `json:"expires_in"`
	NeedsSetup bool `json:"needs_setup"`
}

// login handles POST /v1/auth/login/local, a form.
func (g *Gateway) login(c echo.Context) error {
	r := c.Request()
	out := loggedIn{ExpiresIn: int(account.Lifetime.Seconds())}
	if !g.Accounts.Required() {
		g.Accounts.SetCSRF(c, true)
		return httpx.JSON(c, http.StatusOK, out)
	}
	r.Body = http.MaxBytesReader(c.Response(), r.Body, maxLogin)
	if err := r.ParseForm(); err != nil {
		return httpx.Invalid("body", "username", "send a form with username and password")
	}
	for _, name := range []string{"username", "password"} {
		if r.PostForm.Get(name) == "" {
			return httpx.Invalid("body", name, "Field required")
		}
	}
	u, err := g.Accounts.Login(r.Context(), proxy.Of(r).IP(), r.PostForm.Get("username"), r.PostForm.Get("password"),
		r.PostForm.Get("totp"))
	if err != nil {
		return authError(err)
	}
	remember, err := httpx.Bool(r.PostForm, "remember_me", true)
	if err != nil {
		return err
	}
	if err := g.Accounts.SignIn(c, u, remember); err != nil {
		return err
	}
	return httpx.JSON(c, http.StatusOK, out)
}

// logout handles POST /v1/auth/logout.
func (g *Gateway) logout(c echo.Context) error {
	if err := g.Accounts.SignOut(c); err != nil {
		return err
	}
	return message(c, "Successfully logged out")
}

// messageJSON is a sentence for people.
type messageJSON struct {
	Message string `json:"message"`
}

func message(c echo.Context, text string) error {
	return httpx.JSON(c, http.StatusOK, messageJSON{text})
}

type me struct {
	ID         string  `json:"id"`
	Email      string  `json:"email"`
	Name       string  `json:"name"`
	SystemRole string  `json:"system_role"` // of the two that DeerFlow has
	Role       string  `json:"role"`
	NeedsSetup bool    `json:"needs_setup"`
	Provider   *string `json:"oauth_provider"`
}

func meOf(u store.User) me {
	out := me{ID: u.ID, Email: u.Email, Name: u.Name, SystemRole: "user", Role: u.Role}
	if u.Role != account.RoleUser {
		out.SystemRole = "admin"
	}
	return out
}

// me handles GET /v1/auth/me.
func (g *Gateway) me(c echo.Context) error {
	ctx := c.Request().Context()
	u, err := g.Accounts.ByID(ctx, principal.Owner(ctx))
	if errors.Is(err, store.ErrNotFound) && !g.Accounts.Required() {
		u, err = store.User{ID: principal.Default, Email: localEmail, Role: account.RoleOwner}, nil
	}
	if err != nil {
		return err
	}
	out := meOf(u)
	ids, err := g.DB.Identities(ctx, u.ID)
	if err != nil {
		return err
	}
	if u.Password == "" && len(ids) > 0 {
		out.Provider = &ids[0].Issuer
	}
	return httpx.JSON(c, http.StatusOK, out)
}

// passwordBody is the body of changePassword.
type passwordBody struct {
	Current  string  `json:"current_password"`
	New      string  `json:"new_password"`
	Code     string  `json:"totp"`
	Email    *string `json:"new_email"`
	Remember *bool   `json:"remember_me"`
}

// changePassword handles POST /v1/auth/change-password. All other sessions end.
func (g *Gateway) changePassword(c echo.Context) error {
	var in passwordBody
	if err := g.bindAuth(c, &in); err != nil {
		return err
	}
	r := c.Request()
	who := principal.Of(r.Context())
	u, err := g.Accounts.CheckPassword(r.Context(), proxy.Of(r).IP(), who.Email, in.Current)
	if err == nil && g.Accounts.Confirmed(r.Context(), who) != nil { // the new session counts as one with both factors
		u, err = g.Accounts.Login(r.Context(), proxy.Of(r).IP(), who.Email, in.Current, in.Code)
	}
	if errors.Is(err, account.ErrCredentials) {
		return coded(http.StatusBadRequest, "invalid_credentials", "Current password is incorrect")
	}
	if err != nil {
		return authError(err)
	}
	if in.Email != nil {
		if err := g.Accounts.SetEmail(r.Context(), u.ID, *in.Email); err != nil {
			return authError(err)
		}
	}
	if err := g.Accounts.SetPassword(r.Context(), u.ID, in.New, who.Session); err != nil {
		if errors.Is(err, account.ErrPassword) {
			return httpx.Invalid("body", "new_password", "%s", err)
		}
		return authError(err)
	}
	remember := in.Remember == nil || *in.Remember
	if err := g.Accounts.SignIn(c, u, remember); err != nil {
		return err
	}
	return message(c, "Password changed successfully")
}

// describeAuth returns the routes of signing in and of accounts.
func describeAuth() []o.Op {
	const tag = "Accounts"
	one := o.Ref("Me")
	said := route.Answered("Done", o.Of[messageJSON]())
	made := func(text string, s o.Schema) []o.Answer { return []o.Answer{{Status: 201, Text: text, Schema: s}} }
	link := made("A link that can be used once", o.Of[linkJSON]())
	role := o.Enum("owner", "admin", "user")
	return []o.Op{
		{ID: "getSetupStatus", Tag: tag, Text: "Tell whether the server has an owner yet",
			Out: route.Answered("The status",
				o.Of[setupStatusJSON]())},
		{ID: "listProviders", Tag: tag, Text: "List services to sign in with",
			Out: route.Answered("The services", o.Of[serviceList]())},
		{ID: "createOwner", Tag: tag, Text: "Create the owner's account",
			More: "token is that of the set-up link which the server shows on its console.", Need: true,
			Body: o.Reads[credentials](append(o.Without("keep_tokens"), o.Req("email", o.String()), o.Req("password", o.String()))...),
			Out:  made("The owner, signed in", one), Fail: []int{400, 403, 409}},
		{ID: "register", Tag: tag, Text: "Create an account", More: "403 unless auth.local.allow_registration is on.",
			Need: true,
			Body: o.Reads[credentials](append(o.Without("keep_tokens", "token"), o.Req("email", o.String()), o.Req("password", o.String()))...),
			Out:  made("The user, signed in", one), Fail: []int{400, 403, 429}},
		{ID: "login", Tag: tag, Text: "Sign in",
			More: "A form with username (the e-mail address), password, remember_me and, " +
				"for a user with a second factor, totp. Sets the cookies access_token and csrf_token. After five failures an " +
				"address has to wait: 429 with Retry-After.",
			Out:  route.Answered("Signed in", o.Of[loggedIn]()),
			Fail: []int{401, 429}},
		{ID: "redeemLink", Tag: tag, Text: "Use a link that sets the server up, invites a user or resets a password",
			More: "A link that makes an account signs its user in. One that resets a password does not: sign in " +
				"with the new password, and a code where the account asks for one. It ends the account's tokens, unless " +
				"keep_tokens is true.", Need: true,
			Body: o.Reads[credentials](o.Req("token", o.String()), o.Req("password", o.String())),
			Out:  made("The user", one), Fail: []int{400, 403, 409}},
		{ID: "logout", Tag: tag, Text: "Sign out", Out: said},
		{ID: "getMe", Tag: tag, Text: "Get the account that asks", Out: route.Answered("The account", one)},
		{ID: "changePassword", Tag: tag, Text: "Change the password", More: "All other sessions end.", Need: true,
			Body: o.Reads[passwordBody](o.Req("current_password", o.String()), o.Req("new_password", o.String())),
			Out:  said, Fail: []int{400, 429}},
		{ID: "listSessions", Tag: tag, Text: "List where the user is signed in",
			Out: route.Answered("The sessions, last used first",
				o.List(o.Of[sessionJSON]()))},
		{ID: "endSession", Tag: tag, Text: "End a session", Out: said},
		{ID: "endOtherSessions", Tag: tag, Text: "End all sessions but this one", Out: said},
		{ID: "listTokens", Tag: tag, Text: "List the user's tokens", Out: route.Answered("The tokens, newest first", o.List(o.Ref("Token")))},
		{ID: "createToken", Tag: tag, Text: "Create a token", Need: true,
			More: "The scope is read or write. The token is shown once; programs send it as Authorization: Bearer or x-api-key. " +
				"A session of more than 15 minutes needs current_password, and totp of who has a second factor.",
			Body: o.Reads[tokenBody](o.Req("name", o.String()), o.Req("scopes", o.List(o.Enum("read", "write"))),
				o.Is("expires_in_days", o.Range(1, 3650))),
			Out: made("The token", o.Ref("Token")), Fail: []int{400, 401, 403, 409, 429}},
		{ID: "revokeToken", Tag: tag, Text: "Revoke a token", Out: said},
		{ID: "listUsers", Tag: tag, Text: "List all users", Out: route.Answered("The users, oldest first", o.List(o.Ref("User")))},
		{ID: "inviteUser", Tag: tag, Text: "Invite a user",
			Body: o.Reads[inviteBody](o.Is("role", role)), Out: link, Fail: []int{400}},
		{ID: "changeUser", Tag: tag, Text: "Change the role of a user, or disable or rename it",
			Body: o.Reads[userChange](o.Is("role", role)),
			Out:  route.Answered("The user", o.Ref("User")), Fail: []int{400, 409}},
		{ID: "deleteUser", Tag: tag, Text: "Delete an account and all that it owns",
			More:  "Its runs end; threads with their files, memory, agents, tasks, settings, sessions and tokens are deleted for good.",
			Query: []o.Param{{Name: "keep_data", Schema: o.Bool(), Text: "Delete the account only"}},
			Out:   said, Fail: []int{409}},
		{ID: "createPasswordLink", Tag: tag, Text: "Make a link that sets a user's password", Out: link},
	}
}

// authSchemas returns the schemas of describeAuth.
func authSchemas() map[string]o.Schema {
	roles := []o.Prop{o.Is("system_role", o.Enum("admin", "user")), o.Is("role", o.Enum("owner", "admin", "user"))}
	return map[string]o.Schema{
		"Me":    o.Of[me](roles...),
		"User":  o.Of[userJSON](roles...),
		"Token": o.Of[tokenJSON](),
	}
}
