// Package passkey registers passkeys and signs people in with them (WebAuthn, with discoverable credentials).
package passkey

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"strings"

	"github.com/go-webauthn/webauthn/protocol"
	"github.com/go-webauthn/webauthn/webauthn"
)

var (
	// ErrPlace marks an address on which browsers allow no passkeys.
	ErrPlace = errors.New("passkeys need a host name, and HTTPS unless it is localhost")
	// ErrRefused marks an answer of a browser that proves nothing.
	ErrRefused = errors.New("the passkey was not accepted")
	// ErrUnknown means that a passkey isn't registered here.
	ErrUnknown = errors.New("no account has this passkey")
)

// Site is the site of a browser. Passkeys are bound to its host name.
type Site struct {
	w *webauthn.WebAuthn
}

// At returns the site of an origin such as https://fawn.example:8443. The error is [ErrPlace] where browsers allow no
// passkeys.
func At(origin, name string) (*Site, error) {
	scheme, rest, _ := strings.Cut(origin, "://")
	host := rest
	if h, _, err := net.SplitHostPort(rest); err == nil {
		host = h
	}
	host = strings.ToLower(strings.Trim(host, "[]"))
	if host == "" || net.ParseIP(host) != nil || scheme != "https" && !local(host) {
		return nil, ErrPlace
	}
	resident := true
	w, err := webauthn.New(&webauthn.Config{RPID: host, RPDisplayName: name, RPOrigins: []string{origin},
		AttestationPreference: protocol.PreferNoAttestation,
		AuthenticatorSelection: protocol.AuthenticatorSelection{RequireResidentKey: &resident,
			ResidentKey: protocol.ResidentKeyRequirementRequired, UserVerification: protocol.VerificationRequired}})
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrPlace, err)
	}
	return &Site{w}, nil
}

func local(host string) bool { return host == "localhost" || strings.HasSuffix(host, ".localhost") }

// User is an account with the passkeys it has.
type User struct {
	ID    string // id of the account; at most 64 bytes
	Email string
	Name  string
	Keys  []Key
}

// Key is a stored passkey: ID finds it, and only this package reads Data.
type Key struct {
	ID   string
	Data []byte
}

// account adapts a User to the library.
type account struct {
	User
	keys []webauthn.Credential
}

func (a account) WebAuthnID() []byte                         { return []byte(a.ID) }
func (a account) WebAuthnName() string                       { return a.Email }
func (a account) WebAuthnDisplayName() string                { return a.Name }
func (a account) WebAuthnCredentials() []webauthn.Credential { return a.keys }

func open(u User) (account, error) {
	a := account{User: u}
	if a.Name == "" {
		a.Name = a.Email
	}
	for _, k := range u.Keys {
		var c webauthn.Credential
		if err := json.Unmarshal(k.Data, &c); err != nil {
			return a, fmt.Errorf("read passkey %s: %w", k.ID, err)
		}
		a.keys = append(a.keys, c)
	}
	return a, nil
}

func stored(c *webauthn.Credential) (Key, error) {
	kept := *c
	kept.Attestation = webauthn.CredentialAttestation{} // none was asked for
	data, err := json.Marshal(kept)
	return Key{ID: base64.RawURLEncoding.EncodeToString(c.ID), Data: data}, err
}

// Ceremony is the state kept, sealed, between the two halves, to be used once.
type Ceremony []byte

// BeginRegister returns the browser's options for creating a passkey, as JSON.
func (s *Site) BeginRegister(u User) (options []byte, c Ceremony, err error) {
	a, err := open(u)
	if err != nil {
		return nil, nil, err
	}
	creation, session, err := s.w.BeginRegistration(a,
		webauthn.WithExclusions(webauthn.Credentials(a.keys).CredentialDescriptors()))
	if err != nil {
		return nil, nil, fmt.Errorf("begin with a passkey: %w", err)
	}
	return both(creation.Response, session)
}

// FinishRegister checks the browser's answer. Errors wrap [ErrRefused].
func (s *Site) FinishRegister(u User, c Ceremony, answer []byte) (Key, error) {
	var session webauthn.SessionData
	if err := json.Unmarshal(c, &session); err != nil {
		return Key{}, fmt.Errorf("%w: %w", ErrRefused, err)
	}
	a, err := open(u)
	if err != nil {
		return Key{}, err
	}
	parsed, err := protocol.ParseCredentialCreationResponseBytes(answer)
	if err != nil {
		return Key{}, refused(err)
	}
	made, err := s.w.CreateCredential(a, session, parsed)
	if err != nil {
		return Key{}, refused(err)
	}
	return stored(made)
}

// BeginSignIn returns the browser's options for finding a passkey of this site, as JSON.
func (s *Site) BeginSignIn() (options []byte, c Ceremony, err error) {
	assertion, session, err := s.w.BeginDiscoverableLogin(webauthn.WithUserVerification(protocol.VerificationRequired))
	if err != nil {
		return nil, nil, fmt.Errorf("begin with a passkey: %w", err)
	}
	return both(assertion.Response, session)
}

// FinishSignIn checks the browser's response. Find returns the account with a user id and its passkeys, or an error.
// The returned key has an updated use count and must be stored. Errors wrap [ErrRefused], [ErrUnknown] or are those of
// find.
func (s *Site) FinishSignIn(c Ceremony, answer []byte, find func(user string) (User, error)) (User, Key, error) {
	var session webauthn.SessionData
	if err := json.Unmarshal(c, &session); err != nil {
		return User{}, Key{}, fmt.Errorf("%w: %w", ErrRefused, err)
	}
	parsed, err := protocol.ParseCredentialRequestResponseBytes(answer)
	if err != nil {
		return User{}, Key{}, refused(err)
	}
	var who account
	var failed error // error of find, which the library converts to text
	_, used, err := s.w.ValidatePasskeyLogin(func(_, handle []byte) (webauthn.User, error) {
		u, err := find(string(handle))
		if err == nil {
			who, err = open(u)
		}
		failed = err
		return who, err
	}, session, parsed)
	switch {
	case failed != nil:
		return User{}, Key{}, failed
	case err != nil:
		return User{}, Key{}, refused(err)
	case used.Authenticator.CloneWarning:
		return User{}, Key{}, fmt.Errorf("%w: its counter went backwards; it may have been cloned", ErrRefused)
	}
	key, err := stored(used)
	return who.User, key, err
}

func both(options any, session *webauthn.SessionData) ([]byte, Ceremony, error) {
	a, err := json.Marshal(options)
	if err != nil {
		return nil, nil, err
	}
	b, err := json.Marshal(session)
	return a, b, err
}

// refused keeps the details for the log.
func refused(err error) error {
	var p *protocol.Error
	if errors.As(err, &p) && p.DevInfo != "" {
		return fmt.Errorf("%w: %w (%s)", ErrRefused, err, p.DevInfo)
	}
	return fmt.Errorf("%w: %w", ErrRefused, err)
}
