package preview_test

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"time"

	"fawn/agent/agenttest/must"
	"fawn/uploads/preview"
)

var day = time.Date(2026, 3, 9, 12, 30, 0, 0, time.UTC)

func zipped(t testing.TB, files ...string) []byte {
	t.Helper()
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	for i := 0; i < len(files); i += 2 {
		w, err := z.CreateHeader(&zip.FileHeader{Name: files[i], Modified: day, Method: method(files[i+1])})
		if err == nil {
			_, err = io.WriteString(w, files[i+1])
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	must.Do(t, z.Close())
	return b.Bytes()
}

// method packs only what becomes smaller by it.
func method(content string) uint16 {
	if content == "" {
		return zip.Store
	}
	return zip.Deflate
}

func tarred(t testing.TB, files ...string) []byte {
	t.Helper()
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	for i := 0; i < len(files); i += 2 {
		format := tar.FormatUSTAR
		if len(files[i]) > 100 {
			format = tar.FormatPAX
		}
		err := w.WriteHeader(&tar.Header{Name: files[i], Size: int64(len(files[i+1])), Mode: 0o644, ModTime: day,
			Format: format})
		if err == nil {
			_, err = io.WriteString(w, files[i+1])
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	must.Do(t, w.Close())
	return b.Bytes()
}

func packed(t testing.TB, data []byte) []byte {
	t.Helper()
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	must.Get(w.Write(data))(t)
	must.Do(t, w.Close())
	return b.Bytes()
}

func read(t testing.TB, name string, data []byte) (preview.Archive, error) {
	t.Helper()
	return preview.ReadArchive(t.Context(), name, bytes.NewReader(data), int64(len(data)))
}

func TestArchivesAreListed(t *testing.T) {
	files := []string{"b/two.txt", "22", "a.txt", "1", "c.txt", ""}
	for name, data := range map[string][]byte{
		"x.zip": zipped(t, append(files, "dir/", "")...), "x.tar": tarred(t, files...),
		"x.tar.gz": packed(t, tarred(t, files...)), "X.TGZ": packed(t, tarred(t, files...)),
	} {
		a, err := read(t, name, data)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		var got []string
		for _, e := range a.Entries {
			got = append(got, fmt.Sprintf("%s %d %s", e.Name, e.Bytes, e.Modified.UTC().Format(time.DateTime)))
		}
		s := strings.Join(got, "\n")
		if s != "a.txt 1 2026-03-09 12:30:00\nb/two.txt 2 2026-03-09 12:30:00\nc.txt 0 2026-03-09 12:30:00" || a.Files != 3 ||
			a.Bytes != 3 || a.Cut || a.Outside {
			t.Errorf("%s: %+v", name, a)
		}
	}
	for _, name := range []string{"x.zip", "x.tar", "x.tgz"} {
		a, err := read(t, name,
			map[string][]byte{"x.zip": zipped(t), "x.tar": tarred(t), "x.tgz": packed(t, tarred(t))}[name])
		if a.Files != 0 || err != nil && !errors.Is(err, preview.ErrDamaged) {
			t.Errorf("nothing in %s: %+v, %v", name, a, err)
		}
	}
}

func TestNamesThatLeadOutsideAreTold(t *testing.T) {
	for _, name := range []string{"../x", "a/../../x", "/etc/passwd", `..\x`, `C:\x`} {
		for kind, data := range map[string][]byte{"x.zip": zipped(t, name, ""), "x.tar": tarred(t, name, "")} {
			if a, err := read(t, kind, data); err != nil || !a.Outside || a.Files != 1 {
				t.Errorf("%s in %s: %+v, %v", name, kind, a, err)
			}
		}
	}
	if a, err := read(t, "x.zip", zipped(t, "a/../b", "", "..c", "")); err != nil || a.Outside {
		t.Errorf("inside: %+v, %v", a, err)
	}
}

func TestDamagedArchivesSaySo(t *testing.T) {
	whole := zipped(t, "a.txt", strings.Repeat("x", 1000))
	for name, data := range map[string][]byte{
		"x.zip": whole[:len(whole)/2], "y.zip": []byte("no archive"),
		"x.tar": []byte(strings.Repeat("no archive ", 100)), "x.tgz": []byte("none"),
		"y.tgz": packed(t, []byte(strings.Repeat("none ", 200))), "e.zip": nil,
	} {
		if a, err := read(t, name, data); !errors.Is(err, preview.ErrDamaged) {
			t.Errorf("%s: %+v, %v", name, a, err)
		}
	}
	torn := tarred(t, "a", "1", "b", strings.Repeat("x", 5000))
	if a, err := read(t, "x.tar", torn[:2000]); err != nil || !a.Cut || a.Files != 2 {
		t.Errorf("a torn end: %+v, %v", a, err)
	}
}

func TestBombsAreNotUnpacked(t *testing.T) {
	var head bytes.Buffer
	const huge = 1 << 30
	must.Do(t, tar.NewWriter(&head).WriteHeader(&tar.Header{Name: "huge", Size: huge, Mode: 0o644, ModTime: day}))
	bomb := append(packed(t, head.Bytes()), bytes.Repeat(packed(t, make([]byte, 1<<20)), 1<<10)...)
	if a, err := read(t, "x.tgz", bomb); err != nil || !a.Cut || a.Files != 1 || a.Bytes != huge {
		t.Errorf("a bomb: %+v, %v", a, err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := preview.ReadArchive(ctx, "x.tgz", bytes.NewReader(bomb),
		int64(len(bomb))); !errors.Is(err, context.Canceled) {
		t.Errorf("nobody waits for it: %v", err)
	}
}

func TestManyFilesAreBounded(t *testing.T) {
	var files []string
	for i := range 40_000 {
		files = append(files, fmt.Sprintf("%06d", i), "")
	}
	if a, err := read(t, "x.tar", tarred(t, files...)); err != nil || !a.Cut || len(a.Entries) != preview.MaxEntries ||
		a.Files != 20_000 {
		t.Errorf("tar: %d of %d, %v", len(a.Entries), a.Files, err)
	}
	a, err := read(t, "x.zip", zipped(t, files[:10_000]...))
	if err != nil || a.Cut || len(a.Entries) != preview.MaxEntries || a.Files != 5000 {
		t.Errorf("zip: %d of %d, %v", len(a.Entries), a.Files, err)
	}
	if _, err := read(t, "x.zip", zipped(t, files...)); !errors.Is(err, preview.ErrMany) {
		t.Errorf("a directory of 40,000: %v", err)
	}
	if a, err := read(t, "x.tar", tarred(t, strings.Repeat("long/", 400)+"x", "")); err != nil ||
		len(a.Entries[0].Name) > 600 {
		t.Errorf("a long name: %v", err)
	}
}

func FuzzArchive(f *testing.F) {
	f.Add("x.zip", zipped(f, "a", "b"))
	f.Add("x.tar", tarred(f, "a", "b"))
	f.Add("x.tgz", packed(f, tarred(f, "a", "b")))
	f.Add("x.skill", zipped(f, "SKILL.md", "---\nname: x\n---\ny"))
	f.Fuzz(func(t *testing.T, name string, data []byte) {
		if a, err := read(t, name, data); err == nil && len(a.Entries) > preview.MaxEntries {
			t.Errorf("%d entries", len(a.Entries))
		}
		_, _ = preview.ReadSkill(bytes.NewReader(data), int64(len(data)))
	})
}
