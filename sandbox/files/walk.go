package files

import (
	"cmp"
	"context"
	"errors"
	"io/fs"
	"os"
	"path"
	"runtime"
	"slices"
	"strings"
	"time"

	"golang.org/x/text/unicode/norm"
)

// SearchLimits limits one walk or search of a tree that a program may have filled on purpose.
type SearchLimits struct {
	// Entries is the number of names examined, except ignored ones.
	Entries int
	// Depth is the number of levels below the start.
	Depth int
	// Time limits a walk or search; results found by then are kept.
	Time time.Duration
	// FileSize is the size limit in bytes for searching a file's content.
	FileSize int64
}

// DefaultSearchLimits returns 10,000 entries, 20 levels, 2 seconds and 10 MiB.
func DefaultSearchLimits() SearchLimits {
	return SearchLimits{Entries: 10_000, Depth: 20, Time: 2 * time.Second, FileSize: 10 << 20}
}

func (l SearchLimits) orDefault() SearchLimits {
	d := DefaultSearchLimits()
	return SearchLimits{
		Entries:  cmp.Or(l.Entries, d.Entries),
		Depth:    cmp.Or(l.Depth, d.Depth),
		Time:     cmp.Or(l.Time, d.Time),
		FileSize: cmp.Or(l.FileSize, d.FileSize),
	}
}

// Entry is one name found by a walk.
type Entry struct {
	// Path is the virtual path, below the path the walk was asked for.
	Path string
	// Size is in bytes; 0 for folders and links.
	Size int64
	// Modified is the time of the last change of the content.
	Modified time.Time
	// Dir and Link distinguish folders and symbolic links from regular files.
	Dir, Link bool
	// Depth is 1 for direct children of the start folder.
	Depth int
	// Inode and Changed identify a file and its state where supported: a program can set Modified, but not Changed.
	Inode   uint64
	Changed time.Time
}

// WalkOptions limit a walk.
type WalkOptions struct {
	// Depth is the number of levels; 0 means as deep as the limits allow.
	Depth int
	// All also shows the names that listings leave out: version control,
	// dependencies, caches and build output.
	All bool
}

// Walk calls visit for everything below a folder, each folder before its
// content, names in byte order. Links are shown and never followed, except at
// the start; pipes, sockets and devices are left out. fs.SkipDir from visit
// skips a folder, fs.SkipAll ends the walk. It returns ErrNotDir when p is no
// folder, ErrLimit when a limit ended the walk early, and the context's error.
func (f *Files) Walk(ctx context.Context, p string, o WalkOptions, visit func(Entry) error) error {
	return f.walk(ctx, p, o, func(_ place, e Entry) error { return visit(e) })
}

// Listing is the result of List.
type Listing struct {
	Entries []Entry
	// Truncated means that a limit ended the walk early.
	Truncated bool
}

// List returns the content of a folder down to depth levels, except names that listings omit, in the order of Walk.
func (f *Files) List(ctx context.Context, p string, depth int) (Listing, error) {
	var l Listing
	err := f.Walk(ctx, p, WalkOptions{Depth: depth}, func(e Entry) error {
		l.Entries = append(l.Entries, e)
		return nil
	})
	if errors.Is(err, ErrLimit) {
		l.Truncated, err = true, nil
	}
	return l, err
}

// walker is the state of one walk. visit gets the place of the entry too.
type walker struct {
	ctx   context.Context // ends with ErrLimit as its cause when the time is up
	root  *os.Root
	o     WalkOptions
	left  int
	visit func(place, Entry) error
}

func (f *Files) walk(ctx context.Context, p string, o WalkOptions, visit func(place, Entry) error) error {
	if o.Depth <= 0 || o.Depth > f.limits.Depth {
		o.Depth = f.limits.Depth
	}
	virtual, err := Clean(p)
	if err != nil {
		return err
	}
	var start place
	err = f.withPath("list", p, func(at place) error {
		info, err := at.root.Stat(at.rel)
		if err == nil && !info.IsDir() {
			err = ErrNotDir
		}
		start = at
		return err
	})
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeoutCause(ctx, f.limits.Time, ErrLimit)
	defer cancel()
	w := &walker{ctx: ctx, root: start.root, o: o, left: f.limits.Entries, visit: visit}
	if err := w.dir(start.rel, virtual, 1); !errors.Is(err, fs.SkipAll) {
		return err
	}
	return nil
}

