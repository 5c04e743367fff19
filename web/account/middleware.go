package account

import (
	"cmp"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"errors"
	"net/http"
	"strings"
	"time"

	"github.com/labstack/echo/v4"

	"fawn/store"
	"fawn/web/httpx"
	"fawn/web/principal"
	"fawn/web/proxy"
)

// Cookies used by DeerFlow's clients.
const (
	CookieSession = "access_token"
	CookieCSRF    = "csrf_token"
	HeaderCSRF    = "X-CSRF-Token"

	// CookieSetup holds the token of the set-up link, for clients without support for links.
	CookieSetup = "fawn_setup"
)

// ErrEnded ends a request whose session or token was revoked.
var ErrEnded = httpx.Errorf(http.StatusUnauthorized, "the session has ended")

// Middleware authenticates requests and puts the principal into the request's context, which ends with the session or
// token. It refuses none: a route's policy does. However, an unsafe API request authenticated by a cookie also needs
// the token of [CookieCSRF] in [HeaderCSRF].
func (s *Service) Middleware(next echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) error {
		r := c.Request()
		if !s.Required() {
			c.SetRequest(r.WithContext(principal.With(r.Context(), principal.Single(r))))
			return next(c)
		}
		if strings.HasPrefix(r.URL.Path, "/assets/") {
			return next(c)
		}
		for {
			since := s.live.now()
			who, x, err := s.who(r)
			if err != nil {
				return err
			}
			ctx := principal.With(r.Context(), who)
			if !who.Known() {
				c.SetRequest(r.WithContext(ctx))
				return next(c)
			}
			ctx, cancel := context.WithCancelCause(ctx)
			l := &liveRequest{user: who.Owner, by: who.Session + who.Token, session: who.Session != "", cancel: cancel}
			if !s.live.add(l, since) {
				cancel(nil)
				continue
			}
			defer s.live.remove(l) // the server's context may end it: errors are answered outside
			c.SetRequest(r.WithContext(ctx))
			if who.Session != "" {
				cookie, err := r.Cookie(CookieSession)
				if err != nil {
					return err // just removed
				}
				s.renewCSRF(c, cookie.Value, x.Lasting) // also for a page from before an update, whose retry succeeds
				if err := checkCSRF(r, cookie.Value); err != nil {
					return err
				}
				if s.touch(ctx, x, clientIP(r)) && x.Lasting {
					s.setCookie(c, CookieSession, cookie.Value, Lifetime, true)
				}
			}
			if err := next(c); err != nil {
				c.Error(err) // while the context is still alive: an error page reads the store
			}
			return nil
		}
	}
}

// who returns the principal of a request: by its token, else by its cookie.
func (s *Service) who(r *http.Request) (principal.Principal, store.Session, error) {
	if given, ok := bearer(r); ok {
		t, u, err := s.FindToken(r.Context(), given)
		if why, err := refusal(err); err != nil || why != "" {
			return principal.Stranger(why), store.Session{}, err
		}
		p := of(u)
		p.Token, p.ReadOnly = t.ID, t.Scope != "write"
		return p, store.Session{}, nil
	}
	if s.UserHeader != "" && strings.Join(r.Header.Values(s.UserHeader), "") != "" {
		p, err := s.vouched(r)
		return p, store.Session{}, err
	}
	cookie, err := r.Cookie(CookieSession)
	if err != nil || cookie.Value == "" {
		return principal.Stranger("not_authenticated"), store.Session{}, nil
	}
	x, u, err := s.Find(r.Context(), cookie.Value)
	if why, err := refusal(err); err != nil || why != "" {
		return principal.Stranger(why), store.Session{}, err
	}
	p := of(u)
	p.Session = x.ID
	return p, x, nil
}

// refusal returns DeerFlow's code for a failed authentication, or passes on other errors.
func refusal(err error) (string, error) {
	switch {
	case err == nil:
		return "", nil
	case errors.Is(err, store.ErrNotFound):
		return "token_invalid", nil
	case errors.Is(err, errExpired):
		return "token_expired", nil
	case errors.Is(err, ErrDisabled):
		return "user_not_found", nil
	}
	return "", err
}

func of(u store.User) principal.Principal {
	return principal.Principal{Owner: u.ID, Email: u.Email, Name: u.Name, Role: principal.Role(u.Role)}
}

// bearer returns the token in a request's header: Authorization, or x-api-key, which LangGraph's clients also send
// without one of our tokens.
func bearer(r *http.Request) (string, bool) {
	if kind, given, ok := strings.Cut(r.Header.Get("Authorization"), " "); ok && strings.EqualFold(kind, "Bearer") {
		return strings.TrimSpace(given), true
	}
	if given := r.Header.Get("X-Api-Key"); strings.HasPrefix(given, tokenPrefix) {
		return given, true
	}
	return "", false
}

// csrfOf returns the token that a page's script reads from a cookie and repeats. It is bound to a session: another host
// of the domain, which can set cookies for this one, doesn't know it.
func csrfOf(session string) string {
	mac := hmac.New(sha256.New, []byte(session))
	mac.Write([]byte("csrf"))
	return base64.RawURLEncoding.EncodeToString(mac.Sum(nil))
}

