package mcp

import (
	"cmp"
	"context"
	"crypto/rand"
	"strings"
	"time"
)

// Times of servers that share tokens.
const (
	holdTime = tokenTime + 15*time.Second // a renewal not finished by then has failed
	holdLook = 100 * time.Millisecond
)

// useLogin applies the stored login if it belongs to this server.
func (s *server) useLogin(g *grant) {
	if !s.has(g) {
		return
	}
	s.tokens = loginTokens(*g, s.veil, func(next *grant) {
		s.remember(func(k *known) {
			if k.Login != nil && k.Login.sameClient(next) { // unless someone logged out or in again meanwhile
				k.Login = next
			}
		})
	})
	way := s.conf
	way.Headers = nil // they are not for the authorization server
	if w, err := newWeb(way, nil, &s.pool.o, tokenBytes); err == nil {
		s.tokens.client.Transport = w
	}
	s.tokens.clock = s.pool.logins.Now
	s.login = g
}

// has reports whether a login is for the server.
func (s *server) has(g *grant) bool { return g != nil && g.For == s.conf.URL && s.conf.mayLogIn() }

// sameClient reports whether a grant is renewed by the same client.
func (g *grant) sameClient(o *grant) bool {
	return g.TokenURL == o.TokenURL && g.ClientID == o.ClientID && g.ClientSecret == o.ClientSecret &&
		g.Basic == o.Basic && g.Resource == o.Resource
}

// loginTokens returns the tokens of a login.
func loginTokens(g grant, v *veil, keep func(*grant)) *tokens {
	o := OAuth{TokenURL: g.TokenURL, Grant: "refresh_token", ClientID: g.ClientID, ClientSecret: g.ClientSecret,
		Basic: g.Basic, TokenField: "access_token", TypeField: "token_type", ExpiryField: "expires_in",
		DefaultType: cmp.Or(g.Type, "Bearer"), Skew: time.Minute}
	if g.Resource != "" {
		o.Params = map[string]string{"resource": g.Resource}
	}
	v.hide(g.ClientSecret)
	t := newTokens(o, v, "", nil)
	t.login = true
	t.adopt(&g)
	t.renewed = func(access, refresh string, until time.Time) {
		next := g
		next.Access, next.Refresh, next.Until = access, refresh, until
		keep(&next)
	}
	return t
}

// adopt applies a login made here or on another server, unless it was refused.
func (t *tokens) adopt(g *grant) {
	t.veil.hide(g.Access, g.Refresh)
	t.mu.Lock()
	defer t.mu.Unlock()
	t.refresh = g.Refresh
	kind := g.Type
	if strings.EqualFold(kind, "bearer") {
		kind = "Bearer"
	}
	value := kind + " " + g.Access
	if value == t.refused {
		return
	}
	t.value, t.until = value, g.Until
	if g.Until.IsZero() {
		t.until = t.clock().AddDate(100, 0, 0) // the server reports its expiry
	}
}

// takeTokens applies the current state, perhaps written by another server. It returns false if the server must restart
// for that.
func (s *server) takeTokens(k known) bool {
	switch {
	case s.login != nil:
		if !s.has(k.Login) || !k.Login.sameClient(s.login) {
			return false
		}
		s.tokens.adopt(k.Login)
	case s.tokens == nil:
		return !s.has(k.Login)
	default:
		if o := s.conf.OAuth; o != nil && k.Refresh != "" && k.From == tokenHash(o.RefreshToken) {
			s.tokens.veil.hide(k.Refresh)
			s.tokens.mu.Lock()
			s.tokens.refresh = k.Refresh
			s.tokens.mu.Unlock()
		}
	}
	return true
}

// heard applies another server's changes to this one.
func (s *server) heard() {
	s.mu.Lock()
	k := s.pool.memory.get(s.name)
	if k.Signature == s.conf.signature() {
		s.sort(k.Tools, k.Approved)
	}
	good := s.takeTokens(k)
	asked := s.state == StateLogin && s.login != nil && k.Login != nil && k.Login.Access != s.login.Access
	s.mu.Unlock()
	if !good || asked {
		_ = s.pool.Reconnect(s.name) // a server removed meanwhile needs no start
	}
}

// turn waits until no other server renews the token and applies their result. The holder of the turn is stored; it
// expires after the time a renewal may take.
func (s *server) turn(ctx context.Context) (end func(), err error) {
	m := s.pool.memory
	if m.rows == nil {
		return func() {}, nil
	}
	mine, other := rand.Text(), ""
	since := time.Now()
	for {
		if err := m.rows.Refresh(ctx); err != nil {
			return nil, err
		}
		got, now := false, ""
		err := m.put(s.name, func(k *known) bool {
			now = k.Turn
			if got = now == "" || now == other && time.Since(since) > holdTime; got {
				k.Turn = mine
			}
			return true
		})
		if err != nil {
			return nil, err
		}
		if got {
			break
		}
		if now != other {
			other, since = now, time.Now()
		}
		select {
		case <-time.After(holdLook):
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
	end = func() {
		s.remember(func(k *known) {
			if k.Turn == mine {
				k.Turn = ""
			}
		})
	}
	s.mu.Lock()
	good := s.takeTokens(m.get(s.name))
	s.mu.Unlock()
	if !good {
		end()
		return nil, errLogin // someone logged out or in again
	}
	return end, nil
}
