package store_test

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"fawn/agent/agenttest/must"
)

// TestTheReserveHasItsRoom: the reserve's bytes are allocated, not only its size.
func TestTheReserveHasItsRoom(t *testing.T) {
	dir := t.TempDir()
	openAt(t, dir)
	info := must.Get(os.Stat(filepath.Join(dir, "reserve")))(t)
	if has := info.Sys().(*syscall.Stat_t).Blocks * 512; has < 16<<20 || info.Size() != 16<<20 {
		t.Errorf("%d bytes of %d have room on the disk", has, info.Size())
	}
}
