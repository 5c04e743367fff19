package account

import (
	"context"
	"errors"
	"fmt"
	"net/mail"
	"slices"
	"strings"
	"unicode/utf8"

	"fawn/store"
	"fawn/web/principal"
)

// Email returns an address in its stored form, or ErrEmail.
func Email(s string) (string, error) {
	s = strings.ToLower(strings.TrimSpace(s))
	a, err := mail.ParseAddress(s)
	if err != nil || a.Address != s || len(s) > 254 {
		return "", ErrEmail
	}
	return s, nil
}

// NewUser holds the data of a new account.
type NewUser struct {
	Email, Name, Role string
	Password          string // "" for an account with another sign-in, or one that sets it through a link
	KeepTokens        bool   // after a reset, which otherwise ends the account's API tokens
}

// Create creates an account. The first of a server becomes its owner, and owns all existing data.
func (s *Service) Create(ctx context.Context, n NewUser) (store.User, error) {
	u := store.User{ID: newID(), Name: strings.TrimSpace(n.Name), Role: n.Role}
	var err error
	if u.Email, err = Email(n.Email); err != nil {
		return store.User{}, err
	}
	if utf8.RuneCountInString(u.Name) > 100 {
		return store.User{}, ErrName
	}
	if !validRole(u.Role) {
		return store.User{}, ErrRole
	}
	if n.Password != "" {
		if u.Password, err = s.hashes.hash(ctx, n.Password); err != nil {
			return store.User{}, err
		}
	}
	made, err := s.DB.AddUser(ctx, u)
	if errors.Is(err, store.ErrConflict) && u.Role == RoleOwner {
		made, err = s.DB.AddFirstUser(ctx, u)
	}
	switch {
	case errors.Is(err, store.ErrExists):
		return store.User{}, ErrEmailTaken
	case errors.Is(err, store.ErrConflict):
		return store.User{}, fmt.Errorf("the first account has to be an owner's")
	}
	return made, err
}

// Initialize creates the owner's account on a server without one. ErrSetUp otherwise.
func (s *Service) Initialize(ctx context.Context, n NewUser) (store.User, error) {
	email, err := Email(n.Email)
	if err != nil {
		return store.User{}, err
	}
	if has, err := s.DB.HasUsers(ctx); err != nil || has {
		return store.User{}, errors.Join(err, ErrSetUp)
	}
	hash, err := s.hashes.hash(ctx, n.Password)
	if err != nil {
		return store.User{}, err
	}
	u, err := s.DB.AddFirstUser(ctx, store.User{Email: email, Name: strings.TrimSpace(n.Name), Role: RoleOwner,
		Password: hash})
	if errors.Is(err, store.ErrExists) {
		err = ErrSetUp
	}
	if err == nil {
		s.Log.Info("owner account created", "email", u.Email)
	}
	return u, err
}

// Register is [Service.Create] for a visitor from an address, with a rate limit.
func (s *Service) Register(ctx context.Context, ip string, n NewUser) (store.User, error) {
	if err := s.limits.begin("new "+network(ip), "", func() bool { return true }); err != nil {
		return store.User{}, err
	}
	return s.Create(ctx, n)
}

func validRole(role string) bool {
	return slices.Contains([]string{RoleOwner, RoleAdmin, RoleUser}, role)
}

// ByID returns a user, or store.ErrNotFound.
func (s *Service) ByID(ctx context.Context, id string) (store.User, error) { return s.DB.User(ctx, id) }

// ByEmail returns a user, or store.ErrNotFound.
func (s *Service) ByEmail(ctx context.Context, email string) (store.User, error) {
	return s.DB.UserByEmail(ctx, strings.ToLower(strings.TrimSpace(email)))
}

// List returns all users, oldest first.
func (s *Service) List(ctx context.Context) ([]store.User, error) { return s.DB.Users(ctx) }

// May returns nil if a person may change an account, and set its role ("" keeps it).
func May(by principal.Principal, target store.User, role string) error {
	switch {
	case role != "" && !validRole(role):
		return ErrRole
	case by.Role == principal.RoleOwner:
		return nil
	case by.Operator() && target.Role == RoleUser && (role == "" || role == RoleUser):
		return nil
	}
	return ErrForbidden
}

// SetRole changes a user's role. Their sessions continue with the new role from the next request on.
func (s *Service) SetRole(ctx context.Context, id, role string) error {
	if !validRole(role) {
		return ErrRole
	}
	change := func() error {
		_, err := s.change(ctx, id, func(u *store.User) { u.Role = role })
		if err == nil {
			s.live.end(func(r *liveRequest) bool { return r.user == id })
		}
		return err
	}
	if s.Rerole != nil {
		return s.Rerole(ctx, id, change)
	}
	return change()
}

