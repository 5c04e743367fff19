package projects

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"fawn/store"
)

// Share gives the person whose account has an address a role in a project of p's owner. Errors: *Invalid, *TooMany.
func (s *Service) Share(ctx context.Context, p store.Project, email string, role store.Role) error {
	if role != store.Viewer && role != store.Editor {
		return &Invalid{"role", "want viewer or editor"}
	}
	if err := s.misses.Check(p.Owner, s.DB.Now()); err != nil {
		return err
	}
	u, err := s.DB.UserByEmail(ctx, strings.TrimSpace(email))
	if errors.Is(err, store.ErrNotFound) {
		s.misses.Count(p.Owner, s.DB.Now())
		return &Invalid{"email", "there is no account with this address"}
	}
	if err != nil {
		return err
	}
	if u.ID == p.Owner {
		return &Invalid{"email", "this is the project's owner"}
	}
	if err := s.DB.ShareProject(ctx, p.Owner, p.ID, u.ID, role); err != nil {
		return err
	}
	if role.Writes() {
		return nil
	}
	return s.end(ctx, u.ID, p.ID)
}

// Unshare ends a person's role in a project. The chats that they have in it leave it. Errors: store.ErrNotFound for
// who has none.
func (s *Service) Unshare(ctx context.Context, p store.Project, person string) error {
	if person == p.Owner {
		return fmt.Errorf("the owner of project %s: %w", p.ID, store.ErrNotFound)
	}
	ctx = context.WithoutCancel(ctx)
	inside, err := s.DB.ThreadsIn(ctx, person, p.ID)
	if err != nil {
		return err
	}
	if err := s.DB.LeaveProject(ctx, person, p.ID); err != nil {
		return err
	}
	return s.Ended(ctx, inside)
}
