// Package factor manages a user's proofs besides the password: an authenticator app, recovery codes as its replacement,
// and passkeys.
package factor

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/google/uuid"

	"fawn/store"
	"fawn/web/account/passkey"
	"fawn/web/account/totp"
)

var (
	// ErrCode marks a code that is wrong, or was used before.
	ErrCode = errors.New("the code is wrong, or was used before")
	// ErrMany marks a user with as many passkeys as there may be.
	ErrMany = errors.New("there are too many passkeys")
)

// The kinds, as they are stored.
const (
	kindTOTP     = "totp"
	kindRecovery = "recovery"
	kindPasskey  = "passkey"
)

// maxPasskeys limits a user's passkeys.
const maxPasskeys = 20

// Factors keeps them in the store. It is safe for concurrent use.
type Factors struct {
	DB  *store.DB
	Now func() time.Time // nil is the clock of DB
	// Seal keeps the secrets of apps unreadable in the store; nil leaves them as they are.
	Seal *Seal
}

func (f Factors) now() time.Time {
	if f.Now != nil {
		return f.Now()
	}
	return f.DB.Now()
}

// app returns the authenticator app of a user, set up or about to be; nil without one.
func (f Factors) app(ctx context.Context, user string, confirmed bool) (*store.Factor, error) {
	list, err := f.DB.Factors(ctx, user, kindTOTP)
	if err != nil {
		return nil, err
	}
	for _, one := range list {
		if one.Confirmed == confirmed {
			return &one, nil
		}
	}
	return nil, nil
}

// Required reports whether a user needs a second factor, and the number of remaining recovery codes.
func (f Factors) Required(ctx context.Context, user string) (required bool, recovery int, err error) {
	app, err := f.app(ctx, user, true)
	if err != nil || app == nil {
		return false, 0, err
	}
	list, err := f.DB.Factors(ctx, user, kindRecovery)
	return true, len(list), err
}

// Begin creates the secret of an authenticator app, replacing an unconfirmed one. It isn't valid until Confirm.
func (f Factors) Begin(ctx context.Context, user string) (secret string, err error) {
	for {
		app, err := f.app(ctx, user, false)
		if err != nil {
			return "", err
		}
		if app == nil {
			break
		}
		if err := f.DB.DeleteFactor(ctx, user, app.ID); err != nil && !errors.Is(err, store.ErrNotFound) {
			return "", err
		}
	}
	secret = totp.NewSecret()
	return secret, f.DB.AddFactor(ctx, store.Factor{ID: uuid.NewString(), User: user, Kind: kindTOTP,
		Data: f.Seal.close(user, secret)})
}

// Pending returns the secret that waits for Confirm; empty without one.
func (f Factors) Pending(ctx context.Context, user string) (string, error) {
	app, err := f.app(ctx, user, false)
	if err != nil || app == nil {
		return "", err
	}
	return f.Seal.open(user, app.Data)
}

// Confirm turns the authenticator app on with a code of it, and returns the recovery codes. The
// error is ErrCode when the code is wrong or nothing was begun.
func (f Factors) Confirm(ctx context.Context, user, code string) (recovery []string, err error) {
	app, err := f.app(ctx, user, false)
	if err != nil {
		return nil, err
	}
	on, err := f.app(ctx, user, true)
	if err != nil {
		return nil, err
	}
	if app == nil || on != nil {
		return nil, ErrCode
	}
	app.Confirmed = true
	if err := f.use(ctx, *app, code); err != nil {
		return nil, err
	}
	return f.Recovery(ctx, user)
}

// use spends a code of an app.
func (f Factors) use(ctx context.Context, app store.Factor, code string) error {
	secret, err := f.Seal.open(app.User, app.Data)
	if err != nil {
		return err
	}
	step, ok := totp.Check(secret, code, f.now(), app.Step)
	if !ok {
		return ErrCode
	}
	before := app.Step
	app.Step, app.UsedAt = step, f.now()
	err = f.DB.UseFactor(ctx, app, before)
	if errors.Is(err, store.ErrConflict) {
		return ErrCode // concurrent use
	}
	return err
}

