package sqlite

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"sync"

	"fawn/store/folder"
)

// emptyImages is the empty database of this process.
var emptyImages images

// images counts the databases that a process makes. A server makes one. Tests make hundreds: from the third on, their
// files are copies of an empty one, which takes less than carrying out the schema again.
type images struct {
	mu    sync.Mutex
	made  int
	empty []byte
}

// next returns the content of a new file, nil if the schema must create it.
func (i *images) next(ctx context.Context) ([]byte, error) {
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.made++; i.made < 3 || i.empty != nil {
		return i.empty, nil
	}
	dir, err := os.MkdirTemp("", "fawn-empty-*")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	if i.empty, err = emptyImage(ctx, dir); err != nil {
		return nil, fmt.Errorf("make an empty database: %w", err)
	}
	return i.empty, nil
}

// emptyImage creates a database in a folder and returns its file.
func emptyImage(ctx context.Context, dir string) ([]byte, error) {
	if err := prepareFile(ctx, dir); err != nil {
		return nil, err
	}
	e, err := Open(ctx, dir, Options{Readers: 1, Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		return nil, err
	}
	if err := e.Close(); err != nil {
		return nil, err
	}
	return os.ReadFile(filepath.Join(dir, folder.FileName))
}
