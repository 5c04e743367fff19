package clusterstate

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"
)

const folderTime = time.Minute // limit of transferring one change

// Folder mirrors units, which are files or folders, between rows and a folder of this server; the rows are
// authoritative. The caller must not change units during Pull and Push.
type Folder struct {
	Rows  *Rows
	Name  string          // prefix of its documents' names
	Root  func() string   // the folder
	Units func() []string // existing ones, with slashes
	Log   *slog.Logger

	mu   sync.Mutex
	have map[string]int64 // versions of the folder's content, by unit
}

func (f *Folder) doc(unit string) string { return f.Name + "/" + unit }

// Start uploads the folder's content if no server has yet, and makes the folder equal to the rows. Content missing from
// the rows is moved aside.
func (f *Folder) Start(ctx context.Context) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.have = map[string]int64{}
	if err := sweep(f.Root()); err != nil {
		return fmt.Errorf("remove unfinished parts of %s: %w", f.Name, err)
	}
	if err := f.publish(ctx); err != nil {
		return fmt.Errorf("publish %s to the other servers: %w", f.Name, err)
	}
	aside := path.Join(".replaced", time.Now().UTC().Format("20060102T150405.000"))
	for _, unit := range f.Units() {
		m, err := readUnit(f.Root(), unit)
		if err != nil {
			return fmt.Errorf("compare %s with the other servers: %w", unit, err)
		}
		d := f.Rows.Get(f.doc(unit))
		if d.Body != nil && m.is(d.Body) {
			f.have[unit] = d.Version
			continue
		}
		f.Log.Warn("local copy differs from the cluster's; moved it aside", "path", unit, "aside", aside)
		if err := putAside(f.Root(), unit, path.Join(aside, unit)); err != nil {
			return fmt.Errorf("move %s aside: %w", unit, err)
		}
	}
	return f.pull(ctx)
}

// publish uploads all units once for all servers.
func (f *Folder) publish(ctx context.Context) error {
	mark := Doc{Name: "brought/" + f.Name, Body: []byte("1")}
	if f.Rows.Get(mark.Name).Version > 0 {
		return nil
	}
	docs := []Doc{mark}
	for _, unit := range f.Units() {
		m, err := readUnit(f.Root(), unit)
		if err != nil {
			return err
		}
		body, err := f.store(ctx, m)
		if err != nil {
			return err
		}
		docs = append(docs, Doc{Name: f.doc(unit), Version: f.Rows.Get(f.doc(unit)).Version, Body: body})
	}
	err := f.Rows.Put(ctx, docs...)
	if errors.Is(err, ErrChanged) {
		return nil // another server was first
	}
	return err
}

// store writes the parts of a unit and returns its document.
func (f *Folder) store(ctx context.Context, m unit) ([]byte, error) {
	for _, file := range m.Files {
		for i, hash := range file.Parts {
			if err := f.Rows.db.PutPart(ctx, hash, file.part(i)); err != nil {
				return nil, err
			}
		}
	}
	return json.Marshal(m)
}

// Changes reports whether some of these documents belong to this folder.
func (f *Folder) Changes(names []string) bool {
	return slices.ContainsFunc(names, func(name string) bool { return strings.HasPrefix(name, f.Name+"/") })
}

// Pull makes the folder match the rows.
func (f *Folder) Pull() error {
	ctx, cancel := context.WithTimeout(context.Background(), folderTime)
	defer cancel()
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.pull(ctx)
}

func (f *Folder) pull(ctx context.Context) error {
	names := map[string]bool{}
	for _, name := range f.Rows.Names(f.Name + "/") {
		names[strings.TrimPrefix(name, f.Name+"/")] = true
	}
	for unit := range f.have {
		names[unit] = true // it may be gone
	}
	var all error
	for _, unit := range slices.Sorted(maps.Keys(names)) {
		if d := f.Rows.Get(f.doc(unit)); d.Version != f.have[unit] {
			if err := f.fetch(ctx, unit, d); err != nil {
				all = errors.Join(all, fmt.Errorf("fetch %s from another server: %w", unit, err))
			}
		}
	}
	return all
}

// fetch creates a unit as described by a document.
func (f *Folder) fetch(ctx context.Context, name string, d Doc) error {
	if !filepath.IsLocal(filepath.FromSlash(name)) {
		return errors.New("its name is outside the folder")
	}
	if d.Body == nil {
		if err := dropUnit(f.Root(), name); err != nil {
			return err
		}
		f.have[name] = d.Version
		return nil
	}
	var m unit
	if err := json.Unmarshal(d.Body, &m); err != nil {
		return err
	}
	err := writeUnit(f.Root(), name, m, func(hash string) ([]byte, error) { return f.Rows.db.Part(ctx, hash) })
	if err == nil {
		f.have[name] = d.Version
	}
	return err
}

// Push uploads units from the folder. A unit that another server changed meanwhile, or that can't be written, is
// reverted, and the error reports it; ErrChanged for the former.
func (f *Folder) Push(units ...string) error {
	ctx, cancel := context.WithTimeout(context.Background(), folderTime)
	defer cancel()
	f.mu.Lock()
	defer f.mu.Unlock()
	var docs []Doc
	var err error
	for _, name := range units {
		var m unit
		d := Doc{Name: f.doc(name), Version: f.have[name]}
		if m, err = readUnit(f.Root(), name); err != nil {
			break
		}
		if m.Files != nil {
			if d.Body, err = f.store(ctx, m); err != nil {
				break
			}
		} else if d.Version == 0 {
			continue // it never existed
		}
		docs = append(docs, d)
	}
	old := f.bodies(units)
	if err == nil && len(docs) > 0 {
		err = f.Rows.Put(ctx, docs...)
	}
	if err == nil {
		for _, d := range docs {
			f.have[strings.TrimPrefix(d.Name, f.Name+"/")] = d.Version + 1
		}
		return f.dropParts(ctx, old)
	}
	for _, name := range units {
		if back := f.fetch(ctx, name, f.Rows.Get(f.doc(name))); back != nil {
			f.Log.Error("couldn't restore a local copy after a failed upload", "path", name, "err", back)
		}
	}
	return err
}

func (f *Folder) bodies(units []string) (list [][]byte) {
	for _, name := range units {
		list = append(list, f.Rows.Get(f.doc(name)).Body)
	}
	return list
}

// dropParts deletes the parts of replaced content unless they are still in use.
func (f *Folder) dropParts(ctx context.Context, old [][]byte) error {
	gone := map[string]bool{}
	for _, body := range old {
		for _, hash := range partsOf(body) {
			gone[hash] = true
		}
	}
	if len(gone) == 0 {
		return nil
	}
	for _, name := range f.Rows.Names("") {
		for _, hash := range partsOf(f.Rows.Get(name).Body) {
			delete(gone, hash)
		}
	}
	return f.Rows.db.DropParts(ctx, slices.Sorted(maps.Keys(gone))...)
}