// dir walks one folder. It reads names up to the remaining entry limit and then sorts them, so a walk is reproducible.
func (w *walker) dir(rel, virtual string, depth int) error {
	var entries []fs.DirEntry
	err := eachEntry(w.root, rel, func(e fs.DirEntry) error {
		if err := context.Cause(w.ctx); err != nil {
			return err
		}
		if !w.o.All && ignored(e.Name()) || !shown(e.Type()) {
			return nil
		}
		if len(entries) >= w.left {
			return ErrLimit
		}
		entries = append(entries, e)
		return nil
	})
	full := errors.Is(err, ErrLimit)
	if err != nil && !full {
		if depth > 1 && w.ctx.Err() == nil {
			// A folder that went away or cannot be read hides only itself.
			return nil
		}
		return OpError("list", virtual, err)
	}
	slices.SortFunc(entries, func(a, b fs.DirEntry) int { return strings.Compare(a.Name(), b.Name()) })
	for _, e := range entries {
		if err := w.entry(e, path.Join(rel, e.Name()), virtual+"/"+norm.NFC.String(e.Name()), depth); err != nil {
			return err
		}
	}
	if full {
		return ErrLimit
	}
	return nil
}

func shown(t fs.FileMode) bool { return t.IsDir() || t.IsRegular() || t == fs.ModeSymlink }

func (w *walker) entry(e fs.DirEntry, rel, virtual string, depth int) error {
	if err := context.Cause(w.ctx); err != nil {
		return err
	}
	if w.left--; w.left < 0 {
		return ErrLimit
	}
	info, err := w.root.Lstat(rel)
	if err != nil || !shown(info.Mode().Type()) {
		return nil
	}
	v := Entry{
		Path:     virtual,
		Modified: info.ModTime(),
		Dir:      info.IsDir(),
		Link:     info.Mode().Type() == fs.ModeSymlink,
		Depth:    depth,
	}
	v.Inode, v.Changed = identity(info)
	if info.Mode().IsRegular() {
		v.Size = info.Size()
	}
	err = w.visit(place{root: w.root, rel: rel}, v)
	switch {
	case errors.Is(err, fs.SkipDir):
		return nil
	case err != nil || !v.Dir || depth >= w.o.Depth:
		return err
	}
	return w.dir(rel, virtual, depth+1)
}

// ignored reports whether a name is left out of listings and searches: version
// control, dependencies, caches, build output, editor and temporary files, and the outputs of
// tools that were too long to show. They can be read by their path.
func ignored(name string) bool {
	if runtime.GOOS == "windows" || runtime.GOOS == "darwin" {
		name = strings.ToLower(name)
	}
	switch name {
	case ".git", ".svn", ".hg", ".bzr",
		"node_modules", "__pycache__", ".venv", "venv", ".env", "env", ".tox", ".nox", ".eggs", "site-packages",
		"dist", "build", ".next", ".nuxt", ".output", ".turbo", "target", "out",
		".idea", ".vscode", ".project", ".classpath", ".settings",
		".DS_Store", ".ds_store", "Thumbs.db", "thumbs.db", "desktop.ini",
		".cache", "logs", ".coverage", "coverage", ".nyc_output", "htmlcov",
		".tool-results", ".browser",
		".pytest_cache", ".mypy_cache", ".ruff_cache":
		return true
	}
	if strings.HasPrefix(name, ".upload-") && strings.HasSuffix(name, ".part") {
		return true
	}
	for _, end := range []string{
		".egg-info", ".swp", ".swo", "~", ".lnk", ".log", ".tmp", ".temp", ".bak", ".cache",
	} {
		if strings.HasSuffix(name, end) {
			return true
		}
	}
	return false
}
