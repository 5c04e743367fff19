//go:build unix

package store

import (
	"syscall"
	"testing"
)

// A program that is being started at that moment has the file open, too.
func TestAFolderIsLetGoWhoeverHasTheFile(t *testing.T) {
	dir := t.TempDir()
	l, err := lockDir(dir, "")
	if err != nil {
		t.Fatal(err)
	}
	fd, err := syscall.Dup(int(l.f.Fd()))
	if err != nil {
		t.Fatal(err)
	}
	defer syscall.Close(fd)
	if _, err := lockDir(dir, ""); err == nil {
		t.Fatal("a folder was taken twice")
	}
	if err := l.release(); err != nil {
		t.Fatal(err)
	}
	next, err := lockDir(dir, "")
	if err != nil {
		t.Fatalf("a folder that was let go is still held: %v", err)
	}
	if err := next.release(); err != nil {
		t.Fatal(err)
	}
}
