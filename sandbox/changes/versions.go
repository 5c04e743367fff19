package changes

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"slices"
	"strconv"
	"time"

	"fawn/sandbox/files"
)

const (
	journalName = "journal"
	// MaxVersion limits the content of a version, in bytes.
	MaxVersion = 4 << 20

	maxJournal  = 1 << 20 // bytes; beyond it the older half is removed
	maxVersions = 100     // limit of listed versions per file
)

// Authors of a version besides tool names.
const (
	ByPerson  = "person"  // a person edited the file on a page
	ByRestore = "restore" // a person restored an earlier version
)

// By is the author of a version. It is empty for changes found later, for instance by background processes.
type By struct {
	Run  string `json:"run,omitempty"`
	Call string `json:"call,omitempty"` // id of the tool's call
	Tool string `json:"tool,omitempty"` // or one of the constants
}

// Version is an earlier or current content of a file in [files.Outputs].
type Version struct {
	ID     string // id of the file's versions
	Number int    // version number from 1, never reused
	At     time.Time
	Size   int64
	Hash   string
	Kept   bool // its content is stored
	By
}

// entry is a line of the journal: a version or, without a hash, the note that a later read found the version with the same
// time unchanged.
type entry struct {
	Path     string `json:"path"`
	At       int64  `json:"at"`             // nanoseconds
	Read     int64  `json:"read,omitempty"` // when it was read last, if later
	Number   int    `json:"n,omitempty"`
	Size     int64  `json:"size"`
	Hash     string `json:"hash,omitempty"`
	Modified int64  `json:"modified"`
	Changed  int64  `json:"changed"`
	Inode    uint64 `json:"inode"`
	By
}

// sameStat reports whether a file still has the recorded attributes. Its content may differ within the timestamps'
// resolution.
func (e entry) sameStat(f files.Entry) bool {
	return e.Size == f.Size && e.Modified == f.Modified.UnixNano() && e.Changed == f.Changed.UnixNano() && e.Inode == f.Inode &&
		e.Changed < max(e.At, e.Read)-coarse
}

// Note adds changes in [files.Outputs] since the last call to the files' versions.
func (h History) Note(ctx context.Context, thread string, by By) (err error) {
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
	return w.note(ctx, by)
}

// note is Note on an open thread.
func (w *work) note(ctx context.Context, by By) error {
	if w.files == nil {
		return nil
	}
	list, size := w.journal()
	last := map[string]entry{}
	for _, e := range list {
		last[e.Path] = e
	}
	var lines bytes.Buffer
	left := int64(maxReading)
	now := time.Now().UnixNano()
	err := w.files.Walk(ctx, files.Outputs, files.WalkOptions{}, func(f files.Entry) error {
		old, known := last[f.Path]
		if f.Dir || f.Link || len(f.Path) > maxPath || sensitive(f.Path) || f.Size > maxHashed || f.Size > left || known && old.sameStat(f) {
			return context.Cause(ctx)
		}
		data, err := w.files.ReadFile(ctx, f.Path, maxHashed)
		if err != nil { // deleted, unreadable, or grown meanwhile
			return context.Cause(ctx)
		}
		left -= int64(len(data))
		sum := sha256.Sum256(data)
		e := entry{Path: f.Path, At: now, Size: int64(len(data)), Hash: hex.EncodeToString(sum[:]), Modified: f.Modified.UnixNano(),
			Changed: f.Changed.UnixNano(), Inode: f.Inode, By: by}
		if known && old.Hash == e.Hash {
			if e.Changed >= now-coarse { // it may still change with these times
				return context.Cause(ctx)
			}
			e = entry{Path: e.Path, At: old.At, Read: now, Size: e.Size, Modified: e.Modified, Changed: e.Changed, Inode: e.Inode}
		} else {
			e.Number = old.Number + 1
			if len(data) <= MaxVersion {
				w.keep(ctx, e.Hash, data)
			}
		}
		line, err := json.Marshal(e)
		if err != nil {
			return err
		}
		lines.Write(append(line, '\n'))
		return context.Cause(ctx)
	})
	if err != nil && !errors.Is(err, files.ErrLimit) && !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, files.ErrNotDir) {
		return fmt.Errorf("note versions of files: %w", err)
	}
	if lines.Len() == 0 {
		return nil
	}
	w.evict()
	return w.append(lines.Bytes(), size)
}

// journal reads all versions; lines that can't be read are left out.
func (w *work) journal() (list []entry, size int) {
	data, err := w.kept.ReadFile(journalName)
	if err != nil {
		return nil, 0
	}
	lines := bufio.NewScanner(bytes.NewReader(data))
	lines.Buffer(nil, len(data)+1)
	last := map[string]int{} // version of each file
	for lines.Scan() {
		var e entry
		if json.Unmarshal(lines.Bytes(), &e) != nil || e.Path == "" {
			continue
		}
		i, known := last[e.Path]
		switch {
		case e.Hash != "":
			if e.Number == 0 && known { // written by a program that didn't number versions
				e.Number = list[i].Number
			}
			if e.Number == 0 || known && e.Number <= list[i].Number {
				e.Number++
			}
			last[e.Path] = len(list)
			list = append(list, e)
		case known && list[i].At == e.At:
			v := &list[i]
			v.Read, v.Size, v.Modified, v.Changed, v.Inode = e.Read, e.Size, e.Modified, e.Changed, e.Inode
		}
	}
	return list, len(data)
}

