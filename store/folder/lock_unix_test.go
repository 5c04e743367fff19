//go:build unix

package folder

import (
	"syscall"
	"testing"
)

// A program that is being started at that moment has the file open, too.
func TestAFolderIsLetGoWhoeverHasTheFile(t *testing.T) {
	dir := t.TempDir()
	l, err := Take(dir, "")
	if err != nil {
		t.Fatal(err)
	}
	fd, err := syscall.Dup(int(l.f.Fd()))
	if err != nil {
		t.Fatal(err)
	}
	defer syscall.Close(fd)
	if _, err := Take(dir, ""); err == nil {
		t.Fatal("a folder was taken twice")
	}
	if err := l.Release(); err != nil {
		t.Fatal(err)
	}
	next, err := Take(dir, "")
	if err != nil {
		t.Fatalf("a folder that was let go is still held: %v", err)
	}
	if err := next.Release(); err != nil {
		t.Fatal(err)
	}
}
