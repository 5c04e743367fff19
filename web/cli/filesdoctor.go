package cli

import (
	"context"

	"fawn/agent/config"
	"fawn/web/storage"
)

// files tests the object store with the files of threads, if there is one.
func (d *doctor) files(ctx context.Context, snap *config.Snapshot) {
	b, err := storage.Bucket(snap, nil)
	if b == nil && err == nil {
		return
	}
	if err == nil {
		defer b.Close()
		err = storage.Try(ctx, b)
	}
	if err != nil {
		d.line("bad", "files", err.Error())
		return
	}
	d.line("good", "files", snap.File.Files.URL+" takes objects, returns them and removes them")
}
