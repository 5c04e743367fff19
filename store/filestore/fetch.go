package filestore

import (
	"bytes"
	"cmp"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path"
	"slices"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"fawn/sandbox/files"
)

// updateCopy updates a copy to a version. Changes since the copy's version stay where keep returns true and become changes
// of the next version; in a folder without an index, names missing from the version stay likewise.
func (t *Trees) updateCopy(ctx context.Context, f *folder, i *index, version int64, keep func(name string) bool) error {
	target, whole, since, err := t.manifest(ctx, f.thread, version)
	if err != nil {
		return err
	}
	now, err := scan(ctx, f.user)
	if err != nil {
		return err
	}
	next := &index{Version: version, At: now.at, Files: make(map[string]known, len(target)), Whole: whole, Since: since}
	g := &fetch{t: t, folder: f, next: next, now: now, loose: map[string]bool{}}
	g.uid, g.gid, g.owned = files.Owner(f.user)
	var want []string
	for name, e := range target {
		is, there := now.files[name]
		k, was := i.Files[name]
		clean := there && i.clean(f.user, name, is)
		switch {
		case clean && k.Entry.same(e):
			next.Files[name] = known{e, k.Stat}
		case i.there && !clean && (there || was) && keep(name):
			next.Files[name] = known{Entry: e} // changed by the next version
		default:
			want = append(want, name)
		}
	}
	if err := g.clear(target, i, keep); err != nil {
		return err
	}
	if err := g.all(ctx, target, want); err != nil {
		return err
	}
	next.At = time.Now().UnixNano() + coarse + 1 // no user has seen the files written just now
	if keep("uploads/") {
		next.At = now.at
	}
	return next.save(f.base)
}

// fetch writes names of a version into a folder.
type fetch struct {
	t        *Trees
	folder   *folder
	uid, gid int
	owned    bool            // new files belong to uid and gid
	now      look            // previous content
	loose    map[string]bool // folders that were opened to write to them

	mu   sync.Mutex
	next *index // its Files are guarded by mu
}

// clear removes names that a version does not have, or has as something else, the deepest first.
func (g *fetch) clear(target manifest, i *index, keep func(name string) bool) error {
	names := slices.Sorted(maps.Keys(g.now.files))
	slices.Reverse(names)
	for _, name := range names {
		is := g.now.files[name]
		e, stays := target[name]
		if stays && e.Kind == is.kind || (i.there || !stays) && keep(name) && !i.clean(g.folder.user, name, is) {
			continue
		}
		if err := g.loosen(path.Dir(name)); err != nil {
			return err
		}
		err := g.folder.user.Remove(name)
		if err != nil && is.kind != kindDir && !errors.Is(err, fs.ErrNotExist) {
			return err
		} // a folder may contain kept files
	}
	return nil
}

// loosen makes a folder writable for the server after a program removed the permission.
func (g *fetch) loosen(dir string) error {
	is, ok := g.now.files[dir]
	if !ok || is.kind != kindDir || is.mode&0o700 == 0o700 || g.loose[dir] {
		return nil
	}
	if err := g.loosen(path.Dir(dir)); err != nil {
		return err
	}
	g.loose[dir] = true
	return g.folder.user.Chmod(dir, 0o700)
}

// all writes names: folders first, then files in order of likely use, then the folders' attributes.
func (g *fetch) all(ctx context.Context, target manifest, names []string) error {
	slices.Sort(names)
	objects := map[string][]string{}
	var order, dirs []string
	for _, name := range names {
		e := target[name]
		if e.Kind == kindDir {
			dirs = append(dirs, name)
			if err := errors.Join(g.loosen(path.Dir(name)), g.mkdir(name)); err != nil {
				return err
			}
			continue
		}
		if err := errors.Join(g.loosen(path.Dir(name)), g.mkdir(path.Dir(name))); err != nil {
			return err
		}
		if e.Kind == kindLink {
			if err := g.link(name, e); err != nil {
				return err
			}
			continue
		}
		if _, ok := objects[e.Object]; !ok {
			order = append(order, e.Object) // by name: outputs and uploads precede the workspace
		}
		objects[e.Object] = append(objects[e.Object], name)
	}
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(atOnce)
	for _, object := range order {
		group.Go(func() error { return g.object(ctx, object, objects[object], target) })
	}
	if err := group.Wait(); err != nil {
		return err
	}
	for name := range g.loose {
		if target[name].Kind == kindDir && !slices.Contains(dirs, name) {
			dirs = append(dirs, name)
		}
	}
	slices.Sort(dirs)
	slices.Reverse(dirs) // a read-only folder comes after its content
	for _, name := range dirs {
		if err := g.folder.user.Chmod(name, fs.FileMode(target[name].Mode)); err != nil {
			return err
		}
		if err := g.note(name, target[name]); err != nil {
			return err
		}
	}
	return nil
}

