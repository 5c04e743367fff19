package uploads_test

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"fawn/agent/agenttest/must"
	"fawn/uploads"
)

func TestFilesAreListedByName(t *testing.T) {
	dir, host := folder(t)
	save(t, dir, part("b.txt", "22"), part("a.txt", "1"), part("Ä", ""))
	for _, name := range []string{".upload-1.part", "b.txt.d"} {
		must.Do(t, os.WriteFile(filepath.Join(host, name), nil, 0o600))
	}
	must.Do(t, os.Mkdir(filepath.Join(host, "folder"), 0o700))
	at := time.Date(2026, 1, 2, 3, 4, 5, 678e6, time.UTC)
	must.Do(t, os.Chtimes(filepath.Join(host, "b.txt"), at, at))
	l, err := uploads.Files(dir, thread)
	var names []string
	for _, f := range l.Files {
		names = append(names, f.Filename)
	}
	if err != nil || l.Count != 4 || !slices.Equal(names, []string{"a.txt", "b.txt", "b.txt.d", "Ä"}) {
		t.Fatalf("%q %v", names, err)
	}
	if f := l.Files[1]; f.Size != 2 || f.Modified != "2026-01-02T03:04:05.678Z" {
		t.Errorf("%+v", f)
	}
	must.Do(t, os.RemoveAll(host))
	if l, err := uploads.Files(dir, thread); err != nil || l.Count != 0 || l.Files == nil {
		t.Errorf("without the folder: %+v %v", l, err)
	}
}

func TestDelete(t *testing.T) {
	dir, host := folder(t)
	save(t, dir, part("a.txt", "1"), part("b.txt", "2"))
	must.Do(t, os.Mkdir(filepath.Join(host, "folder"), 0o700))
	must.Do(t, uploads.Delete(dir, "a.txt"))
	for name, want := range map[string]error{
		"a.txt": uploads.ErrNotFound, "folder": uploads.ErrNotFound,
		"../uploads/b.txt": uploads.ErrName, "..": uploads.ErrName, "": uploads.ErrName, "x/": uploads.ErrName,
		`a\b`: uploads.ErrName,
	} {
		if err := uploads.Delete(dir, name); !errors.Is(err, want) {
			t.Errorf("%q: %v", name, err)
		}
	}
	if err := uploads.Delete(dir, "a.txt"); err.Error() != "File not found: a.txt" {
		t.Errorf("sentence is %q", err)
	}
	if d := onDisk(t, host); d["b.txt"] != "2" || len(d) != 2 {
		t.Errorf("on disk: %q", d)
	}
}

func TestSweepRemovesStaleStagingOnly(t *testing.T) {
	dir, host := folder(t)
	start := time.Now()
	for name, at := range map[string]time.Time{
		".upload-old.part": start.Add(-time.Hour), ".upload-new.part": start.Add(time.Hour),
		"old.txt": start.Add(-time.Hour),
	} {
		p := filepath.Join(host, name)
		must.Do(t, errors.Join(os.WriteFile(p, nil, 0o600), os.Chtimes(p, at, at)))
	}
	n, err := uploads.Sweep(t.Context(), dir, start)
	d := onDisk(t, host)
	if _, kept := d[".upload-new.part"]; err != nil || n != 1 || len(d) != 2 || !kept {
		t.Errorf("%d removed, %v, left %q", n, err, d)
	}
}
