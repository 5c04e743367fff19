package initbin

import (
	"bytes"
	"compress/gzip"
	"errors"
	"io/fs"
	"testing"
	"testing/fstest"
)

func gz(t *testing.T, text string) *fstest.MapFile {
	t.Helper()
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	if _, err := w.Write([]byte(text)); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return &fstest.MapFile{Data: b.Bytes()}
}

func TestTheProgramIsThereHoweverItIsKept(t *testing.T) {
	plain := &fstest.MapFile{Data: []byte("new program")}
	for what, c := range map[string]struct {
		files fstest.MapFS
		want  string
	}{
		"plain":  {fstest.MapFS{name: plain}, "new program"},
		"packed": {fstest.MapFS{packed: gz(t, "program")}, "program"},
		"both":   {fstest.MapFS{name: plain, packed: gz(t, "program")}, "new program"},
	} {
		got, err := read(c.files)
		if err != nil || string(got) != c.want {
			t.Errorf("%s: %q, %v, want %q", what, got, err, c.want)
		}
		if n, err := size(c.files); err != nil || n != int64(len(c.want)) {
			t.Errorf("%s: %d bytes, %v, want %d", what, n, err, len(c.want))
		}
	}
}

func TestAMissingProgramAndABrokenOneAreErrors(t *testing.T) {
	if _, err := read(fstest.MapFS{}); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("%v, want fs.ErrNotExist", err)
	}
	if _, err := size(fstest.MapFS{}); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("%v, want fs.ErrNotExist", err)
	}
	whole := gz(t, "program").Data
	for _, n := range []int{0, 3, len(whole) - 9} {
		files := fstest.MapFS{packed: &fstest.MapFile{Data: whole[:n]}}
		if got, err := read(files); err == nil {
			t.Errorf("%d bytes of %d: %q, want an error", n, len(whole), got)
		}
	}
}
