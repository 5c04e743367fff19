package filestore

import (
	"bytes"
	"compress/flate"
	"crypto/sha256"
	"encoding/gob"
	"errors"
	"io"
	"io/fs"
	"maps"
	"os"
	"path"
	"slices"
	"strings"
)

// The folders of a thread, the ones most likely wanted first.
var tops = []string{"outputs", "uploads", "workspace"}

const (
	kindFile byte = iota + 1
	kindDir
	kindLink
)

// maxBody limits the declared unpacked size of a body.
const maxBody = 1 << 30

// entry is a name in a version.
type entry struct {
	Kind   byte
	Mode   uint32 // permissions
	Size   int64
	Time   int64 // last content change; it alone makes no new version
	Hash   [sha256.Size]byte
	Object string // object with the content, "" for none
	Offset int64  // in the object
	Link   string
}

// same reports whether two entries are equal for users of the files.
func (e entry) same(o entry) bool {
	return e.Kind == o.Kind && e.Mode == o.Mode && e.Size == o.Size && e.Hash == o.Hash && e.Link == o.Link
}

// manifest is all names of a version, without the folders of a thread themselves.
type manifest map[string]entry

// change is the change of one name.
type change struct {
	Path  string
	Gone  bool
	Entry entry
}

// body is the stored form of a version.
type body struct{ Changes []change }

func (b body) pack() ([]byte, error) {
	var out bytes.Buffer
	z, err := flate.NewWriter(&out, flate.DefaultCompression)
	if err != nil {
		return nil, err
	}
	if err := gob.NewEncoder(z).Encode(b); err != nil {
		return nil, err
	}
	err = z.Close()
	return out.Bytes(), err
}

func unpack(data []byte) (b body, err error) {
	z := flate.NewReader(bytes.NewReader(data))
	defer z.Close()
	err = gob.NewDecoder(io.LimitReader(z, maxBody)).Decode(&b)
	return b, err
}

// apply applies the changes of b. Impossible names are skipped.
func (m manifest) apply(b body) {
	for _, c := range b.Changes {
		switch {
		case !proper(c.Path):
		case c.Gone:
			delete(m, c.Path)
		default:
			m[c.Path] = c.Entry
		}
	}
}

// whole returns m as one body.
func (m manifest) whole() (b body) {
	for _, name := range slices.Sorted(maps.Keys(m)) {
		b.Changes = append(b.Changes, change{Path: name, Entry: m[name]})
	}
	return b
}

// objects returns the objects named by b.
func (b body) objects() []string {
	seen := map[string]bool{}
	for _, c := range b.Changes {
		if c.Entry.Object != "" {
			seen[c.Entry.Object] = true
		}
	}
	return slices.Sorted(maps.Keys(seen))
}

// proper reports whether a name is below one of a thread's folders.
func proper(name string) bool {
	top, rest, ok := strings.Cut(name, "/")
	return ok && rest != "" && slices.Contains(tops, top) && path.Clean(name) == name && !strings.Contains(name, "\x00")
}

// stat is a file's observed state.
type stat struct {
	Inode                   uint64
	Size, Modified, Changed int64
}

// known is an entry as stored in the folder. Without a stat it must be read again.
type known struct {
	Entry entry
	Stat  stat
}

// index is the content of a thread's folder, with its version.
type index struct {
	Version int64
	At      int64 // start time of taking it
	Files   map[string]known
	Since   int64 // bytes of the versions since the last whole one
	Whole   int64 // bytes of that
	there   bool  // it was read
}

const indexName = "tree"

// loadIndex reads a thread's index. An unreadable one counts as none.
func loadIndex(base *os.Root) *index {
	i := &index{}
	data, err := base.ReadFile(indexName)
	if err == nil && gob.NewDecoder(bytes.NewReader(data)).Decode(i) == nil {
		i.there = true
	} else {
		i = &index{}
	}
	if i.Files == nil {
		i.Files = map[string]known{}
	}
	return i
}

func (i *index) save(base *os.Root) error {
	var b bytes.Buffer
	if err := gob.NewEncoder(&b).Encode(i); err != nil {
		return err
	}
	if err := base.WriteFile(indexName+".part", b.Bytes(), 0o600); err != nil {
		return errors.Join(err, base.RemoveAll(indexName+".part"))
	}
	i.there = true
	return base.Rename(indexName+".part", indexName)
}

func (i *index) manifest() manifest {
	m := make(manifest, len(i.Files))
	for name, k := range i.Files {
		m[name] = k.Entry
	}
	return m
}

func kindOf(mode fs.FileMode) (byte, bool) {
	switch {
	case mode.IsRegular():
		return kindFile, true
	case mode.IsDir():
		return kindDir, true
	case mode&fs.ModeSymlink != 0:
		return kindLink, true
	}
	return 0, false
}
