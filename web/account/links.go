package account

import (
	"context"
	"errors"
	"strings"
	"time"

	"fawn/store"
)

// Kinds of links.
const (
	LinkSetup  = "setup"  // creates the owner's account
	LinkInvite = "invite" // creates an account
	LinkReset  = "reset"  // sets a new password
)

// How long links can be used.
const (
	setupLife  = 30 * 24 * time.Hour // each start creates a new one
	inviteLife = 7 * 24 * time.Hour
	resetLife  = 24 * time.Hour
)

// SetupPath returns the page of a link that creates an account.
func SetupPath(secret string) string { return "/setup?token=" + secret }

// ResetPath returns the page of a link that sets a password.
func ResetPath(secret string) string { return "/reset?token=" + secret }

// maxStarts limits the valid set-up links for the owner's account from the servers of a database.
const maxStarts = 16

// SetupLink returns the secret of a link that creates the owner's account. Earlier links expire, except those that
// other servers may have shown: each server shows one when it starts, and any of them works on all servers.
func (s *Service) SetupLink(ctx context.Context) (string, error) {
	keep := 0
	if s.DB.Clustered() {
		keep = maxStarts - 1
	}
	return s.newLink(ctx, store.Link{Kind: LinkSetup}, setupLife, keep)
}

// InviteLink returns the secret of a link that creates an account. With an empty address the link's user chooses it.
func (s *Service) InviteLink(ctx context.Context, email, role string) (string, error) {
	if !validRole(role) {
		return "", ErrRole
	}
	if email != "" {
		var err error
		if email, err = Email(email); err != nil {
			return "", err
		}
		if _, err := s.DB.UserByEmail(ctx, email); !errors.Is(err, store.ErrNotFound) {
			return "", errors.Join(err, ErrEmailTaken)
		}
	}
	return s.newLink(ctx, store.Link{Kind: LinkInvite, Email: email, Role: role}, inviteLife, 0)
}

// ResetLink returns the secret of a link that sets a user's password.
func (s *Service) ResetLink(ctx context.Context, user string) (string, error) {
	return s.newLink(ctx, store.Link{Kind: LinkReset, User: user}, resetLife, 0)
}

func (s *Service) newLink(ctx context.Context, l store.Link, life time.Duration, keep int) (string, error) {
	out := secret()
	l.Hash, l.CreatedAt = hashed(out), s.Now()
	l.ExpiresAt = l.CreatedAt.Add(life)
	return out, s.DB.PutLink(ctx, l, keep)
}

// Link returns the purpose of a link, or ErrLink.
func (s *Service) Link(ctx context.Context, secret string) (store.Link, error) {
	l, err := s.DB.LinkByHash(ctx, hashed(secret))
	if errors.Is(err, store.ErrNotFound) || err == nil && !s.Now().Before(l.ExpiresAt) {
		return store.Link{}, ErrLink
	}
	if err != nil || l.Kind != LinkSetup {
		return l, err
	}
	has, err := s.DB.HasUsers(ctx)
	if err == nil && has { // another server's link was used
		return store.Link{}, ErrLink
	}
	return l, err
}

// Joined is the result of using a link.
type Joined struct {
	store.User      // the created or changed account
	Enters     bool // the link signs its user in; after a reset, people sign in with everything their account requires
}

// UseLink carries out a link's purpose. The link is used up unless its data is rejected: a too short password, or an
// invalid or taken address.
func (s *Service) UseLink(ctx context.Context, secret string, n NewUser) (Joined, error) {
	l, err := s.Link(ctx, secret)
	if err != nil {
		return Joined{}, err
	}
	u, err := s.useLink(ctx, l, n)
	return Joined{u, l.Kind != LinkReset}, err
}

func (s *Service) useLink(ctx context.Context, l store.Link, n NewUser) (store.User, error) {
	hash, err := s.hashes.hash(ctx, n.Password)
	if err != nil {
		return store.User{}, err
	}
	if l.Kind == LinkReset {
		if err := s.take(ctx, l); err != nil {
			return store.User{}, err
		}
		u, err := s.change(ctx, l.User, func(u *store.User) { u.Password = hash })
		if err == nil && !n.KeepTokens {
			err = s.revokeTokens(ctx, u.ID)
		}
		return u, errors.Join(err, s.RevokeOthers(ctx, l.User, ""))
	}
	email := l.Email
	if email == "" {
		if email, err = Email(n.Email); err != nil {
			return store.User{}, err
		}
	}
	if _, err := s.DB.UserByEmail(ctx, email); !errors.Is(err, store.ErrNotFound) {
		return store.User{}, errors.Join(err, ErrEmailTaken)
	}
	if err := s.take(ctx, l); err != nil {
		return store.User{}, err
	}
	u := store.User{ID: newID(), Email: email, Name: strings.TrimSpace(short(n.Name, maxDevice)), Role: l.Role,
		Password: hash}
	if l.Kind == LinkSetup {
		u.Role = RoleOwner
		u, err = s.DB.AddFirstUser(ctx, u)
		if errors.Is(err, store.ErrExists) {
			err = ErrSetUp
		}
		return u, err
	}
	u, err = s.DB.AddUser(ctx, u)
	if errors.Is(err, store.ErrExists) {
		err = ErrEmailTaken
	}
	return u, err
}

func (s *Service) take(ctx context.Context, l store.Link) error {
	err := s.DB.TakeLink(ctx, l.Hash)
	if errors.Is(err, store.ErrNotFound) {
		return ErrLink
	}
	return err
}
