package storage

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"time"

	"fawn/agent/config"
	"fawn/sandbox/files"
	"fawn/store"
	"fawn/store/filestore"
	"fawn/store/objects"
)

// probeTime limits the test of an object store.
const probeTime = 30 * time.Second

// Meter observes requests to an object store.
type Meter = objects.Meter

// Check looks up the files of threads in a bucket, like [filestore.Check].
func Check(ctx context.Context, db *store.DB, b *objects.Bucket, deep bool, tell func(string) error) (int, error) {
	if err := Try(ctx, b); err != nil {
		return 0, err
	}
	return filestore.Check(ctx, db, b, deep, tell)
}

// Bucket returns the object store that a configuration names for the files of threads, nil for none. The caller closes
// it. A meter may be nil.
func Bucket(snap *config.Snapshot, meter objects.Meter) (*objects.Bucket, error) {
	f := &snap.File.Files
	if f.URL == "" {
		return nil, nil
	}
	bucket, prefix, err := objects.Parse(f.URL)
	if err != nil {
		return nil, fmt.Errorf("files.url %w", err)
	}
	if f.AccessKey == "" || f.SecretKey == "" {
		return nil, errors.New("files.url needs files.access_key and files.secret_key")
	}
	b, err := objects.Open(objects.Config{Bucket: bucket, Prefix: prefix, Endpoint: f.Endpoint, Region: f.Region,
		PathStyle: f.PathStyle, Key: string(f.AccessKey), Secret: string(f.SecretKey), Meter: meter})
	if err != nil {
		return nil, fmt.Errorf("files.url: %w", err)
	}
	return b, nil
}

// Try puts an object into a bucket, reads it and removes it.
func Try(ctx context.Context, b *objects.Bucket) error {
	ctx, cancel := context.WithTimeout(ctx, probeTime)
	defer cancel()
	if err := b.Probe(ctx, "probe-"+strings.ToLower(rand.Text())); err != nil {
		return fmt.Errorf("the object store of files.url can't be used: %w", err)
	}
	return nil
}

// Trees stores the files of threads in the configured bucket and copies of them in d, whose keeper they become. They
// are nil without a bucket.
func Trees(ctx context.Context, snap *config.Snapshot, db *store.DB, d *files.Dirs, meter objects.Meter,
	log *slog.Logger) (*filestore.Trees, error) {
	b, err := Bucket(snap, meter)
	if b == nil {
		return nil, err
	}
	if err := Try(ctx, b); err != nil {
		return nil, err
	}
	t := filestore.New(filestore.Config{DB: db, Objects: b, Dirs: *d, Cache: snap.File.Files.Cache, Log: log})
	d.Keeper = t
	return t, nil
}
