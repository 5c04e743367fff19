//go:build unix

package sandbox_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"fawn/sandbox"
)

func TestEditsTakePlainTextsOfTheAgentOnly(t *testing.T) {
	dirs := sandbox.Dirs{Root: t.TempDir(), Quota: sandbox.NewQuota(4 << 20)}
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	must(dirs.Create("t"))
	base := filepath.Join(dirs.Root, "threads", "t", "user-data")
	for name, text := range map[string]string{
		"outputs/a.md": "one\n", "outputs/x.skill": "z", "outputs/b.bin": "a\x00b", "outputs/latin.txt": "\xe9", "workspace/w.txt": "w",
		"outputs/large.txt": strings.Repeat("x", sandbox.MaxEdit+1), "outputs/dir/in.txt": "in",
	} {
		must(os.MkdirAll(filepath.Dir(filepath.Join(base, name)), 0o700))
		must(os.WriteFile(filepath.Join(base, name), []byte(text), 0o640))
	}
	must(os.Symlink("a.md", filepath.Join(base, "outputs/link.md")))
	must(os.Symlink("dir", filepath.Join(base, "outputs/dirlink")))
	must(syscall.Mkfifo(filepath.Join(base, "outputs/pipe"), 0o600))
	files, err := dirs.Open("t")
	must(err)
	defer files.Close()
	const out = sandbox.Outputs + "/"
	one := sandbox.Sum([]byte("one\n"))
	for _, c := range []struct {
		path, text, sum string
		want            error
	}{
		{out + "a.md", "two", strings.Repeat("0", 64), sandbox.ErrChanged},
		{out + "a.md", "two\x00", one, sandbox.ErrNotText},
		{out + "a.md", "\xff", one, sandbox.ErrNotText},
		{out + "a.md", strings.Repeat("y", sandbox.MaxEdit+1), one, sandbox.ErrTooLarge},
		{out + "x.skill", "two", sandbox.Sum([]byte("z")), sandbox.ErrNotText},
		{out + "b.bin", "two", sandbox.Sum([]byte("a\x00b")), sandbox.ErrNotText},
		{out + "latin.txt", "two", sandbox.Sum([]byte("\xe9")), sandbox.ErrNotText},
		{out + "large.txt", "two", one, sandbox.ErrTooLarge},
		{out + "link.md", "two", one, sandbox.ErrNotText},
		{out + "dirlink/in.txt", "two", sandbox.Sum([]byte("in")), sandbox.ErrNotText},
		{out + "pipe", "two", one, sandbox.ErrNotRegular},
		{out + "dir", "two", one, sandbox.ErrNotRegular},
		{out + "none.md", "two", one, fs.ErrNotExist},
		{sandbox.Workspace + "/w.txt", "two", sandbox.Sum([]byte("w")), sandbox.ErrPath},
		{out + "../workspace/w.txt", "two", sandbox.Sum([]byte("w")), sandbox.ErrPath},
		{"/etc/passwd", "two", one, sandbox.ErrPath},
	} {
		if _, err := files.Edit(t.Context(), c.path, c.text, c.sum); !errors.Is(err, c.want) {
			t.Errorf("%s: %v, want %v", c.path, err, c.want)
		}
	}
	sum, err := files.Edit(t.Context(), out+"a.md", "two\n", strings.ToUpper(one))
	must(err)
	got, err := os.ReadFile(filepath.Join(base, "outputs/a.md"))
	must(err)
	info, err := os.Stat(filepath.Join(base, "outputs/a.md"))
	must(err)
	if string(got) != "two\n" || sum != sandbox.Sum(got) || info.Mode().Perm() != 0o640 {
		t.Errorf("%q %s %v", got, sum, info.Mode())
	}
	dirs.Quota.SetLimit(1)
	if _, err := files.Edit(t.Context(), out+"a.md", "three", sum); !errors.Is(err, sandbox.ErrQuota) {
		t.Errorf("over the quota: %v", err)
	}
}
