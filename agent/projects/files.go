package projects

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"mime/multipart"
	"net/url"
	"path"
	"strings"

	"fawn/sandbox/files"
	"fawn/store"
	"fawn/uploads"
)

// Save stores the files of a form in a project atomically, like [uploads.Save] for a thread. Files with the same names
// are replaced. Errors: store.ErrNotFound without write permission, those of uploads.Save.
func (s *Service) Save(ctx context.Context, person, id string, form *multipart.Reader, cfg uploads.Config) (
	uploads.Result, error) {
	dir, shelf, err := s.open(ctx, person, id, true)
	if err != nil {
		return uploads.Result{}, err
	}
	defer dir.Close()
	out, err := uploads.Save(ctx, dir, shelf, form, cfg)
	if err != nil {
		return out, err
	}
	if err := s.saved(ctx, id); err != nil {
		return out, err
	}
	names := make([]string, 0, len(out.Files))
	for i, f := range out.Files {
		names = append(names, f.Filename)
		out.Files[i] = shown(id, f)
	}
	return out, s.Documents.Add(ctx, shelf, names...)
}

// saved stores a changed shelf. If its project was deleted meanwhile, the shelf is removed and the error is
// store.ErrNotFound.
func (s *Service) saved(ctx context.Context, id string) error {
	err := s.Dirs.Save(ctx, store.ShelfOf(id))
	gone, failed := Settle(ctx, s.DB, s.Dirs, id)
	if gone {
		return errors.Join(fmt.Errorf("project %s: %w", id, store.ErrNotFound), failed)
	}
	return errors.Join(err, failed)
}

// Settle removes files written during a project's deletion, and reports whether the project is gone.
func Settle(ctx context.Context, db *store.DB, dirs files.Dirs, id string) (gone bool, err error) {
	gone, err = db.SettleShelf(ctx, id)
	if gone {
		err = errors.Join(err, dirs.Remove(store.ShelfOf(id)))
	}
	return gone, err
}

// Shelved reports whether the project or collection of a shelf is there, for [files.Dirs].
func Shelved(db *store.DB) func(shelf string) (bool, error) {
	return func(shelf string) (bool, error) { return db.HasShelf(context.Background(), shelf) }
}

// Files lists the files of a project. Errors: store.ErrNotFound.
func (s *Service) Files(ctx context.Context, person, id string) (uploads.List, error) {
	dir, shelf, err := s.open(ctx, person, id, false)
	if err != nil {
		return uploads.List{}, err
	}
	defer dir.Close()
	list, err := s.Documents.Files(ctx, dir, shelf)
	for i, f := range list.Files {
		list.Files[i] = shown(id, f)
	}
	return list, err
}

// Open opens the files of a project for reading; the caller closes them. Errors: store.ErrNotFound.
func (s *Service) Open(ctx context.Context, person, id string) (*files.Files, error) {
	dir, _, err := s.open(ctx, person, id, false)
	return dir, err
}

// Remove deletes a file of a project. Errors: store.ErrNotFound without write permission, those of [uploads.Delete].
func (s *Service) Remove(ctx context.Context, person, id, name string) error {
	dir, shelf, err := s.open(ctx, person, id, true)
	if err != nil {
		return err
	}
	defer dir.Close()
	if err := uploads.Delete(dir, name); err != nil {
		return err
	}
	return errors.Join(s.Documents.Remove(ctx, dir, shelf, name), s.saved(ctx, id))
}

// open opens a project's files for a person with read or write permission.
func (s *Service) open(ctx context.Context, person, id string, write bool) (*files.Files, string, error) {
	p, err := s.DB.ProjectFor(ctx, person, id)
	if err == nil && write && !p.Role.Writes() {
		err = store.ErrNotFound
	}
	if err != nil {
		return nil, "", err
	}
	shelf := store.ShelfOf(id)
	dir, err := s.Dirs.Open(shelf)
	if errors.Is(err, fs.ErrNotExist) {
		if err = s.Dirs.Create(shelf); err == nil {
			dir, err = s.Dirs.Open(shelf)
		}
	}
	if errors.Is(err, fs.ErrNotExist) { // deleted meanwhile
		err = fmt.Errorf("files of project %s: %w", id, store.ErrNotFound)
	}
	return dir, shelf, err
}

// shown returns a file of a project with the places where people and chats find it.
func shown(id string, f uploads.File) uploads.File {
	address := func(name string) string {
		return "/api/projects/" + url.PathEscape(id) + "/files/" + url.PathEscape(name)
	}
	at := func(name string) string { return path.Join(files.Project, name) }
	f.Path, f.VirtualPath, f.ArtifactURL = at(f.Filename), at(f.Filename), address(f.Filename)
	if name := strings.TrimPrefix(f.MarkdownVirtualPath, uploads.Folder+"/"); name != "" {
		f.MarkdownPath, f.MarkdownVirtualPath, f.MarkdownArtifactURL = at(name), at(name), address(name)
	}
	return f
}

// Shelf reports where the files of a thread's project are, for [files.Dirs].
func Shelf(db *store.DB) func(thread string) (files.Shelf, error) {
	return func(thread string) (files.Shelf, error) {
		p, err := db.ProjectOf(context.Background(), thread)
		if err != nil || p.ID == "" {
			return files.Shelf{}, err
		}
		return files.Shelf{ID: store.ShelfOf(p.ID), Write: p.Settings.Writable && p.Role.Writes()}, nil
	}
}