// checkCSRF compares the token repeated by our script with the session's. For the pages' own actions the origin check
// of all requests suffices.
func checkCSRF(r *http.Request, session string) error {
	switch r.Method {
	case http.MethodGet, http.MethodHead, http.MethodOptions:
		return nil
	}
	if p := r.URL.Path; strings.HasPrefix(p, "/ui/") || !strings.HasPrefix(p, "/api/") && strings.Count(p, "/") == 1 &&
		(p == "/login" || p == "/logout" || p == "/setup" || p == "/reset") || authPost(p) {
		return nil
	}
	given := r.Header.Get(HeaderCSRF)
	if given == "" {
		return httpx.Errorf(http.StatusForbidden, "CSRF token missing. Include X-CSRF-Token header.")
	}
	if subtle.ConstantTimeCompare([]byte(csrfOf(session)), []byte(given)) != 1 {
		return httpx.Errorf(http.StatusForbidden, "CSRF token mismatch.")
	}
	return nil
}

// authPost: signing in and out needs no token, which a client gets only then.
func authPost(path string) bool {
	switch strings.TrimPrefix(path, "/api/v1/auth/") {
	case "login/local", "register", "initialize", "logout":
		return strings.HasPrefix(path, "/api/v1/auth/")
	}
	return false
}

func clientIP(r *http.Request) string { return cmp.Or(proxy.Of(r).IP(), r.RemoteAddr) }

// Visit returns the origin of a request.
func (s *Service) Visit(r *http.Request, remember bool) Visit {
	return Visit{Device: r.UserAgent(), IP: clientIP(r), Remember: remember}
}

// SignIn starts a session for a user and sets its cookies. A session that the browser had ends.
func (s *Service) SignIn(c echo.Context, user store.User, remember bool) error {
	r := c.Request()
	value, _, err := s.Start(r.Context(), user.ID, s.Visit(r, remember))
	if err != nil {
		return err
	}
	if err := s.endCookie(r); err != nil {
		return err
	}
	s.setCookie(c, CookieSession, value, Lifetime, remember)
	s.setCookie(c, CookieCSRF, csrfOf(value), Lifetime, remember)
	s.Log.Info("signed in", "email", user.Email, "from", clientIP(r))
	return nil
}

// SignOut ends the session of a request and removes its cookies.
func (s *Service) SignOut(c echo.Context) error {
	if err := s.endCookie(c.Request()); err != nil {
		return err
	}
	for _, name := range []string{CookieSession, CookieCSRF} {
		s.setCookie(c, name, "", -time.Second, true)
	}
	return nil
}

func (s *Service) endCookie(r *http.Request) error {
	cookie, err := r.Cookie(CookieSession)
	if err != nil {
		return nil
	}
	x, _, err := s.DB.SessionByHash(r.Context(), hashed(cookie.Value))
	if err == nil {
		err = s.Revoke(context.WithoutCancel(r.Context()), x.User, x.ID)
	}
	if errors.Is(err, store.ErrNotFound) {
		return nil
	}
	return err
}

// renewCSRF gives a browser its session's token if it has another one.
func (s *Service) renewCSRF(c echo.Context, session string, lasting bool) {
	if has, err := c.Request().Cookie(CookieCSRF); err != nil || has.Value != csrfOf(session) {
		s.setCookie(c, CookieCSRF, csrfOf(session), Lifetime, lasting)
	}
}

// SetCSRF gives a browser a token for unsafe requests on servers without accounts.
func (s *Service) SetCSRF(c echo.Context, remember bool) {
	s.setCookie(c, CookieCSRF, secret(), Lifetime, remember)
}

// SetSetup keeps the token of a set-up link in the browser that opened it.
func (s *Service) SetSetup(c echo.Context, token string) {
	s.setCookie(c, CookieSetup, token, Lifetime, false)
}

func (s *Service) setCookie(c echo.Context, name, value string, life time.Duration, lasting bool) {
	cookie := &http.Cookie{Name: name, Value: value, Path: "/", Secure: proxy.Of(c.Request()).Secure(), HttpOnly: true,
		SameSite: http.SameSiteLaxMode}
	if name == CookieCSRF {
		cookie.HttpOnly, cookie.SameSite = false, http.SameSiteStrictMode
	}
	if lasting {
		cookie.MaxAge = int(life / time.Second)
	}
	c.SetCookie(cookie)
}

// vouched returns the user named by a trusted proxy. Unknown users get an account, once there is an owner.
func (s *Service) vouched(r *http.Request) (principal.Principal, error) {
	ctx := r.Context()
	if n := len(r.Header.Values(s.UserHeader)); n != 1 { // one of them may come from the visitor
		s.Log.Warn("proxy sent several user names", "header", s.UserHeader, "times", n)
		return principal.Stranger("token_invalid"), nil
	}
	email, err := Email(r.Header.Get(s.UserHeader))
	if err != nil {
		s.Log.Warn("proxy sent a user name that isn't an e-mail address", "header", s.UserHeader)
		return principal.Stranger("token_invalid"), nil
	}
	u, err := s.DB.UserByEmail(ctx, email)
	if errors.Is(err, store.ErrNotFound) {
		empty, err := s.NeedsSetup(ctx)
		if err != nil || empty {
			return principal.Stranger("user_not_found"), err
		}
		u, err = s.Create(ctx, NewUser{Email: email, Role: RoleUser})
		if errors.Is(err, ErrEmailTaken) { // concurrent requests
			u, err = s.DB.UserByEmail(ctx, email)
		}
		if err != nil {
			return principal.Stranger("user_not_found"), err
		}
		s.Log.Info("user created from the proxy's header", "email", email)
		return of(u), nil
	}
	if err != nil {
		return principal.Stranger("user_not_found"), err
	}
	if u.Disabled {
		return principal.Stranger("user_not_found"), nil
	}
	return of(u), nil
}
