package imports

import (
	"errors"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"fawn/agent/takeout"
	"fawn/sandbox/files"
)

// waiting is an upload that says when it is read and ends when told.
type waiting struct{ began, end chan struct{} }

func (w waiting) Read([]byte) (int, error) {
	w.began <- struct{}{}
	<-w.end
	return 0, io.ErrUnexpectedEOF
}

func TestSlowUploadsLeaveReadingFree(t *testing.T) {
	root := t.TempDir()
	old := filepath.Join(root, ".import-123")
	if err := os.WriteFile(old, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	s := &Service{Dirs: files.Dirs{Root: root}, Log: slog.New(slog.DiscardHandler)}
	w := waiting{make(chan struct{}), make(chan struct{})}
	done := make(chan error)
	for range maxSpools {
		go func() {
			_, err := s.Preview(t.Context(), "o", w)
			done <- err
		}()
		<-w.began
	}
	if _, err := os.Stat(old); !os.IsNotExist(err) {
		t.Errorf("the file of a killed server: %v", err)
	}
	if !s.busy.TryLock() {
		t.Error("uploads keep others from reading")
	}
	if _, err := s.Preview(t.Context(), "o", strings.NewReader("")); !errors.Is(err, ErrBusy) {
		t.Errorf("one upload too many: %v", err)
	}
	close(w.end)
	for range maxSpools {
		if err := <-done; !errors.Is(err, io.ErrUnexpectedEOF) {
			t.Error(err)
		}
	}
	if list, err := os.ReadDir(root); err != nil || len(list) > 0 {
		t.Errorf("%d files are left, %v", len(list), err)
	}
}

func TestFilesOverTheBoundAreMissing(t *testing.T) {
	r := &reading{Service: &Service{}, left: 10}
	open := func() (io.ReadCloser, error) { return nil, errors.New("it must not be opened") }
	if _, err := r.files(t.Context(), "t", []takeout.File{{Name: "a", Size: 11, Open: open}}); err != nil || r.Missing != 1 {
		t.Errorf("%d missing, %v", r.Missing, err)
	}
}
