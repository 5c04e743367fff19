package account

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"fawn/store"
	"fawn/web/principal"
)

// How long a user stays signed in.
const (
	Lifetime     = 30 * 24 * time.Hour // of an unused session
	shortLife    = 24 * time.Hour      // of a session that isn't remembered
	freshFor     = 15 * time.Minute    // age up to which a session may add ways to sign in without further proof
	touchEvery   = time.Minute         // resolution of the last use
	maxSessions  = 100                 // limit per user; the longest unused are removed
	maxTokens    = 100                 // limit per user
	maxDevice    = 200                 // bytes of a device's description
	tokenPrefix  = "fawn_"
	maxTokenName = 100
)

// Visit is the origin of a sign-in.
type Visit struct {
	Device   string // its User-Agent
	IP       string
	Remember bool // the session outlives the browser's window
}

// Start signs a user in. The secret is for the cookie and is not kept.
func (s *Service) Start(ctx context.Context, user string, v Visit) (secretOut string, x store.Session, err error) {
	now := s.Now()
	secretOut = secret()
	x = store.Session{ID: newID(), Hash: hashed(secretOut), User: user, Device: short(v.Device, maxDevice), IP: v.IP,
		Lasting: v.Remember, CreatedAt: now, UsedAt: now, ExpiresAt: now.Add(life(v.Remember))}
	if err := s.DB.PutSession(ctx, x, maxSessions); err != nil {
		return "", store.Session{}, err
	}
	if u, err := s.DB.User(ctx, user); err == nil {
		s.limits.passed(network(v.IP), u.Email)
	}
	return secretOut, x, nil
}

func life(lasting bool) time.Duration {
	if lasting {
		return Lifetime
	}
	return shortLife
}

// short truncates s to n bytes and removes line breaks.
func short(s string, n int) string {
	s = strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f || r == utf8.RuneError {
			return -1
		}
		return r
	}, s)
	for len(s) > n {
		_, size := utf8.DecodeLastRuneInString(s)
		s = s[:len(s)-size]
	}
	return s
}

// Find returns the session of a cookie and its user: store.ErrNotFound without one, errExpired for an expired one,
// ErrDisabled if its user may not sign in.
func (s *Service) Find(ctx context.Context, cookie string) (store.Session, store.User, error) {
	x, u, err := s.DB.SessionByHash(ctx, hashed(cookie))
	switch {
	case err != nil:
	case !s.Now().Before(x.ExpiresAt):
		err = errExpired
	case u.Disabled:
		err = ErrDisabled
	}
	return x, u, err
}

// touch records a use of a session now and then, and reports whether it did.
func (s *Service) touch(ctx context.Context, x store.Session, ip string) bool {
	now := s.Now()
	if now.Sub(x.UsedAt) < touchEvery && ip == x.IP {
		return false
	}
	if err := s.DB.TouchSession(ctx, x.ID, ip, now, now.Add(life(x.Lasting))); err != nil {
		if ctx.Err() == nil {
			s.Log.Warn("couldn't update a session's last use", "err", err)
		}
		return false
	}
	return true
}

// Confirmed returns nil if a principal has recently proved their identity: only then may they add another way to sign
// in, such as a token or passkey, which would outlive a borrowed browser or a stolen cookie. Otherwise it returns
// ErrConfirm. Without a session, the authenticating proxy is trusted.
func (s *Service) Confirmed(ctx context.Context, who principal.Principal) error {
	if who.Session == "" {
		return nil
	}
	list, err := s.Sessions(ctx, who.Owner)
	if err != nil {
		return err
	}
	for _, x := range list {
		if x.ID == who.Session && s.Now().Sub(x.CreatedAt) < freshFor {
			return nil
		}
	}
	return ErrConfirm
}

// Sessions lists where a user is signed in, last used first.
func (s *Service) Sessions(ctx context.Context, user string) ([]store.Session, error) {
	return s.DB.Sessions(ctx, user, s.Now())
}

// Revoke ends a user's session with its active requests.
func (s *Service) Revoke(ctx context.Context, user, id string) error {
	if err := s.DB.DeleteSession(ctx, user, id); err != nil {
		return err
	}
	s.live.end(func(r *liveRequest) bool { return r.by == id })
	return nil
}

// RevokeOthers ends all sessions of a user except one, which may be "". With "" it also ends active
// requests of the user's tokens.
func (s *Service) RevokeOthers(ctx context.Context, user, but string) error {
	if err := s.DB.DeleteSessions(ctx, user, but); err != nil {
		return err
	}
	s.live.end(func(r *liveRequest) bool { return r.user == user && (but == "" || r.session && r.by != but) })
	return nil
}

// NewToken is which token to create.
type NewToken struct {
	Name    string
	Scope   string        // read or write
	Expires time.Duration // 0 is never
}

// CreateToken creates a token that acts for a user. The secret is shown once and is not kept.
func (s *Service) CreateToken(ctx context.Context, user string,
	n NewToken) (secretOut string, t store.Token, err error) {
	n.Name = strings.TrimSpace(n.Name)
	if c := utf8.RuneCountInString(n.Name); c == 0 || c > maxTokenName {
		return "", store.Token{}, ErrName
	}
	if !slices.Contains([]string{"read", "write"}, n.Scope) {
		return "", store.Token{}, ErrScope
	}
	now := s.Now()
	secretOut = tokenPrefix + secret()
	t = store.Token{ID: newID(), Hash: hashed(secretOut), User: user, Name: n.Name, Scope: n.Scope, CreatedAt: now}
	if n.Expires > 0 {
		t.ExpiresAt = now.Add(n.Expires)
	}
	err = s.DB.AddToken(ctx, t, maxTokens)
	if errors.Is(err, store.ErrConflict) {
		err = ErrTooMany
	}
	if err != nil {
		return "", store.Token{}, err
	}
	return secretOut, t, nil
}

// FindToken returns the token of a secret and its user, with the errors of [Service.Find].
func (s *Service) FindToken(ctx context.Context, secret string) (store.Token, store.User, error) {
	t, u, err := s.DB.TokenByHash(ctx, hashed(secret))
	switch {
	case err != nil:
	case !t.ExpiresAt.IsZero() && !s.Now().Before(t.ExpiresAt):
		err = errExpired
	case u.Disabled:
		err = ErrDisabled
	default:
		if now := s.Now(); now.Sub(t.UsedAt) >= touchEvery {
			if err := s.DB.TouchToken(ctx, t.ID, now); err != nil && ctx.Err() == nil {
				s.Log.Warn("couldn't update a token's last use", "err", err)
			}
		}
	}
	return t, u, err
}

// Tokens lists a user's, newest first.
func (s *Service) Tokens(ctx context.Context, user string) ([]store.Token, error) {
	return s.DB.Tokens(ctx, user)
}

// RevokeToken revokes a token of a user and ends everything it is doing.
func (s *Service) RevokeToken(ctx context.Context, user, id string) error {
	if err := s.DB.DeleteToken(ctx, user, id); err != nil {
		return err
	}
	s.live.end(func(r *liveRequest) bool { return r.by == id })
	return nil
}

// revokeTokens ends all tokens of a user.
func (s *Service) revokeTokens(ctx context.Context, user string) error {
	list, err := s.Tokens(ctx, user)
	for _, t := range list {
		if gone := s.RevokeToken(ctx, user, t.ID); !errors.Is(gone, store.ErrNotFound) {
			err = errors.Join(err, gone)
		}
	}
	return err
}

var errExpired = errors.New("the session has ended")
