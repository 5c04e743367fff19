package cli

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"

	"fawn/web"
)

// Export writes one chat, or everything if thread is "", to a file, which must not exist. format is zip if
// it is "".
func Export(ctx context.Context, o web.Options, to Reach, file, thread, format string) (err error) {
	if _, err := os.Lstat(file); err == nil {
		return fmt.Errorf("export to %s: %w", file, fs.ErrExist)
	}
	server, done, err := to.open(ctx, o)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, done()) }()
	path := "/api/export"
	if thread != "" {
		path = "/api/threads/" + url.PathEscape(thread) + "/export?format=" + format
	}
	temp, err := os.CreateTemp(filepath.Dir(file), ".fawn-export-*")
	if err != nil {
		return err
	}
	err = errors.Join(server.Save(ctx, path, temp), temp.Sync(), temp.Close())
	if err == nil {
		err = os.Rename(temp.Name(), file)
	}
	if err != nil {
		return errors.Join(fmt.Errorf("export: %w", err), os.Remove(temp.Name()))
	}
	return nil
}
