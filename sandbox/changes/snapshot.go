package changes

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/gob"
	"encoding/hex"
	"errors"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"fawn/sandbox/files"
)

// snapshotName is the file with the last snapshot of a thread's files.
const snapshotName = "snapshot"

// coarse is the time after a snapshot in which a change may leave timestamps equal.
const coarse = int64(50 * time.Millisecond)

// snapshot is the state of a thread's files at some time.
type snapshot struct {
	Run   string // the run working since then, "" after its end
	At    int64  // start time of taking it
	Cut   bool   // not all files are included
	Files map[string]state
}

// state is one file of a snapshot. Equal stats mean the same file.
type state struct {
	Size, Modified, Changed int64
	Inode                   uint64
	Link                    bool
	Hash                    string // "" if unread
	Why                     Reason // why there is no difference; "" for texts
}

func (s state) sameStat(o state) bool {
	return s.Size == o.Size && s.Modified == o.Modified && s.Changed == o.Changed && s.Inode == o.Inode &&
		s.Link == o.Link
}

// same reports whether nothing changed. A file may still have changed within the resolution of its
// times.
func (s state) same(o state) bool {
	if s.Hash != "" && o.Hash != "" {
		return s.Hash == o.Hash
	}
	return s.sameStat(o)
}

// load reads the last snapshot; a missing or unreadable one is empty.
func load(root *os.Root) snapshot {
	s := snapshot{Files: map[string]state{}}
	data, err := root.ReadFile(snapshotName)
	if err != nil || gob.NewDecoder(bytes.NewReader(data)).Decode(&s) != nil || s.Files == nil {
		return snapshot{Files: map[string]state{}}
	}
	return s
}

// save writes a snapshot in place of the last one.
func (s snapshot) save(root *os.Root) error {
	var b bytes.Buffer
	if err := gob.NewEncoder(&b).Encode(s); err != nil {
		return err
	}
	return write(root, snapshotName, b.Bytes())
}

// write replaces the content of a file atomically.
func write(root *os.Root, name string, data []byte) error {
	temp := name + ".part"
	if err := root.WriteFile(temp, data, 0o600); err != nil {
		return errors.Join(err, root.RemoveAll(temp))
	}
	return root.Rename(temp, name)
}

// scan takes a snapshot. Unchanged files aren't read again.
func (w *work) scan(ctx context.Context, last snapshot) (snapshot, error) {
	now := snapshot{At: time.Now().UnixNano(), Files: map[string]state{}}
	if w.files == nil {
		return now, nil
	}
	left := int64(maxReading)
	for _, top := range w.roots() {
		err := w.files.Walk(ctx, top, files.WalkOptions{}, func(e files.Entry) error {
			if e.Dir || len(e.Path) > maxPath {
				return nil
			}
			s := state{Size: e.Size, Modified: e.Modified.UnixNano(), Changed: e.Changed.UnixNano(), Inode: e.Inode,
				Link: e.Link}
			old, known := last.Files[e.Path]
			if known && s.sameStat(old) && old.Changed < last.At-coarse {
				s = old
			} else {
				w.read(ctx, e.Path, &s, &left)
			}
			now.Files[e.Path] = s
			return context.Cause(ctx)
		})
		switch {
		case errors.Is(err, files.ErrLimit):
			now.Cut = true
		case errors.Is(err, fs.ErrNotExist), errors.Is(err, files.ErrNotDir): // a program removed the folder
		case err != nil:
			return now, err
		}
	}
	return now, nil
}

// roots returns the folders that runs may change, including the project's files if there are any.
func (w *work) roots() []string {
	if shelf, err := w.files.Shelf(); err == nil && shelf.Write && shelf.ID != "" {
		return []string{files.Outputs, files.Project, files.Workspace}
	}
	return []string{files.Outputs, files.Workspace}
}

// read fills in the fields that depend on a file's content, and stores a version of it.
func (w *work) read(ctx context.Context, name string, s *state, left *int64) {
	switch {
	case s.Link:
		s.Why = Link
		return
	case sensitive(name):
		s.Why = Sensitive
		return
	case s.Size > maxHashed || s.Size > *left:
		s.Why = Large
		return
	}
	data, err := w.files.ReadFile(ctx, name, maxHashed)
	if err != nil { // deleted, unreadable, or grown meanwhile
		s.Why = Lost
		return
	}
	*left -= int64(len(data))
	sum := sha256.Sum256(data)
	s.Hash = hex.EncodeToString(sum[:])
	switch {
	case bytes.IndexByte(data, 0) >= 0 || !utf8.Valid(data):
		s.Why = Binary
	case len(data) > MaxText:
		s.Why = Large
	default:
		w.keep(ctx, s.Hash, data)
	}
}

// sensitive matches names of files that usually hold secrets. Their content is never stored.
func sensitive(name string) bool {
	base := strings.ToLower(path.Base(name))
	return strings.HasPrefix(base, ".env") || strings.HasPrefix(base, "id_rsa") ||
		strings.HasPrefix(base, "id_ed25519") || strings.HasPrefix(base, "credentials") ||
		slices.Contains([]string{".pem", ".key", ".p12", ".pfx", ".kdbx"}, path.Ext(base)) ||
		slices.Contains([]string{".netrc", ".npmrc", ".pypirc"}, base)
}