// Recovery replaces the recovery codes with new ones.
func (f Factors) Recovery(ctx context.Context, user string) ([]string, error) {
	if err := f.DB.DeleteFactors(ctx, user, kindRecovery); err != nil {
		return nil, err
	}
	codes := totp.NewRecovery()
	for _, c := range codes {
		one := store.Factor{ID: uuid.NewString(), User: user, Kind: kindRecovery,
			Ref: user + " " + totp.HashRecovery(c), Confirmed: true}
		if err := f.DB.AddFactor(ctx, one); err != nil {
			return nil, err
		}
	}
	return codes, nil
}

// Check verifies a code of the app or a recovery code, which is then used up. The error is ErrCode if it is wrong.
func (f Factors) Check(ctx context.Context, user, code string) error {
	app, err := f.app(ctx, user, true)
	if err != nil {
		return err
	}
	if app == nil {
		return ErrCode
	}
	if !totp.IsRecovery(code) {
		return f.use(ctx, *app, code)
	}
	one, err := f.DB.FactorByRef(ctx, kindRecovery, user+" "+totp.HashRecovery(code))
	if err == nil {
		err = f.DB.DeleteFactor(ctx, user, one.ID)
	}
	if errors.Is(err, store.ErrNotFound) {
		return ErrCode
	}
	return err
}

// Off turns the authenticator app off; its recovery codes go with it.
func (f Factors) Off(ctx context.Context, user string) error {
	if err := f.DB.DeleteFactors(ctx, user, kindTOTP); err != nil {
		return err
	}
	return f.DB.DeleteFactors(ctx, user, kindRecovery)
}

// Passkeys returns a user's passkeys, oldest first.
func (f Factors) Passkeys(ctx context.Context, user string) ([]store.Factor, error) {
	return f.DB.Factors(ctx, user, kindPasskey)
}

// Keys returns the passkeys of a user in the form that passkey takes.
func (f Factors) Keys(ctx context.Context, user string) ([]passkey.Key, error) {
	list, err := f.Passkeys(ctx, user)
	var out []passkey.Key
	for _, one := range list {
		out = append(out, passkey.Key{ID: one.Ref, Data: one.Data})
	}
	return out, err
}

// AddPasskey stores a new one.
func (f Factors) AddPasskey(ctx context.Context, user, name string, key passkey.Key) error {
	list, err := f.Passkeys(ctx, user)
	if err != nil {
		return err
	}
	if len(list) >= maxPasskeys {
		return ErrMany
	}
	return f.DB.AddFactor(ctx, store.Factor{ID: uuid.NewString(), User: user, Kind: kindPasskey, Ref: key.ID,
		Name: strings.TrimSpace(name), Data: key.Data, Confirmed: true})
}

// UsePasskey stores a user's passkey after a use.
func (f Factors) UsePasskey(ctx context.Context, user string, key passkey.Key) error {
	one, err := f.DB.FactorByRef(ctx, kindPasskey, key.ID)
	if err != nil {
		return err
	}
	if one.User != user {
		return fmt.Errorf("passkey of another user: %w", store.ErrNotFound)
	}
	before := one.Step
	one.Data, one.UsedAt, one.Step = key.Data, f.now(), one.Step+1
	return f.DB.UseFactor(ctx, one, before)
}

// DeletePasskey removes a passkey from a user.
func (f Factors) DeletePasskey(ctx context.Context, user, id string) error {
	list, err := f.Passkeys(ctx, user)
	if err != nil {
		return err
	}
	for _, one := range list {
		if one.ID == id {
			return f.DB.DeleteFactor(ctx, user, id)
		}
	}
	return store.ErrNotFound
}
