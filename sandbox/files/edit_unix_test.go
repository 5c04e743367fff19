//go:build unix

package files_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"fawn/agent/agenttest/must"
	"fawn/sandbox/files"
)

func TestEditsTakePlainTextsOfTheAgentOnly(t *testing.T) {
	dirs := files.Dirs{Root: t.TempDir(), Quota: files.NewQuota(4 << 20)}
	must.Do(t, dirs.Create("t"))
	base := filepath.Join(dirs.Root, "threads", "t", "user-data")
	for name, text := range map[string]string{
		"outputs/a.md": "one\n", "outputs/x.skill": "z", "outputs/b.bin": "a\x00b", "outputs/latin.txt": "\xe9",
		"workspace/w.txt": "w", "outputs/large.txt": strings.Repeat("x", files.MaxEdit+1), "outputs/dir/in.txt": "in",
	} {
		must.Do(t, os.MkdirAll(filepath.Dir(filepath.Join(base, name)), 0o700))
		must.Do(t, os.WriteFile(filepath.Join(base, name), []byte(text), 0o640))
	}
	must.Do(t, os.Symlink("a.md", filepath.Join(base, "outputs/link.md")))
	must.Do(t, os.Symlink("dir", filepath.Join(base, "outputs/dirlink")))
	must.Do(t, syscall.Mkfifo(filepath.Join(base, "outputs/pipe"), 0o600))
	tree := must.Get(dirs.Open("t"))(t)
	defer tree.Close()
	const out = files.Outputs + "/"
	one := files.Sum([]byte("one\n"))
	for _, c := range []struct {
		path, text, sum string
		want            error
	}{
		{out + "a.md", "two", strings.Repeat("0", 64), files.ErrChanged},
		{out + "a.md", "two\x00", one, files.ErrNotText},
		{out + "a.md", "\xff", one, files.ErrNotText},
		{out + "a.md", strings.Repeat("y", files.MaxEdit+1), one, files.ErrTooLarge},
		{out + "x.skill", "two", files.Sum([]byte("z")), files.ErrNotText},
		{out + "b.bin", "two", files.Sum([]byte("a\x00b")), files.ErrNotText},
		{out + "latin.txt", "two", files.Sum([]byte("\xe9")), files.ErrNotText},
		{out + "large.txt", "two", one, files.ErrTooLarge},
		{out + "link.md", "two", one, files.ErrNotText},
		{out + "dirlink/in.txt", "two", files.Sum([]byte("in")), files.ErrNotText},
		{out + "pipe", "two", one, files.ErrNotRegular},
		{out + "dir", "two", one, files.ErrNotRegular},
		{out + "none.md", "two", one, fs.ErrNotExist},
		{files.Workspace + "/w.txt", "two", files.Sum([]byte("w")), files.ErrPath},
		{out + "../workspace/w.txt", "two", files.Sum([]byte("w")), files.ErrPath},
		{"/etc/passwd", "two", one, files.ErrPath},
	} {
		if _, err := tree.Edit(t.Context(), c.path, c.text, c.sum); !errors.Is(err, c.want) {
			t.Errorf("%s: %v, want %v", c.path, err, c.want)
		}
	}
	sum := must.Get(tree.Edit(t.Context(), out+"a.md", "two\n", strings.ToUpper(one)))(t)
	got := must.Get(os.ReadFile(filepath.Join(base, "outputs/a.md")))(t)
	info := must.Get(os.Stat(filepath.Join(base, "outputs/a.md")))(t)
	if string(got) != "two\n" || sum != files.Sum(got) || info.Mode().Perm() != 0o640 {
		t.Errorf("%q %s %v", got, sum, info.Mode())
	}
	dirs.Quota.SetLimit(1)
	if _, err := tree.Edit(t.Context(), out+"a.md", "three", sum); !errors.Is(err, files.ErrQuota) {
		t.Errorf("over the quota: %v", err)
	}
}
