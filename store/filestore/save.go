package filestore

import (
	"bytes"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"slices"
	"strings"

	"golang.org/x/sync/errgroup"

	"fawn/sandbox/files"
	"fawn/store"
)

const (
	small    = 256 << 10 // files up to this size share packs
	packSize = 4 << 20   // size of a full pack
	atOnce   = 4         // concurrent uploads
	retries  = 8
)

// Save implements [files.Keeper].
func (t *Trees) Save(ctx context.Context, thread string) error {
	_, err := t.SaveVersion(ctx, thread)
	return err
}

// SaveVersion stores the changes of a thread's files as a version. It returns the newest one, 0 for a thread that never
// had files.
func (t *Trees) SaveVersion(ctx context.Context, thread string) (v int64, err error) {
	c := t.take(thread)
	defer t.giveBack(c)
	c.mu.Lock()
	defer c.mu.Unlock()
	for n := 0; ; n++ {
		if v, err = t.save(ctx, c); err == nil {
			return v, nil
		}
		if !errors.Is(err, store.ErrConflict) || n == retries {
			return 0, fmt.Errorf("store the files of thread %s: %w", thread, err)
		}
	}
}

func (t *Trees) save(ctx context.Context, c *local) (v int64, err error) {
	if v, err = t.update(ctx, c); err != nil {
		return 0, err
	}
	f, err := t.open(c.thread, false)
	if f == nil {
		return v, err
	}
	defer func() { err = errors.Join(err, f.close()) }()
	i := loadIndex(f.base)
	now, err := scan(ctx, f.user)
	if err != nil {
		return 0, err
	}
	next, b, err := t.collect(ctx, f, i, now)
	if err != nil {
		return 0, err
	}
	if len(b.Changes) == 0 {
		return v, nil // read again next time
	}
	tree := store.Tree{Parent: v}
	if tree.Body, err = b.pack(); err != nil {
		return 0, err
	}
	next.Whole, next.Since = i.Whole, i.Since+int64(len(tree.Body))
	if v == 0 || next.Since > next.Whole {
		b, tree.Whole = next.manifest().whole(), true
		if tree.Body, err = b.pack(); err != nil {
			return 0, err
		}
		next.Whole, next.Since = int64(len(tree.Body)), 0
	}
	tree.Objects = b.objects()
	if next.Version, err = t.cfg.DB.PutTree(ctx, c.thread, tree); err != nil {
		return 0, err
	}
	c.version = next.Version
	if err := next.save(f.base); err != nil { // the stored version is right; the copy is repaired at its next use
		c.known = false
		t.cfg.Log.Warn("couldn't write a thread's file list", "thread", c.thread, "err", err)
	}
	return next.Version, nil
}

// collect stores the changes since the index and returns the next index.
func (t *Trees) collect(ctx context.Context, f *folder, i *index, now look) (next *index, b body, err error) {
	next = &index{Version: i.Version, At: now.at, Files: make(map[string]known, len(now.files)), Whole: i.Whole,
		Since: i.Since}
	u := newUpload(ctx, t, f, i)
	defer func() { err = errors.Join(err, u.close()) }()
	for _, name := range slices.Sorted(maps.Keys(now.files)) {
		if i.unchanged(name, now.files[name]) {
			next.Files[name] = i.Files[name]
			continue
		}
		if err := u.add(name, now.files[name]); err != nil {
			return nil, b, err
		}
	}
	if err := u.finish(); err != nil {
		return nil, b, err
	}
	for name, k := range i.Files {
		if _, there := now.files[name]; there {
			continue
		}
		if now.unreadable(name) {
			next.Files[name] = k
		} else {
			b.Changes = append(b.Changes, change{Path: name, Gone: true})
		}
	}
	for name, k := range u.read {
		if old, ok := i.Files[name]; ok && k.Entry.same(old.Entry) {
			k.Entry = old.Entry
		} else {
			b.Changes = append(b.Changes, change{Path: name, Entry: k.Entry})
		}
		next.Files[name] = *k
	}
	slices.SortFunc(b.Changes, func(a, b change) int { return strings.Compare(a.Path, b.Path) })
	return next, b, nil
}

// upload stores contents: small ones in packs, each of them once.
type upload struct {
	t      *Trees
	folder *folder
	group  *errgroup.Group
	ctx    context.Context
	have   map[[sha256.Size]byte]entry // contents stored, or about to be
	read   map[string]*known           // read files
	pack   []byte
	packed []*known                    // files with contents in the pack
	places map[[sha256.Size]byte]int64 // their offsets
}