// SetDisabled disables or enables a user. Disabling ends their sessions and activities and suspends their tokens.
func (s *Service) SetDisabled(ctx context.Context, id string, disabled bool) error {
	if _, err := s.change(ctx, id, func(u *store.User) { u.Disabled = disabled }); err != nil || !disabled {
		return err
	}
	err := s.RevokeOthers(ctx, id, "")
	if s.StopOwned != nil {
		err = errors.Join(err, s.StopOwned(ctx, id))
	}
	return err
}

// SetName changes how a user is called.
func (s *Service) SetName(ctx context.Context, id, name string) error {
	name = strings.TrimSpace(name)
	if utf8.RuneCountInString(name) > 100 {
		return ErrName
	}
	_, err := s.change(ctx, id, func(u *store.User) { u.Name = name })
	return err
}

// SetEmail changes a user's sign-in address.
func (s *Service) SetEmail(ctx context.Context, id, email string) error {
	email, err := Email(email)
	if err == nil {
		_, err = s.change(ctx, id, func(u *store.User) { u.Email = email })
	}
	return err
}

// SetPassword changes a password and ends all sessions but one, which may be "".
func (s *Service) SetPassword(ctx context.Context, id, password, but string) error {
	hash, err := s.hashes.hash(ctx, password)
	if err != nil {
		return err
	}
	if _, err := s.change(ctx, id, func(u *store.User) { u.Password = hash }); err != nil {
		return err
	}
	return s.RevokeOthers(ctx, id, but)
}

// Delete deletes an account with everything it owns, or with keep leaves its data. The account is disabled and its
// activities are ended first. A failed deletion can be repeated: the account is removed last.
func (s *Service) Delete(ctx context.Context, id string, keep bool) error {
	ctx = context.WithoutCancel(ctx) // it may be a request from the account itself
	if err := s.SetDisabled(ctx, id, true); err != nil {
		return err
	}
	if !keep && s.RemoveOwned != nil {
		if err := s.RemoveOwned(ctx, id); err != nil {
			return err
		}
	}
	err := s.DB.DeleteUser(ctx, id)
	if errors.Is(err, store.ErrConflict) {
		return ErrLastOwner
	}
	return err
}

func (s *Service) change(ctx context.Context, id string, f func(*store.User)) (store.User, error) {
	u, err := s.DB.ChangeUser(ctx, id, f)
	switch {
	case errors.Is(err, store.ErrConflict):
		err = ErrLastOwner
	case errors.Is(err, store.ErrExists):
		err = ErrEmailTaken
	}
	return u, err
}

// CheckPassword returns the user with an e-mail address and password: ErrCredentials if they don't match, *ErrLocked if
// an address has to wait before its next attempt.
func (s *Service) CheckPassword(ctx context.Context, ip, email, password string) (store.User, error) {
	email = strings.ToLower(strings.TrimSpace(email))
	if len(email) > 254 {
		email = email[:254]
	}
	ip = network(ip)
	u, err := s.DB.UserByEmail(ctx, email)
	if err != nil && !errors.Is(err, store.ErrNotFound) {
		return store.User{}, err
	}
	if err := s.limits.begin(ip, email, func() bool { return s.knows(ctx, u, ip) }); err != nil {
		return store.User{}, err
	}
	ok, err := s.hashes.matches(ctx, u.Password, password)
	switch {
	case err != nil:
		s.limits.undo(ip, email)
		return store.User{}, err
	case !ok:
		s.Log.Warn("sign-in failed", "email", email, "from", ip)
		return store.User{}, ErrCredentials
	}
	s.limits.undo(ip, email)
	if u.Disabled {
		return store.User{}, ErrDisabled
	}
	return u, nil
}

// Login is [Service.CheckPassword] plus the second factor, if the user has one: a missing or wrong code is
// ErrSecondFactor.
func (s *Service) Login(ctx context.Context, ip, email, password, code string) (store.User, error) {
	u, err := s.CheckPassword(ctx, ip, email, password)
	if err != nil || s.SecondFactor == nil {
		return u, err
	}
	if err = s.SecondFactor(ctx, u, code); errors.Is(err, ErrSecondFactor) && code != "" {
		s.Failed(ip, u.Email)
	}
	return u, err
}

// Failed counts an address's failed attempt to sign in to an account, including by a second factor.
func (s *Service) Failed(ip, email string) {
	s.limits.failed(network(ip), email)
	s.Log.Warn("sign-in failed", "email", email, "from", ip)
}

// knows reports whether a user has a session from an address.
func (s *Service) knows(ctx context.Context, u store.User, ip string) bool {
	if u.ID == "" {
		return false
	}
	list, err := s.DB.Sessions(ctx, u.ID, s.Now())
	return err == nil && slices.ContainsFunc(list, func(x store.Session) bool { return network(x.IP) == ip })
}
