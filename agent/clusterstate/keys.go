package clusterstate

import (
	"bytes"
	"context"
	"crypto/cipher"
	"crypto/hkdf"
	"crypto/rand"
	"crypto/sha256"
	"errors"
	"fmt"
	"strings"
	"time"

	"golang.org/x/crypto/chacha20poly1305"
)

// KeyVariable names the environment variable with the key that seals secrets in rows.
const KeyVariable = "FAWN_SECRET_KEY"

// ErrNoKey means that a secret isn't stored because there is no key to seal it with.
var ErrNoKey = errors.New("keys can't be stored without " + KeyVariable + ", as several servers have the database: " +
	"set it to the same text for all servers, for example one that `openssl rand -base64 32` prints")

// ErrSealed means that no key opens a row.
var ErrSealed = errors.New("it is encrypted with another " + KeyVariable)

const (
	minKey  = 32 // minimum length of the text from which a key is derived
	maxKeys = 8
	idLen   = 4
)

// Kinds of bodies: the first byte selects the encoding of the rest.
const (
	plainBody  = 'p'
	sealedBody = 's' // followed by the key's id, the nonce, and the ciphertext
)

// Keys seal bodies. The first one seals, each of them opens.
type Keys []key

type key struct {
	id   [idLen]byte
	text string
	aead cipher.AEAD
}

// ParseKeys reads one or more keys with commas between them, the newest first.
func ParseKeys(text string) (Keys, error) {
	var keys Keys
	if strings.TrimSpace(text) == "" {
		return nil, nil
	}
	for part := range strings.SplitSeq(text, ",") {
		part = strings.TrimSpace(part)
		if len(part) < minKey {
			return nil, fmt.Errorf("%s must have at least %d characters, and commas between keys if there are several",
				KeyVariable, minKey)
		}
		if len(keys) == maxKeys {
			return nil, fmt.Errorf("%s has more than %d keys", KeyVariable, maxKeys)
		}
		both, err := hkdf.Key(sha256.New, []byte(part), nil, "fawn settings", chacha20poly1305.KeySize+idLen)
		if err != nil {
			return nil, err
		}
		aead, err := chacha20poly1305.NewX(both[:chacha20poly1305.KeySize])
		if err != nil {
			return nil, err
		}
		keys = append(keys, key{[idLen]byte(both[chacha20poly1305.KeySize:]), part, aead})
	}
	return keys, nil
}

// Derive returns a key of 32 bytes for another use, the same on all servers that have the same first key; nil without
// any.
func (k Keys) Derive(use string) []byte {
	if len(k) == 0 {
		return nil
	}
	out, err := hkdf.Key(sha256.New, []byte(k[0].text), nil, "fawn "+use, 32)
	if err != nil { // only fails for excessive lengths
		return nil
	}
	return out
}

// older returns [Keys.Derive]'s keys from earlier keys.
func (k Keys) older(use string) (out [][]byte) {
	for i := 1; i < len(k); i++ {
		out = append(out, k[i:].Derive(use))
	}
	return out
}

// seal encodes the body of a row, encrypted if there is a key. A sealed body is bound to its name.
func (k Keys) seal(name string, plain []byte) []byte {
	if len(k) == 0 {
		return append([]byte{plainBody}, plain...)
	}
	out := append([]byte{sealedBody}, k[0].id[:]...)
	nonce := make([]byte, chacha20poly1305.NonceSizeX)
	rand.Read(nonce) //nolint:errcheck // never fails
	out = append(out, nonce...)
	return k[0].aead.Seal(out, nonce, plain, []byte(name))
}

// open reads the body of a row.
func (k Keys) open(name string, body []byte) ([]byte, error) {
	if len(body) > 0 && body[0] == plainBody {
		return body[1:], nil
	}
	const head = 1 + idLen + chacha20poly1305.NonceSizeX
	if len(body) < head || body[0] != sealedBody {
		return nil, fmt.Errorf("setting %s has an unknown format", name)
	}
	for _, one := range k {
		if bytes.Equal(one.id[:], body[1:1+idLen]) {
			plain, err := one.aead.Open(nil, body[1+idLen:head], body[head:], []byte(name))
			if err != nil {
				return nil, fmt.Errorf("open setting %s: its row was tampered with", name)
			}
			return plain, nil
		}
	}
	if len(k) == 0 {
		return nil, fmt.Errorf("open setting %s: it is encrypted, and %s is not set: use the other servers' key",
			name, KeyVariable)
	}
	return nil, fmt.Errorf("open setting %s: %w than this server has", name, ErrSealed)
}

// current reports whether a body has the encoding that seal would use now.
func (k Keys) current(body []byte) bool {
	if len(k) == 0 {
		return true
	}
	return len(body) > idLen && body[0] == sealedBody && bytes.Equal(body[1:1+idLen], k[0].id[:])
}

// SigningKey returns a 32-byte key for a purpose, the same on all servers. It is derived from the sealing key; without
// one it is a row readable by anyone with access to the database.
func (r *Rows) SigningKey(ctx context.Context, use string) ([]byte, error) {
	if key := r.keys.Derive(use); key != nil {
		return key, nil
	}
	for name := "key/" + use; ; {
		if d := r.Get(name); d.Body != nil {
			return d.Body, nil
		}
		key := make([]byte, 32)
		rand.Read(key) //nolint:errcheck // never fails
		err := r.Put(ctx, Doc{Name: name, Version: r.Get(name).Version, Body: key})
		if err != nil && !errors.Is(err, ErrChanged) {
			return nil, err
		}
	}
}

// OlderKeys returns the values of [Rows.SigningKey] for earlier sealing keys.
func (r *Rows) OlderKeys(use string) [][]byte { return r.keys.older(use) }

// Once records the use of a one-time value, identified by its hash, until it expires. It returns false if the value was
// used before on any server, or if that is unknown.
func (r *Rows) Once(hash string, until time.Time) bool {
	ctx, cancel := context.WithTimeout(context.Background(), onceTime)
	defer cancel()
	err := r.db.Spend(ctx, hash, until)
	if err != nil && !errors.Is(err, ErrChanged) {
		r.log.Error("couldn't record a one-time use; refused it", "err", err)
	}
	return err == nil
}

const onceTime = 5 * time.Second
