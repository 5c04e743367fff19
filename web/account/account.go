package account

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"fawn/store"
)

// Roles of users. An owner or admin runs the installation; only an owner may change owners and admins.
const (
	RoleOwner = "owner"
	RoleAdmin = "admin"
	RoleUser  = "user"
)

// Errors of this package, for errors.Is.
var (
	ErrCredentials  = errors.New("the e-mail address or the password is wrong")
	ErrDisabled     = errors.New("this account is disabled")
	ErrSecondFactor = errors.New("a code from the second factor is needed")
	ErrPassword     = errors.New("the password is too short or too long: use 8 to 256 characters")
	ErrEmail        = errors.New("this isn't an e-mail address")
	ErrRole         = errors.New("a role is owner, admin or user")
	ErrForbidden    = errors.New("only an owner may change owners and admins")
	ErrLastOwner    = errors.New("the last owner can't be removed, disabled or given another role")
	ErrEmailTaken   = errors.New("another account has this e-mail address")
	ErrSetUp        = errors.New("this server has an owner already")
	ErrLink         = errors.New("this link has been used or replaced, or has expired")
	ErrName         = errors.New("a name has 1 to 100 characters")
	ErrScope        = errors.New("the scope of a token is read or write")
	ErrTooMany      = errors.New("there are too many of these; remove some first")
	ErrBusy         = errors.New("too many sign-ins at once")
	ErrConfirm      = errors.New("the session is too old for this: sign in again, or give the password")
)

// Provider is a service that vouches for people.
type Provider struct{ ID, Name string }

// Options configure a Service.
type Options struct {
	DB  *store.DB
	Log *slog.Logger
	// UserHeader is the header with the address of the user signed in by a proxy; empty for none. It is only honored in
	// requests from trusted proxies.
	UserHeader string
	Required   bool // reports whether accounts are required; otherwise everyone is the installation's owner

	HashMemory uint32           // KiB that the hash of a new password takes; 0 is 46 MiB
	Now        func() time.Time // nil is the clock of DB
}

// Service keeps accounts. Its methods are safe for concurrent use.
type Service struct {
	Options

	// SecondFactor checks the code given in addition to a password. It returns nil for a user without a second factor,
	// and ErrSecondFactor for a missing or wrong code. A nil func requires none.
	SecondFactor func(ctx context.Context, user store.User, code string) error

	// RemoveOwned deletes all that a user owns besides the account. A nil func deletes nothing.
	RemoveOwned func(ctx context.Context, user string) error

	// StopOwned ends a user's activities other than requests. A nil func ends nothing.
	StopOwned func(ctx context.Context, user string) error

	// Rerole calls change, which gives a user another role, and whatever depends on it; nil only calls it.
	Rerole func(ctx context.Context, user string, change func() error) error

	limits *limits
	hashes *hasher
	live   live
}

// New returns the service of an installation.
func New(o Options) *Service {
	if o.Now == nil {
		o.Now = o.DB.Now
	}
	if o.Log == nil {
		o.Log = slog.Default()
	}
	return &Service{Options: o, limits: newLimits(o.Now), hashes: newHasher(o.HashMemory)}
}

// Required reports whether accounts are required. Otherwise everyone is the installation's owner.
func (s *Service) Required() bool { return s.Options.Required }

// NeedsSetup reports whether accounts are required and none exists yet.
func (s *Service) NeedsSetup(ctx context.Context) (bool, error) {
	if !s.Required() {
		return false, nil
	}
	has, err := s.DB.HasUsers(ctx)
	return !has && err == nil, err
}

// secret returns 256 random bits as text.
func secret() string {
	var b [32]byte
	rand.Read(b[:])
	return base64.RawURLEncoding.EncodeToString(b[:])
}

// hashed returns the stored form of a secret: it is random, so one round is enough.
func hashed(secret string) []byte {
	sum := sha256.Sum256([]byte(secret))
	return sum[:]
}

// newID returns a random id that isn't secret.
func newID() string {
	var b [12]byte
	rand.Read(b[:])
	return fmt.Sprintf("%x", b)
}
