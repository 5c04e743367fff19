package uploads

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"
	"time"

	"golang.org/x/text/unicode/norm"
)

// List is the list of a thread's uploads.
type List struct {
	Files []File `json:"files"`
	Count int    `json:"count"`
}

// Files lists a thread's uploads by name: regular files, except partially written ones. A thread without the folder has
// none.
func Files(dir Dir, thread string) (List, error) {
	infos, _, err := dir.ReadDir(Folder)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return List{}, fmt.Errorf("list uploads: %w", err)
	}
	l := List{Files: []File{}}
	for _, i := range infos {
		if i.Mode().IsRegular() && !staging(i.Name()) {
			l.Files = append(l.Files, describe(thread, norm.NFC.String(i.Name()), i.Size(), i.ModTime()))
		}
	}
	slices.SortFunc(l.Files, func(a, b File) int { return strings.Compare(a.Filename, b.Filename) })
	l.Count = len(l.Files)
	return l, nil
}

// Delete removes one upload. It returns ErrName for a name that is not one
// plain name, and NotFoundError when no file has it.
func Delete(dir Dir, name string) error {
	safe, ok := safeName(name)
	if !ok || safe != norm.NFC.String(name) {
		return ErrName
	}
	name = safe
	p := path.Join(Folder, name)
	info, err := dir.Lstat(p)
	if err == nil && info.IsDir() || errors.Is(err, fs.ErrNotExist) {
		return &NotFoundError{name}
	}
	if err == nil {
		err = dir.Remove(p)
	}
	if errors.Is(err, fs.ErrNotExist) {
		return &NotFoundError{name}
	}
	if err != nil {
		return fmt.Errorf("delete upload: %w", err)
	}
	return nil
}

// Sweep removes leftovers of interrupted uploads: staging files last written before the given time.
func Sweep(ctx context.Context, dir Dir, before time.Time) (removed int, err error) {
	infos, _, err := dir.ReadDir(Folder)
	if errors.Is(err, fs.ErrNotExist) {
		return 0, nil
	}
	if err != nil {
		return 0, fmt.Errorf("sweep uploads: %w", err)
	}
	for _, i := range infos {
		if err := context.Cause(ctx); err != nil {
			return removed, err
		}
		if !staging(i.Name()) || !i.Mode().IsRegular() || !i.ModTime().Before(before) {
			continue
		}
		if err := dir.Remove(path.Join(Folder, i.Name())); err != nil {
			return removed, fmt.Errorf("sweep uploads: %w", err)
		}
		removed++
	}
	return removed, nil
}
