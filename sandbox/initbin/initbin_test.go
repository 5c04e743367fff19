package initbin

import (
	"bytes"
	"compress/gzip"
	"debug/elf"
	"errors"
	"io/fs"
	"runtime"
	"testing"

	"fawn/agent/agenttest/must"
)

func TestTheProgramRunsOnThisProcessor(t *testing.T) {
	b, err := Read()
	if errors.Is(err, fs.ErrNotExist) && (runtime.GOOS != "linux" || runtime.GOARCH != "amd64" && runtime.GOARCH != "arm64") {
		t.Skip("no program for " + runtime.GOOS + "/" + runtime.GOARCH)
	}
	if err != nil {
		t.Fatal(err)
	}
	if n, err := Size(); err != nil || n != int64(len(b)) {
		t.Errorf("%d bytes, %v, want %d", n, err, len(b))
	}
	f := must.Get(elf.NewFile(bytes.NewReader(b)))(t)
	if want := map[string]elf.Machine{"amd64": elf.EM_X86_64, "arm64": elf.EM_AARCH64}[runtime.GOARCH]; f.Machine != want {
		t.Errorf("it is for %v, want %v", f.Machine, want)
	}
}

func TestAKeptProgramIsUnpackedOnce(t *testing.T) {
	want, err := Read()
	if err != nil {
		t.Skip(err)
	}
	Keep()
	defer keep.Store(false)
	one, err := Read()
	if err != nil || !bytes.Equal(one, want) {
		t.Fatalf("%d bytes, %v, want %d", len(one), err, len(want))
	}
	if two, err := Read(); err != nil || &two[0] != &one[0] {
		t.Errorf("it was unpacked again: %v", err)
	}
}

func TestAMissingProgramAndABrokenOneAreErrors(t *testing.T) {
	if _, err := read(nil); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("%v, want fs.ErrNotExist", err)
	}
	if _, err := size(nil); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("%v, want fs.ErrNotExist", err)
	}
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	must.Get(w.Write([]byte("program")))(t)
	must.Do(t, w.Close())
	for n := range b.Len() {
		if got, err := read(b.Bytes()[:n]); err == nil {
			t.Errorf("%d bytes of %d: %q, want an error", n, b.Len(), got)
		}
	}
}
