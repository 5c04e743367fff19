package knowledge

import (
	"errors"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"fawn/agent/agenttest/must"
	"fawn/sandbox/files"
	"fawn/store"
)

// TestAnErrorThatMayPassLeavesWhatWasRead: a file that is closed loses its text, one that can't be read for now keeps it and is
// read again, and that the server has no more files to open ends the reading.
func TestAnErrorThatMayPassLeavesWhatWasRead(t *testing.T) {
	t.Parallel()
	ctx, data, dir := t.Context(), t.TempDir(), t.TempDir()
	db, err := store.Open(ctx, store.Config{Dir: data, Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	s := New(Config{DB: db, Dirs: files.Dirs{Root: data}, Log: slog.New(slog.DiscardHandler), Folders: func() []string { return []string{dir} },
		Embedder: func() Embedder { return nil }})
	c, err := s.Create(ctx, "ann", "C", "")
	if err != nil {
		t.Fatal(err)
	}
	src, err := s.AddSource(ctx, "ann", true, store.Source{Collection: c.ID, Kind: store.FolderSource, Address: dir})
	if err != nil {
		t.Fatal(err)
	}
	at := filepath.Join(dir, "a.md")
	must.Do(t, os.WriteFile(at, []byte("The price is high."), 0o600))
	stamp := 0
	take := func(open error) error {
		t.Helper()
		stamp++
		r := &reading{Service: s, src: src, seen: map[string]bool{}, room: 1 << 20}
		if r.known, err = db.SourceDocuments(ctx, src.ID); err != nil {
			t.Fatal(err)
		}
		err := r.take(ctx, item{name: "a.md", size: 1, stamp: string(rune('a' + stamp)), open: func() (*os.File, error) {
			if open != nil {
				return nil, &fs.PathError{Op: "open", Path: at, Err: open}
			}
			return os.Open(at)
		}})
		if err == nil {
			err = r.flush(ctx)
		}
		if err == nil && !r.seen["a.md"] {
			t.Error("the document is removed")
		}
		return err
	}
	want := func(what, state, reason, text string, stamped bool) {
		t.Helper()
		d := must.Get(db.CollectionDocumentNamed(ctx, c.ID, "a.md"))(t)
		got, err := db.DocumentText(ctx, d.ID)
		if err != nil || d.State != state || d.Reason != reason || got != text || (d.Stamp != "") != stamped {
			t.Errorf("%s: %+v %q %v", what, d, got, err)
		}
	}
	for _, step := range []struct {
		open                error
		state, reason, text string
		stamped             bool
	}{
		{syscall.EIO, "failed", Unreadable, "", false},
		{nil, "converted", "", "The price is high.", true},
		{syscall.EIO, "converted", "", "The price is high.", false},
		{nil, "converted", "", "The price is high.", true},
		{syscall.EACCES, "failed", Unreadable, "", false},
		{nil, "converted", "", "The price is high.", true},
	} {
		if err := take(step.open); err != nil {
			t.Fatalf("%v: %v", step.open, err)
		}
		want("after "+errorText(step.open), step.state, step.reason, step.text, step.stamped)
	}
	if err := take(syscall.EMFILE); !errors.Is(err, syscall.EMFILE) {
		t.Errorf("too many open files: %v", err)
	}
	want("too many open files", "converted", "", "The price is high.", true)
}

func errorText(err error) string {
	if err == nil {
		return "nothing"
	}
	return err.Error()
}
