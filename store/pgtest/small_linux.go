package pgtest

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/jackc/pgx/v5/pgconn"
)

// Small is a server whose tables are on a separate small disk.
type Small struct {
	*Server
	disk string
}

// StartSmall starts one. Where no disk can be mounted the test is skipped.
func StartSmall(tb testing.TB, bytes int) *Small {
	tb.Helper()
	dir, err := os.MkdirTemp("", "pgdisk")
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { os.RemoveAll(dir) })
	disk := filepath.Join(dir, "disk")
	if err := errors.Join(os.Chmod(dir, 0o711), os.Mkdir(disk, 0o700)); err != nil {
		tb.Fatal(err)
	}
	if err := syscall.Mount("tmpfs", disk, "tmpfs", 0, fmt.Sprintf("size=%d,mode=711", bytes)); err != nil {
		tb.Skip("a disk with little room can't be mounted: ", err)
	}
	tb.Cleanup(func() {
		if err := syscall.Unmount(disk, syscall.MNT_DETACH); err != nil {
			tb.Error(err)
		}
	})
	space := filepath.Join(disk, "space")
	if err := errors.Join(os.Mkdir(space, 0o700), handOver(space)); err != nil {
		tb.Fatal(err)
	}
	s := &Small{Server: Start(tb), disk: disk}
	conn, err := pgconn.Connect(context.Background(), s.URL)
	if err != nil {
		tb.Fatal(err)
	}
	defer conn.Close(context.Background())
	for _, sql := range []string{"CREATE TABLESPACE small LOCATION '" + space + "'",
		"ALTER ROLE fawn SET default_tablespace = small"} {
		if _, err := conn.Exec(context.Background(), sql).ReadAll(); err != nil {
			tb.Fatal(err)
		}
	}
	return s
}

// Fill uses up all free space.
func (s *Small) Fill() error {
	f, err := os.Create(filepath.Join(s.disk, "filler"))
	if err != nil {
		return err
	}
	for page := make([]byte, 4096); err == nil; {
		_, err = f.Write(page)
	}
	if errors.Is(err, syscall.ENOSPC) {
		err = nil
	}
	return errors.Join(err, f.Close())
}

// Free frees the space.
func (s *Small) Free() error { return os.Remove(filepath.Join(s.disk, "filler")) }
