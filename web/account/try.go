package account

import (
	"context"

	"fawn/store"
)

// MinPassword is the minimum length of a password in characters.
const MinPassword = minPassword

// Try lets a client address prove an identity by something other than a password, within the same limits: an
// *ErrLocked means that it has to wait, and an error of prove counts as a failure.
func (s *Service) Try(ctx context.Context, ip string, u store.User, prove func() error) error {
	net := network(ip)
	if err := s.limits.begin(net, u.Email, func() bool { return s.knows(ctx, u, net) }); err != nil {
		return err
	}
	if err := prove(); err != nil {
		s.Log.Warn("second factor rejected", "email", u.Email, "from", ip)
		return err
	}
	s.limits.undo(net, u.Email)
	return nil
}
