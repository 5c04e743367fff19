package client

import (
	"context"
	"errors"
	"net/url"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
)

// outputs is the folder of presented files.
const outputs = "/mnt/user-data/outputs/"

// artifacts returns a chat's new or again presented files, copied to a folder if one is named.
func (s Server) artifacts(ctx context.Context, thread string, before, now []string, out string) ([]Artifact, error) {
	list := []Artifact{}
	for _, p := range now {
		if !slices.Contains(before, p) {
			list = append(list, Artifact{Path: p})
		}
	}
	if out == "" || len(list) == 0 {
		return list, nil
	}
	if err := os.MkdirAll(out, 0o755); err != nil {
		return list, err
	}
	root, err := os.OpenRoot(out)
	if err != nil {
		return list, err
	}
	var failed []error
	for i, a := range list {
		name := filepath.FromSlash(strings.TrimPrefix(path.Clean("/"+strings.TrimPrefix(a.Path, outputs)), "/"))
		if !filepath.IsLocal(name) {
			name = filepath.Base(name)
		}
		err := s.copy(ctx, thread, a.Path, root, name)
		if err == nil {
			list[i].File = filepath.Join(out, name)
		}
		failed = append(failed, err)
	}
	return list, errors.Join(append(failed, root.Close())...)
}

func (s Server) copy(ctx context.Context, thread, from string, root *os.Root, name string) error {
	if err := root.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		return err
	}
	f, err := root.Create(name)
	if err != nil {
		return err
	}
	err = s.Save(ctx, "/api/threads/"+url.PathEscape(thread)+"/artifacts/"+escaped(from)+"?download=true", f)
	return errors.Join(err, f.Close())
}
