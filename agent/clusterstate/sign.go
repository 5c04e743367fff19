package clusterstate

import (
	"context"
	"crypto/rand"
	"errors"
	"time"
)

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