// append adds lines to the journal, whose size is given. A journal that gets too long is compacted, and loses its oldest
// lines if it still exceeds half of the limit.
func (w *work) append(lines []byte, size int) error {
	if size+len(lines) <= maxJournal {
		file, err := w.kept.OpenFile(journalName, os.O_WRONLY|os.O_APPEND|os.O_CREATE, 0o600)
		if err != nil {
			return err
		}
		_, err = file.Write(lines)
		return errors.Join(err, file.Close())
	}
	var data []byte
	list, _ := w.journal() // in which later readings of unchanged files are one with their version
	for _, e := range list {
		line, err := json.Marshal(e)
		if err != nil {
			return err
		}
		data = append(append(data, line...), '\n')
	}
	data = append(data, lines...)
	if old := len(data) - maxJournal/2; old > 0 {
		data = data[old:]
		data = data[bytes.IndexByte(data, '\n')+1:]
	}
	return write(w.kept, journalName, data)
}

// Versions returns the versions of a file, newest first. A thread without recorded changes has none.
func (h History) Versions(thread, name string) (list []Version, err error) {
	w, err := h.open(thread)
	if w == nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, w.close()) }()
	all, _ := w.journal()
	for _, e := range all {
		if e.Path != name {
			continue
		}
		v := Version{ID: strconv.FormatInt(e.At, 36), Number: e.Number, At: time.Unix(0, e.At).UTC(), Size: e.Size, Hash: e.Hash, By: e.By}
		_, err := w.kept.Stat(e.Hash)
		v.Kept = err == nil
		list = append(list, v)
	}
	slices.SortStableFunc(list, func(a, b Version) int { return cmp.Compare(b.At.UnixNano(), a.At.UnixNano()) })
	return list[:min(len(list), maxVersions)], nil
}

// Content returns a version of a file with its description. Errors: fs.ErrNotExist for an unknown or unstored version.
func (h History) Content(thread, name, id string) (data []byte, v Version, err error) {
	list, err := h.Versions(thread, name)
	if err != nil {
		return nil, v, err
	}
	i := slices.IndexFunc(list, func(v Version) bool { return v.ID == id })
	if i < 0 || !isHash(list[i].Hash) {
		return nil, v, fmt.Errorf("version %.20q of %s: %w", id, path.Base(name), fs.ErrNotExist)
	}
	kept, err := h.dirs.Versions(thread)
	if err != nil {
		return nil, v, err
	}
	data, err = kept.ReadFile(list[i].Hash)
	return data, list[i], errors.Join(err, kept.Close())
}

func isHash(s string) bool {
	_, err := hex.DecodeString(s)
	return err == nil && len(s) == 2*sha256.Size
}

// Restore makes a version of a file in [files.Outputs] the current one. The present content is kept as a version.
// Errors: fs.ErrNotExist for an unknown or unstored version, and those of [files.Files.WriteFile].
func (h History) Restore(ctx context.Context, thread, name, id string) (err error) {
	data, _, err := h.Content(thread, name, id)
	if err != nil {
		return err
	}
	if err := h.Note(ctx, thread, By{}); err != nil {
		return err
	}
	dir, err := h.dirs.Open(thread)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, dir.Close()) }()
	if err := dir.WriteFile(ctx, name, data, false); err != nil {
		return err
	}
	if err := h.dirs.Save(ctx, thread); err != nil {
		return err
	}
	return h.Note(ctx, thread, By{Tool: ByRestore})
}

// keep stores a version unless it exists or exceeds the thread's quota. Without it, the change is still listed, without
// its lines.
func (w *work) keep(ctx context.Context, hash string, data []byte) {
	now := time.Now()
	if w.kept.Chtimes(hash, now, now) == nil { // it is in use again, so it should be removed later
		return
	}
	size := int64(len(data))
	room, err := w.files.Room(ctx)
	if err != nil || room < size || w.files.Spend(ctx, size) != nil {
		return
	}
	if write(w.kept, hash, data) == nil {
		w.more = true
	}
}

// evict removes the oldest versions of a thread with too many. Failures are retried with the next run.
func (w *work) evict() {
	if !w.more {
		return
	}
	dir, err := w.kept.Open(".")
	if err != nil {
		return
	}
	defer dir.Close()
	entries, err := dir.ReadDir(-1)
	if err != nil {
		return
	}
	var list []fs.FileInfo
	var sum int64
	for _, e := range entries {
		if info, err := e.Info(); err == nil && len(e.Name()) == 64 {
			list, sum = append(list, info), sum+info.Size()
		}
	}
	slices.SortFunc(list, func(a, b fs.FileInfo) int {
		return cmp.Or(a.ModTime().Compare(b.ModTime()), cmp.Compare(a.Name(), b.Name()))
	})
	for n := len(list); n > 0 && (sum > w.cap || n > maxCount); n-- {
		oldest := list[len(list)-n]
		if w.kept.Remove(oldest.Name()) != nil {
			return
		}
		sum -= oldest.Size()
	}
}
