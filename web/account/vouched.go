package account

import (
	"errors"
	"net/http"

	"fawn/store"
	"fawn/web/principal"
)

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
