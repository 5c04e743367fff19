package web

import (
	"context"
	"path/filepath"
	"slices"
	"strings"

	"fawn/store"
	"fawn/uploads"
	"fawn/uploads/documents"
	"fawn/uploads/pictures"
	"fawn/uploads/worker"
)

// shelf keeps the states of documents in the database.
type shelf struct{ db *store.DB }

func (s shelf) Values(ctx context.Context, prefix string) (map[string][]byte, error) {
	list, err := s.db.KVs(ctx, store.Global, store.DocumentSpace, prefix)
	values := make(map[string][]byte, len(list))
	for _, kv := range list {
		values[kv.Key] = kv.Body
	}
	return values, err
}

func (s shelf) Put(ctx context.Context, key string, body []byte) error {
	err := s.db.Commit(ctx, store.Batch{KV: []store.KV{{Owner: store.Global, Space: store.DocumentSpace, Key: key,
		Body: body}}})
	thread, _, _ := strings.Cut(key, " ")
	if project, ok := store.ShelfProject(thread); ok && body != nil && err == nil {
		_, err = s.db.SettleShelf(ctx, project) // a project may be deleted while its documents are read
	}
	return err
}

// index keeps the passages of documents in the database.
type index struct{ db *store.DB }

func (x index) Files(ctx context.Context, thread string) (map[string]string, int64, error) {
	return x.db.PassageFiles(ctx, thread)
}

func (x index) Threads(ctx context.Context) ([]string, error) {
	list, err := x.db.PassageThreads(ctx)
	return slices.DeleteFunc(list, store.IsCollectionShelf), err // package knowledge manages their passages
}

func (x index) Add(ctx context.Context, thread, file, stamp string, list []uploads.Passage) error {
	rows := make([]store.Passage, 0, len(list))
	for _, p := range list {
		rows = append(rows, store.Passage(p))
	}
	return x.db.AddPassages(ctx, thread, file, stamp, rows)
}

func (x index) Remove(ctx context.Context, thread, file string) error {
	return x.db.RemovePassages(ctx, thread, file)
}

func (x index) Find(ctx context.Context, thread string, q uploads.Query) ([]uploads.Passage, error) {
	rows, err := x.db.FindPassages(ctx, thread, q.Words, q.Files, q.Limit)
	var list []uploads.Passage
	for _, p := range rows {
		list = append(list, uploads.Passage(p))
	}
	return list, err
}

// openDocuments opens the converter of uploads, which runs each conversion in a separate process.
func (a *App) openDocuments() *documents.Service {
	a.tools.converter = worker.New(a.data.dirs.Root, func() { a.tools.report() }, a.opts.Log)
	server := int64(0)
	if a.data.db.Clustered() {
		server = a.data.db.Self()
	}
	return documents.New(documents.Config{
		Server:  server,
		Store:   shelf{a.data.db},
		Index:   index{a.data.db},
		Cache:   filepath.Join(a.data.dirs.Root, "shown"),
		Open:    func(thread string) (documents.Dir, error) { return a.data.dirs.Open(thread) },
		Save:    a.data.dirs.Save,
		Convert: a.tools.converter.Convert,
		Enabled: func() bool { return a.config.Current().File.Uploads.AutoConvertDocuments },
		Log:     a.opts.Log,
	})
}

// openPictures opens the thumbnail service, which draws each in a separate process.
func (a *App) openPictures() *pictures.Service {
	return pictures.New(pictures.Config{Dir: filepath.Join(a.data.dirs.Root, "pictures"), Draw: a.tools.converter.Draw,
		Log: a.opts.Log})
}
