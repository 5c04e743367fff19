package factor

import (
	"context"
	"crypto/cipher"
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"golang.org/x/crypto/chacha20poly1305"

	"fawn/store"
)

// KeyFile is the name of the file in a data folder with the key of a Seal.
const KeyFile = "second-factor.key"

// ErrSealed marks the secret of an app that this server cannot read.
var ErrSealed = errors.New("the secrets of authenticator apps were encrypted with another key: put " + KeyFile +
	" back into the data folder, or FAWN_SECRET_KEY into the environment; or turn the second step off with " +
	"`fawn user reset EMAIL --second-factor`, and set it up again")

// sealed is the prefix of sealed secrets. An app's secret, in base32, has no such letter.
const sealed = '$'

// Seal encrypts the secrets of authenticator apps in the database, so that a copy of it is useless for creating codes.
// A nil Seal encrypts nothing.
type Seal struct{ keys []cipher.AEAD } // the first seals, all of them open

// NewSeal takes keys of 32 bytes, the current one first.
func NewSeal(keys ...[]byte) (*Seal, error) {
	s := new(Seal)
	for _, key := range keys {
		aead, err := chacha20poly1305.NewX(key)
		if err != nil {
			return nil, fmt.Errorf("key of second factors: %w", err)
		}
		s.keys = append(s.keys, aead)
	}
	return s, nil
}

// LocalKey returns the key in a data folder, creating it if necessary.
func LocalKey(dir string) ([]byte, error) { return NamedKey(dir, KeyFile) }

// NamedKey returns a 32-byte key in a file of a data folder, creating it if necessary.
func NamedKey(dir, file string) ([]byte, error) {
	name := filepath.Join(dir, file)
	key, err := os.ReadFile(name)
	if err == nil && len(key) != chacha20poly1305.KeySize { // it opens nothing, but must not lock everyone out
		if err = os.Rename(name, name+".damaged"); err == nil {
			err = fs.ErrNotExist
		}
	}
	if !errors.Is(err, fs.ErrNotExist) {
		return key, err
	}
	key = make([]byte, chacha20poly1305.KeySize)
	rand.Read(key) //nolint:errcheck // never fails
	return key, keep(name, key)
}

// keep writes a file atomically, even if the power fails: secrets sealed with a lost key are lost.
func keep(name string, data []byte) error {
	f, err := os.OpenFile(name+".tmp", os.O_CREATE|os.O_WRONLY|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	if err = errors.Join(err, f.Sync(), f.Close()); err == nil {
		err = os.Rename(name+".tmp", name)
	}
	if err != nil {
		return err
	}
	dir, err := os.Open(filepath.Dir(name))
	if err != nil {
		return err
	}
	_ = dir.Sync() // some systems don't support it
	return dir.Close()
}

// close seals a secret of a user.
func (s *Seal) close(user, secret string) []byte {
	if s == nil {
		return []byte(secret)
	}
	nonce := make([]byte, chacha20poly1305.NonceSizeX)
	rand.Read(nonce) //nolint:errcheck // never fails
	return s.keys[0].Seal(append([]byte{sealed}, nonce...), nonce, []byte(secret), []byte(user))
}

// open reads a secret, also one of before secrets were sealed.
func (s *Seal) open(user string, data []byte) (string, error) {
	if len(data) == 0 || data[0] != sealed {
		return string(data), nil
	}
	const head = 1 + chacha20poly1305.NonceSizeX
	if s == nil || len(data) < head {
		return "", ErrSealed
	}
	for _, key := range s.keys {
		if plain, err := key.Open(nil, data[1:head], data[head:], []byte(user)); err == nil {
			return string(plain), nil
		}
	}
	return "", ErrSealed
}

// current reports whether a secret is sealed with the current key.
func (s *Seal) current(user string, data []byte) bool {
	one := Seal{s.keys[:1]}
	_, err := one.open(user, data)
	return err == nil && len(data) > 0 && data[0] == sealed
}

// SealAll seals secrets stored unsealed or with an older key. It counts those that no key opens.
func (f Factors) SealAll(ctx context.Context) (unreadable int, err error) {
	users, err := f.DB.Users(ctx)
	if err != nil || f.Seal == nil {
		return 0, err
	}
	for _, u := range users {
		list, err := f.DB.Factors(ctx, u.ID, kindTOTP)
		if err != nil {
			return unreadable, err
		}
		for _, app := range list {
			secret, err := f.Seal.open(u.ID, app.Data)
			if err != nil {
				unreadable++
			}
			if err != nil || f.Seal.current(u.ID, app.Data) { // sealed with another key: its user learns of it at the next code
				continue
			}
			app.Data = f.Seal.close(u.ID, secret)
			if err := f.DB.UseFactor(ctx, app, app.Step); err != nil && !errors.Is(err, store.ErrConflict) {
				return unreadable, err
			}
		}
	}
	return unreadable, nil
}
