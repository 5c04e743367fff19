// Package changes records the changes a run made to its thread's files. It takes a snapshot before the run's first tool
// call and another when the run has ended, and stores versions of text files by hash, so that changes can be shown
// after further edits.
package changes

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"
	"time"

	"fawn/sandbox/files"
	"fawn/sandbox/linediff"
)

// patience limits one scan of a thread's files.
const patience = 10 * time.Second

// History stores versions of files. It holds no open files and may be copied and used concurrently, but only one
// goroutine may handle a thread's runs.
type History struct{ dirs files.Dirs }

// New returns a History for the threads of dirs.
func New(dirs files.Dirs) History { return History{dirs} }

// work is one scan of a thread's files.
type work struct {
	files *files.Files // nil while the thread has none
	kept  *os.Root
	cap   int64
	more  bool // versions were added
}

// open returns nil for a thread without records.
func (h History) open(thread string) (*work, error) {
	kept, err := h.dirs.Versions(thread)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	tree, err := h.dirs.Open(thread)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, errors.Join(err, kept.Close())
	}
	limit := int64(maxKept)
	if h.dirs.Quota != nil && h.dirs.Quota.Limit() > 0 {
		limit = min(limit, h.dirs.Quota.Limit()/8)
	}
	return &work{files: tree, kept: kept, cap: limit}, nil
}

func (w *work) close() error {
	err := w.kept.Close()
	if w.files != nil {
		err = errors.Join(err, w.files.Close())
	}
	return err
}

// Before records the state of a thread's files before a run changes them. It is recorded once per run, also if the run
// resumes after a crash.
func (h History) Before(ctx context.Context, thread, run string) (err error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	if err := h.dirs.CreateVersions(thread); err != nil {
		return err
	}
	w, err := h.open(thread)
	if w == nil {
		return err
	}
	defer func() { err = errors.Join(err, w.close()) }()
	last := load(w.kept)
	if last.Run == run {
		return nil
	}
	now, err := w.scan(ctx, last)
	if err != nil {
		return fmt.Errorf("scan files of thread %s: %w", thread, err)
	}
	now.Run = run
	w.evict()
	return errors.Join(now.save(w.kept), w.note(ctx, By{}))
}

// Noted adds changes by a tool call to the files' versions.
func (h History) Noted(ctx context.Context, thread, run, call, tool string) error {
	return h.Note(ctx, thread, By{run, call, tool})
}

// After returns a run's changes as the JSON of a [Record]; nil without changes. Call done once it is stored: until
// then, repeated calls return the same.
func (h History) After(ctx context.Context, thread, run string) (body json.RawMessage, done func() error, err error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	done = func() error { return nil }
	w, err := h.open(thread)
	if w == nil {
		return nil, done, err
	}
	defer func() { err = errors.Join(err, w.close()) }()
	last := load(w.kept)
	if last.Run != run { // no tool has run yet
		return nil, done, nil
	}
	now, err := w.scan(ctx, last)
	if err != nil {
		return nil, done, fmt.Errorf("scan files of thread %s: %w", thread, err)
	}
	r := w.compare(ctx, last, now)
	if err := w.note(ctx, By{Run: run}); err != nil {
		return nil, done, err
	}
	w.evict()
	done = func() error {
		root, err := h.dirs.Versions(thread)
		if err != nil {
			return err
		}
		return errors.Join(now.save(root), root.Close())
	}
	if r.Summary.Files() == 0 {
		return nil, done, nil
	}
	body, err = json.Marshal(r)
	return body, done, err
}

// compare determines the change of every file, those of outputs first.
func (w *work) compare(ctx context.Context, was, now snapshot) Record {
	r := Record{Version: 1, Files: []File{}, Summary: Summary{Truncated: was.Cut || now.Cut}}
	var names []string
	for name, s := range now.Files {
		old, known := was.Files[name]
		if known && s.same(old) || !known && was.Cut && s.Changed < was.At {
			continue
		}
		names = append(names, name)
	}
	for name := range was.Files {
		if _, there := now.Files[name]; !there && (!now.Cut || w.gone(name)) {
			names = append(names, name)
		}
	}
	if w.files == nil || !slices.Contains(w.roots(), files.Project) { // the thread has left its project
		names = slices.DeleteFunc(names, func(name string) bool { return files.Under(files.Project, name) })
	}
	slices.Sort(names) // outputs before the project before workspace
	for _, name := range names {
		f := w.file(ctx, name, was.Files, now.Files)
		r.Summary.count(f)
		if len(r.Files) == MaxFiles {
			r.Summary.Truncated = true
			continue
		}
		r.Files = append(r.Files, f)
	}
	return r
}

func (w *work) gone(name string) bool {
	if w.files == nil {
		return true
	}
	_, err := w.files.Lstat(name)
	return errors.Is(err, fs.ErrNotExist)
}

func (s *Summary) count(f File) {
	switch f.Status {
	case Created:
		s.Created++
	case Modified:
		s.Modified++
	case Deleted:
		s.Deleted++
	case Linked:
		s.Linked++
	}
	s.Additions += f.Additions
	s.Deletions += f.Deletions
}

// file describes the change of one file.
func (w *work) file(ctx context.Context, name string, was, now map[string]state) File {
	old, before := was[name]
	s, after := now[name]
	f := File{Path: strings.ToValidUTF8(name, "\uFFFD"), Root: path.Base(rootOf(name)), Status: Modified}
	one := s
	switch {
	case !after:
		f.Status, one = Deleted, old
	case s.Link && (!before || !old.Link):
		f.Status = Linked
	case !before:
		f.Status = Created
	}
	f.Symlink, f.Sensitive = one.Link, sensitive(name)
	why := one.Why
	if before && after && why == "" {
		why = old.Why
	}
	f.Binary = old.Why == Binary || s.Why == Binary
	if before {
		f.Before, f.OldHash = &old.Size, hash(old)
	}
	if after {
		f.After, f.NewHash = &s.Size, hash(s)
	}
	if why == "" {
		lines, ok := w.lines(f)
		if !ok || ctx.Err() != nil {
			why = Lost
		}
		f.Additions, f.Deletions = linediff.Count(lines)
	}
	if why != "" {
		f.Why = &why
	}
	return f
}

func rootOf(name string) string {
	for _, root := range []string{files.Outputs, files.Project} {
		if files.Under(root, name) {
			return root
		}
	}
	return files.Workspace
}

func hash(s state) *string {
	if s.Hash == "" {
		return nil
	}
	return &s.Hash
}

// Diff compares the versions of a file. ok is false if one of them isn't stored.
func (h History) Diff(thread string, f File) (lines []linediff.Line, ok bool, err error) {
	w, err := h.open(thread)
	if w == nil {
		return nil, false, err
	}
	lines, ok = w.lines(f)
	return lines, ok, w.close()
}

func (w *work) lines(f File) ([]linediff.Line, bool) {
	if f.Why != nil && *f.Why != Lost {
		return nil, false
	}
	from, a := w.version(f.OldHash)
	to, b := w.version(f.NewHash)
	if !a || !b {
		return nil, false
	}
	return linediff.Compare(from, to), true
}

// version reads a stored text; a missing file's is empty.
func (w *work) version(hash *string) (string, bool) {
	if hash == nil {
		return "", true
	}
	data, err := w.kept.ReadFile(*hash)
	return string(data), err == nil
}
