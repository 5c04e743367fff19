package clusterstate

import (
	"bytes"
	"cmp"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
)

const (
	inlineFile = 16 << 10  // size limit of files embedded in the document
	partSize   = 1 << 20   // bytes of a piece of a larger one
	maxUnit    = 512 << 20 // bytes of all files of a unit
)

// unit is a file or a folder with all that is in it. A file's only name is "".
type unit struct {
	Files []unitFile `json:"files"` // nil if missing
}

type unitFile struct {
	Name  string   `json:"name"`
	Run   bool     `json:"run,omitempty"` // can be executed
	Size  int64    `json:"size"`
	Text  []byte   `json:"text,omitempty"`  // the content, or
	Parts []string `json:"parts,omitempty"` // hashes of its pieces

	at string // its folder
}

// part reads a piece again; if it changed meanwhile, its hash differs, which the caller detects.
func (u *unitFile) part(i int) []byte {
	f, err := os.Open(u.at)
	if err != nil {
		return nil
	}
	defer f.Close()
	b := make([]byte, min(partSize, u.Size-int64(i)*partSize))
	if _, err := f.ReadAt(b, int64(i)*partSize); err != nil {
		return nil
	}
	return b
}

// is reports whether a document has the same content.
func (u unit) is(body []byte) bool {
	mine, err := json.Marshal(u)
	return err == nil && bytes.Equal(mine, body)
}

func partsOf(body []byte) (hashes []string) {
	var m unit
	if body == nil || json.Unmarshal(body, &m) != nil {
		return nil
	}
	for _, f := range m.Files {
		hashes = append(hashes, f.Parts...)
	}
	return hashes
}

// readUnit reads a unit below root.
func readUnit(root, name string) (u unit, err error) {
	top := filepath.Join(root, filepath.FromSlash(name))
	info, err := os.Lstat(top)
	if errors.Is(err, fs.ErrNotExist) {
		return u, nil
	}
	if err != nil {
		return u, err
	}
	u.Files = []unitFile{}
	if !info.IsDir() {
		f, err := readFile(top, "")
		u.Files = append(u.Files, f)
		return u, err
	}
	var total int64
	err = filepath.WalkDir(top, func(at string, e fs.DirEntry, err error) error {
		if err != nil || !e.Type().IsRegular() {
			return err // links and the like are not part of it
		}
		rel, err := filepath.Rel(top, at)
		if err != nil {
			return err
		}
		f, err := readFile(at, filepath.ToSlash(rel))
		if total += f.Size; total > maxUnit {
			return fmt.Errorf("it has more than %d MiB", maxUnit>>20)
		}
		u.Files = append(u.Files, f)
		return err
	})
	return u, err
}

func readFile(at, name string) (u unitFile, err error) {
	f, err := os.Open(at)
	if err != nil {
		return u, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return u, err
	}
	u = unitFile{Name: name, Run: info.Mode()&0o100 != 0, Size: info.Size(), at: at}
	buf := make([]byte, min(partSize, u.Size))
	for off := int64(0); off < u.Size; off += partSize {
		b := buf[:min(partSize, u.Size-off)]
		if _, err := f.ReadAt(b, off); err != nil {
			return u, err
		}
		if u.Size <= inlineFile {
			u.Text = bytes.Clone(b)
			break
		}
		sum := sha256.Sum256(b)
		u.Parts = append(u.Parts, hex.EncodeToString(sum[:]))
	}
	return u, nil
}

// halfway is the folder for units being created or removed.
const halfway = ".halfway"

// writeUnit makes a unit below root equal to u. Files and new folders appear atomically; an existing folder, which may
// be in use, is updated file by file, and files missing from u are removed.
func writeUnit(root, name string, u unit, part func(hash string) ([]byte, error)) (err error) {
	if err := os.MkdirAll(root, 0o700); err != nil {
		return err
	}
	r, err := os.OpenRoot(root)
	if err != nil {
		return err
	}
	defer r.Close()
	to := name
	_, err = r.Lstat(name)
	isFile := slices.ContainsFunc(u.Files, func(f unitFile) bool { return f.Name == "" })
	isNew := errors.Is(err, fs.ErrNotExist) && !isFile
	if isNew {
		to = path.Join(halfway, rand.Text())
		defer func() { err = errors.Join(err, r.RemoveAll(halfway)) }()
	}
	keep := map[string]bool{}
	for _, f := range u.Files {
		at := path.Join(to, f.Name)
		if !filepath.IsLocal(filepath.FromSlash(at)) || at != to && !strings.HasPrefix(at, to+"/") {
			return errors.New("a name is outside the folder")
		}
		if err := writeFile(r, at, f, part); err != nil {
			return err
		}
		keep[at] = true
	}
	if keep[name] {
		return nil
	}
	if err := r.MkdirAll(to, 0o700); err != nil {
		return err
	}
	if isNew {
		return move(r, to, name)
	}
	return removeOthers(r, name, keep)
}

func writeFile(r *os.Root, at string, u unitFile, part func(hash string) ([]byte, error)) (err error) {
	if err := r.MkdirAll(path.Dir(at), 0o700); err != nil {
		return err
	}
	mode := fs.FileMode(0o600)
	if u.Run {
		mode = 0o700
	}
	temp := path.Join(path.Dir(at), "."+path.Base(at)+"."+rand.Text())
	f, err := r.OpenFile(temp, os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode)
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, r.Remove(temp))
		}
	}()
	_, err = f.Write(u.Text)
	for _, hash := range u.Parts {
		if err != nil {
			break
		}
		var b []byte
		if b, err = part(hash); err == nil {
			if sum := sha256.Sum256(b); hex.EncodeToString(sum[:]) != hash {
				err = fmt.Errorf("part %s doesn't match its hash", hash)
			} else {
				_, err = f.Write(b)
			}
		}
	}
	err = cmp.Or(err, f.Sync())
	err = cmp.Or(err, f.Close())
	if err == nil {
		err = r.Rename(temp, at)
	}
	return err
}

// removeOthers removes the files of a folder that are not to be kept, and folders that are empty then.
func removeOthers(r *os.Root, dir string, keep map[string]bool) error {
	var gone, dirs []string
	err := fs.WalkDir(r.FS(), dir, func(at string, e fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case !e.IsDir() && !keep[at]:
			gone = append(gone, at)
		case e.IsDir() && at != dir:
			dirs = append(dirs, at)
		}
		return nil
	})
	for _, at := range gone {
		err = errors.Join(err, r.Remove(at))
	}
	for _, at := range slices.Backward(dirs) {
		if list, readErr := fs.ReadDir(r.FS(), at); readErr == nil && len(list) == 0 {
			err = errors.Join(err, r.Remove(at))
		}
	}
	return err
}

// dropUnit removes a unit below root atomically.
func dropUnit(root, name string) error {
	if err := putAside(root, name, path.Join(halfway, rand.Text())); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return sweep(root)
}

// sweep empties halfway, including leftovers of a killed server.
func sweep(root string) error {
	r, err := os.OpenRoot(root)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer r.Close()
	return r.RemoveAll(halfway)
}

// putAside moves a unit to another place below root.
func putAside(root, name, to string) error {
	r, err := os.OpenRoot(root)
	if err != nil {
		return err
	}
	defer r.Close()
	return move(r, name, to)
}

// move also creates the target's folder.
func move(r *os.Root, from, to string) error {
	if err := r.MkdirAll(path.Dir(to), 0o700); err != nil {
		return err
	}
	return r.Rename(from, to)
}
