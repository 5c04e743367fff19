package filestore

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"path"
	"strings"
	"sync"

	"golang.org/x/sync/errgroup"

	"fawn/store"
	"fawn/store/objects"
)

const (
	checkStep   = 1000
	checkAtOnce = 16
)

// Checked is a store that can look up objects.
type Checked interface {
	Head(ctx context.Context, name string) (size int64, err error)
	Get(ctx context.Context, name string, offset, length int64) (io.ReadCloser, error)
}

// Check looks up every object named by versions of files and reports missing ones. With deep it reads all of them and
// reports those with different bytes. It returns their number.
func Check(ctx context.Context, db *store.DB, in Checked, deep bool, tell func(string) error) (n int, err error) {
	for behind := ""; ; {
		list, err := db.UsedObjects(ctx, behind, checkStep)
		if err != nil || len(list) == 0 {
			return n, err
		}
		behind, n = list[len(list)-1].Name, n+len(list)
		group, ctx := errgroup.WithContext(ctx)
		group.SetLimit(checkAtOnce)
		var mu sync.Mutex // one report at a time
		for _, o := range list {
			group.Go(func() error {
				wrong, err := check(ctx, in, o, deep)
				if err != nil || wrong == "" {
					return err
				}
				mu.Lock()
				defer mu.Unlock()
				return tell(fmt.Sprintf("Object %s, which has files of thread %s, %s.", o.Name, o.Thread, wrong))
			})
		}
		if err := group.Wait(); err != nil {
			return n, err
		}
	}
}

// check returns the problem with an object, "" for none.
func check(ctx context.Context, in Checked, o store.UsedObject, deep bool) (wrong string, err error) {
	_, err = in.Head(ctx, o.Name)
	switch {
	case errors.Is(err, objects.ErrNotFound):
		return "is not in the object store", nil
	case err != nil:
		return "", fmt.Errorf("%w: %w", ErrObjects, err)
	case !o.Known:
		return "has no row", nil
	case !deep:
		return "", nil
	}
	r, err := in.Get(ctx, o.Name, 0, -1)
	if err != nil {
		return "", fmt.Errorf("%w: %w", ErrObjects, err)
	}
	h := sha256.New()
	_, err = io.Copy(h, r)
	if err = errors.Join(err, r.Close()); err != nil {
		return "", fmt.Errorf("%w: get object %s: %w", ErrObjects, o.Name, err)
	}
	if want, _, _ := strings.Cut(path.Base(o.Name), "-"); hex.EncodeToString(h.Sum(nil)) != want {
		return "has other bytes than were stored", nil
	}
	return "", nil
}