// mkdir creates a folder and its parents.
func (g *fetch) mkdir(name string) error {
	for end := range len(name) + 1 {
		if end < len(name) && name[end] != '/' {
			continue
		}
		err := g.folder.user.Mkdir(name[:end], 0o755)
		if err == nil {
			err = g.give(name[:end])
		}
		if err != nil && !errors.Is(err, fs.ErrExist) {
			return err
		}
	}
	return nil
}

func (g *fetch) give(name string) error {
	if !g.owned {
		return nil
	}
	return g.folder.user.Lchown(name, g.uid, g.gid)
}

func (g *fetch) link(name string, e entry) error {
	if err := g.folder.user.Remove(name); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if err := g.folder.user.Symlink(e.Link, name); err != nil {
		return err
	}
	if err := g.give(name); err != nil {
		return err
	}
	return g.note(name, e)
}

// note records the state of a written name.
func (g *fetch) note(name string, e entry) error {
	info, err := g.folder.user.Lstat(name)
	if err != nil {
		return err
	}
	inode, changed := files.Identity(info)
	s := stat{Inode: inode, Size: info.Size(), Modified: info.ModTime().UnixNano(), Changed: changed.UnixNano()}
	switch e.Kind {
	case kindDir:
		s = stat{Inode: inode}
	case kindLink:
		s.Size = 0
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	g.next.Files[name] = known{e, s}
	return nil
}

// object writes the files whose contents are in an object.
func (g *fetch) object(ctx context.Context, object string, names []string, target manifest) error {
	if object == "" {
		for _, name := range names {
			if err := g.file(name, target[name], bytes.NewReader(nil)); err != nil {
				return err
			}
		}
		return nil
	}
	slices.SortFunc(names, func(a, b string) int { return cmp.Compare(target[a].Offset, target[b].Offset) })
	first, last := target[names[0]], target[names[len(names)-1]]
	if last.Offset+last.Size-first.Offset > packSize+small {
		for _, name := range names {
			if err := g.stream(ctx, object, name, target[name]); err != nil {
				return err
			}
		}
		return nil
	}
	part, err := g.read(ctx, object, first.Offset, last.Offset+last.Size-first.Offset)
	for _, name := range names {
		if err != nil {
			return err
		}
		e := target[name]
		from := e.Offset - first.Offset
		if from < 0 || from+e.Size > int64(len(part)) {
			return fmt.Errorf("%w: object %s lacks a part of %s", ErrObjects, object, name)
		}
		err = g.file(name, e, bytes.NewReader(part[from:from+e.Size]))
	}
	return err
}

func (g *fetch) read(ctx context.Context, object string, offset, length int64) ([]byte, error) {
	r, err := g.t.cfg.Objects.Get(ctx, object, offset, length)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrObjects, err)
	}
	part, err := io.ReadAll(io.LimitReader(r, length))
	if err = errors.Join(err, r.Close()); err != nil {
		return nil, fmt.Errorf("%w: get object %s: %w", ErrObjects, object, err)
	}
	return part, nil
}

func (g *fetch) stream(ctx context.Context, object, name string, e entry) error {
	r, err := g.t.cfg.Objects.Get(ctx, object, e.Offset, e.Size)
	if err != nil {
		return fmt.Errorf("%w: %w", ErrObjects, err)
	}
	return errors.Join(g.file(name, e, r), r.Close())
}

// file writes one, complete or not at all.
func (g *fetch) file(name string, e entry, r io.Reader) (err error) {
	user := g.folder.user
	temp := path.Join(path.Dir(name), ".write-"+rand.Text()+".tmp")
	out, err := user.OpenFile(temp, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, user.RemoveAll(temp))
		}
	}()
	h := sha256.New()
	_, err = io.Copy(io.MultiWriter(out, h), io.LimitReader(r, e.Size))
	if err == nil && [sha256.Size]byte(h.Sum(nil)) != e.Hash {
		err = fmt.Errorf("%w: the content of %s doesn't match its hash", ErrObjects, name)
	}
	if err == nil {
		err = out.Chmod(fs.FileMode(e.Mode).Perm())
	}
	if err == nil && g.owned {
		err = out.Chown(g.uid, g.gid)
	}
	if err = errors.Join(err, out.Close()); err != nil {
		return err
	}
	at := time.Unix(0, e.Time)
	if err = user.Chtimes(temp, at, at); err != nil {
		return err
	}
	if err = user.Rename(temp, name); err != nil {
		return err
	}
	return g.note(name, e)
}
