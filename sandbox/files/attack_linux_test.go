package files_test

import (
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"fawn/agent/agenttest/must"
)

func TestSwappedFolderNeverLeaks(t *testing.T) {
	f, base := open(t)
	outside := t.TempDir()
	must.Do(t, os.WriteFile(filepath.Join(outside, "x"), []byte("secret"), 0o600))
	put(t, f, "real/x", "inside")
	real, evil := filepath.Join(base, "workspace/real"), filepath.Join(base, "workspace/evil")
	link(t, outside, evil)
	if err := unix.Renameat2(unix.AT_FDCWD, real, unix.AT_FDCWD, evil, unix.RENAME_EXCHANGE); err != nil {
		t.Skip(err)
	}
	stop := make(chan struct{})
	var swaps sync.WaitGroup
	swaps.Go(func() {
		for {
			select {
			case <-stop:
				return
			default:
				_ = unix.Renameat2(unix.AT_FDCWD, real, unix.AT_FDCWD, evil, unix.RENAME_EXCHANGE)
			}
		}
	})
	inside, refused := 0, 0
	end := time.Now().Add(time.Minute) // a busy machine may let one of both wait
	for i := 0; i < 10_000 || (inside == 0 || refused == 0) && time.Now().Before(end); i++ {
		b, err := f.ReadFile(t.Context(), "real/x", 100)
		if strings.Contains(string(b), "secret") {
			t.Errorf("leaked %q", b)
			break
		}
		if err == nil {
			inside++
		} else {
			refused++
		}
		if i%4 == 0 {
			// It may succeed in the folder inside or fail, but not land outside.
			_ = f.WriteFile(t.Context(), "real/x", []byte("written"), i%8 == 0)
		}
	}
	close(stop)
	swaps.Wait()
	if inside == 0 || refused == 0 {
		t.Errorf("the race did not happen: %d reads inside, %d refused", inside, refused)
	}
	names, err := os.ReadDir(outside)
	if b, _ := os.ReadFile(filepath.Join(outside, "x")); err != nil || len(names) != 1 || string(b) != "secret" {
		t.Errorf("the folder outside changed: %v %q %v", names, b, err)
	}
}
