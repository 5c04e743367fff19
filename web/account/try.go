package account

import (
	"context"

	"fawn/store"
)

// MinPassword is how many characters a password has at least.
const MinPassword = minPassword

// Try lets an address prove by something besides a password that it is a user, within the same
// limits: an *ErrLocked says that it has to wait, and what prove returns counts as a failure.
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
