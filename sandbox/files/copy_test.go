package files_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"fawn/agent/agenttest/must"
	"fawn/sandbox/files"
)

// TestCopyTakesFilesFoldersAndLinks: links are copied as they are written, also those that
// lead out, and nothing is read through them.
func TestCopyTakesFilesFoldersAndLinks(t *testing.T) {
	dirs := files.Dirs{Root: t.TempDir()}
	must.Do(t, dirs.Create("old"))
	base := filepath.Join(dirs.Root, "threads", "old", "user-data")
	secret := filepath.Join(dirs.Root, "secret")
	for _, err := range []error{
		os.WriteFile(secret, []byte("secret"), 0o600),
		os.MkdirAll(filepath.Join(base, "workspace", "a", "b"), 0o700),
		os.WriteFile(filepath.Join(base, "workspace", "a", "b", "run.sh"), []byte("echo"), 0o755),
		os.WriteFile(filepath.Join(base, "outputs", "empty"), nil, 0o600),
		os.Symlink("a/b/run.sh", filepath.Join(base, "workspace", "inside")),
		os.Symlink(secret, filepath.Join(base, "outputs", "outside")),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	must.Do(t, dirs.Copy(t.Context(), "old", "new"))
	copied := filepath.Join(dirs.Root, "threads", "new", "user-data")
	if b, err := os.ReadFile(filepath.Join(copied, "workspace", "inside")); err != nil || string(b) != "echo" {
		t.Errorf("through the link inside: %q %v", b, err)
	}
	if info, err := os.Lstat(filepath.Join(copied, "workspace", "a", "b", "run.sh")); err != nil ||
		info.Mode().Perm()&0o100 == 0 {
		t.Errorf("the script: %v %v", info, err)
	}
	if to, err := os.Readlink(filepath.Join(copied, "outputs", "outside")); err != nil || to != secret {
		t.Errorf("the link that leads out: %q %v", to, err)
	}
	f := must.Get(dirs.Open("new"))(t)
	defer f.Close()
	if b, err := f.ReadFile(t.Context(), "/mnt/user-data/outputs/outside", 100); err == nil {
		t.Errorf("a link led out of the copy: %q", b)
	}
	if err := dirs.Copy(t.Context(), "never was", "other"); !errors.Is(err, files.ErrThread) {
		t.Errorf("an invalid id: %v", err)
	}
	if err := dirs.Copy(t.Context(), "nothing", "other"); err != nil {
		t.Errorf("a thread without files: %v", err)
	}
	if _, err := os.Stat(filepath.Join(dirs.Root, "threads", "other", "user-data", "workspace")); errors.Is(err,
		fs.ErrNotExist) {
		t.Error("the copy of nothing has no folders")
	}
}
