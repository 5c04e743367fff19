package web

import (
	"context"
	"log/slog"
	"path/filepath"
	"slices"
	"strings"

	"fawn/agent/config"
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

// openDocuments opens the converter of uploads, which runs each conversion in a separate process, and the service of
// thumbnails, which draws each in one.
func (t *tools) openDocuments(conf *config.Store, d *data, log *slog.Logger) {
	t.converter = worker.New(d.dirs.Root, func() { t.report() }, log)
	server := int64(0)
	if d.db.Clustered() {
		server = d.db.Self()
	}
	t.documents = documents.New(documents.Config{
		Server:  server,
		Store:   shelf{d.db},
		Index:   index{d.db},
		Cache:   filepath.Join(d.dirs.Root, "shown"),
		Open:    func(thread string) (documents.Dir, error) { return d.dirs.Open(thread) },
		Save:    d.dirs.Save,
		Convert: t.converter.Convert,
		Enabled: func() bool { return conf.Current().File.Uploads.AutoConvertDocuments },
		Log:     log,
	})
	t.pictures = pictures.New(pictures.Config{Dir: filepath.Join(d.dirs.Root, "pictures"), Draw: t.converter.Draw,
		Log: log})
}