func newUpload(ctx context.Context, t *Trees, f *folder, i *index) *upload {
	u := &upload{t: t, folder: f, have: map[[sha256.Size]byte]entry{}, read: map[string]*known{},
		places: map[[sha256.Size]byte]int64{}}
	u.group, u.ctx = errgroup.WithContext(ctx)
	u.group.SetLimit(atOnce)
	for _, k := range i.Files {
		if k.Entry.Object != "" {
			u.have[k.Entry.Hash] = k.Entry
		}
	}
	return u
}

// close waits for pending uploads.
func (u *upload) close() error {
	u.group.Wait() //nolint:errcheck // finish has told
	return nil
}

// add reads a name. Deleted and unreadable files are skipped.
func (u *upload) add(name string, f found) error {
	if u.ctx.Err() != nil {
		return u.group.Wait()
	}
	k := &known{Entry: entry{Kind: f.kind, Mode: f.mode, Size: f.stat.Size, Time: f.stat.Modified}, Stat: f.stat}
	var err error
	switch f.kind {
	case kindLink:
		k.Entry.Link, err = u.folder.user.Readlink(name)
	case kindFile:
		err = u.content(name, k)
	}
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, fs.ErrPermission) || errors.Is(err, files.ErrNotRegular) {
		return nil
	}
	if err == nil {
		u.read[name] = k
	}
	return err
}

// content stores the content of a file.
func (u *upload) content(name string, k *known) (err error) {
	file, err := u.folder.user.OpenFile(name, os.O_RDONLY|readFlags, 0)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	info, err := file.Stat()
	if err != nil {
		return err
	}
	if !info.Mode().IsRegular() {
		return files.ErrNotRegular
	}
	if info.Size() > small {
		return u.large(file, k)
	}
	data, err := io.ReadAll(io.LimitReader(file, small+1))
	if err != nil {
		return err
	}
	k.Entry.Size, k.Entry.Hash = int64(len(data)), sha256.Sum256(data)
	if len(data) == 0 || u.has(k) {
		return nil
	}
	k.Entry.Offset = int64(len(u.pack))
	u.places[k.Entry.Hash] = k.Entry.Offset
	u.pack = append(u.pack, data...)
	u.packed = append(u.packed, k)
	if len(u.pack) >= packSize {
		return u.flush()
	}
	return nil
}

// has reports whether and where a content is stored.
func (u *upload) has(k *known) bool {
	if at, ok := u.places[k.Entry.Hash]; ok { // in an object without a name yet
		k.Entry.Offset = at
		u.packed = append(u.packed, k)
		return true
	}
	e, ok := u.have[k.Entry.Hash]
	if ok {
		k.Entry.Object, k.Entry.Offset = e.Object, e.Offset
	}
	return ok
}

// flush stores the pack.
func (u *upload) flush() error {
	if len(u.pack) == 0 {
		return nil
	}
	data, sum := u.pack, sha256.Sum256(u.pack)
	name := objectName(sum)
	for _, k := range u.packed {
		k.Entry.Object = name
		u.have[k.Entry.Hash] = k.Entry
	}
	u.pack, u.packed = nil, nil
	clear(u.places)
	return u.send(name, bytes.NewReader(data), int64(len(data)), sum, nil)
}

// large stores a file as its own object, from a private copy.
func (u *upload) large(file *os.File, k *known) error {
	temp := "put-" + rand.Text() + ".part"
	out, err := u.folder.base.OpenFile(temp, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	done := func() error { return errors.Join(out.Close(), u.folder.base.Remove(temp)) }
	h := sha256.New()
	n, err := io.Copy(io.MultiWriter(out, h), file)
	if err != nil {
		return errors.Join(err, done())
	}
	k.Entry.Size, k.Entry.Hash = n, [sha256.Size]byte(h.Sum(nil))
	if u.has(k) {
		return done()
	}
	k.Entry.Object = objectName(k.Entry.Hash)
	u.have[k.Entry.Hash] = k.Entry
	return u.send(k.Entry.Object, out, n, k.Entry.Hash, done)
}

// objectName returns a new one for a content.
func objectName(sum [sha256.Size]byte) string {
	hash := hex.EncodeToString(sum[:])
	return hash[:2] + "/" + hash + "-" + strings.ToLower(rand.Text()[:8])
}

func (u *upload) send(name string, r io.ReadSeeker, size int64, sum [sha256.Size]byte, done func() error) error {
	u.group.Go(func() (err error) {
		if done != nil {
			defer func() { err = errors.Join(err, done()) }()
		}
		if err := u.t.cfg.DB.PutObjects(u.ctx, []string{name}); err != nil {
			return err
		}
		if err := u.t.cfg.Objects.Put(u.ctx, name, r, size, sum); err != nil {
			return fmt.Errorf("%w: %w", ErrObjects, err)
		}
		return nil
	})
	return nil
}

func (u *upload) finish() error { return errors.Join(u.flush(), u.group.Wait()) }
