package cli

import (
	"context"
	"fmt"
	"io"

	"fawn/agent/config"
	"fawn/agent/lead"
	"fawn/web"
	"fawn/web/storage"
)

// objects checks the files in an object store, if there is one, and lists missing ones; with deep also those with
// different content.
func (f fsck) objects(ctx context.Context, o web.Options, dir string, deep bool) (ok bool, err error) {
	snap, err := config.Load(config.Options{Config: o.Config, DataDir: dir, Classes: lead.Classes()})
	if err != nil {
		return false, err
	}
	b, err := storage.Bucket(snap, nil)
	if b == nil {
		return true, err
	}
	defer b.Close()
	ok = true
	n, err := storage.Check(ctx, f.db, b, deep, func(finding string) error {
		ok = false
		_, err := fmt.Fprintln(o.Out, finding)
		return err
	})
	if err != nil || !ok {
		return false, err
	}
	return true, sayObjects(o.Out, n, deep)
}

// sayObjects reports the intact files.
func sayObjects(out io.Writer, n int, deep bool) error {
	what := "are all there"
	if deep {
		what = "are all there, with the bytes that were stored"
	}
	_, err := fmt.Fprintf(out, "The %d objects that have files of chats %s.\n", n, what)
	return err
}
