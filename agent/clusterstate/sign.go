package clusterstate

import (
	"context"
	"crypto/rand"
	"errors"
	"time"
)

// SigningKey returns a key of 32 bytes for a use, the same on all servers. It is made from the key that seals; without
// that one it is a row, which whoever can read the database can read.
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

// OlderKeys are what [Rows.SigningKey] was for keys that sealed before.
func (r *Rows) OlderKeys(use string) [][]byte { return r.keys.older(use) }

// Once notes that something is used that can be used once, which is named by its hash and counts until then. It is
// false if that was used before, at any server, or if nobody can tell.
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
