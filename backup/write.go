package backup

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"fawn/store"
)

// Options configure a backup.
type Options struct {
	Dir     string            // data folder
	Extra   map[string]string // files stored elsewhere, by their name in the data folder
	Skip    string            // folder of backups, left out
	Secrets bool              // also files with keys, and configurations as they are
	// Clean removes the secrets from a configuration; nil omits the file.
	Clean   func(name string, data []byte) ([]byte, error)
	Program string // version
}

// Result describes the written backup.
type Result struct {
	Manifest
	Path string
	Size int64    // bytes of the file
	Left []string // files that could not be read, each with the reason; the first hundred
}

// maxLeft limits Result.Left.
const maxLeft = 100

// Write writes the backup to path, which must not exist. It appears once it is complete.
func Write(ctx context.Context, path string, o Options) (r Result, err error) {
	if _, err := os.Lstat(path); err == nil {
		return r, fmt.Errorf("back up to %s: %w", path, fs.ErrExist)
	}
	temp, err := os.MkdirTemp(filepath.Dir(path), ".fawn-backup-*")
	if err != nil {
		return r, fmt.Errorf("back up: %w", err)
	}
	defer func() { err = errors.Join(err, os.RemoveAll(temp)) }()
	w := &writer{ctx: ctx, Options: o, temp: temp}
	w.Result = Result{Path: path, Manifest: Manifest{Format: format, Program: o.Program, Created: time.Now().UTC(),
		Secrets: o.Secrets}}
	if err := w.all(filepath.Join(temp, "all")); err != nil {
		return r, fmt.Errorf("back up %s: %w", o.Dir, err)
	}
	info, err := os.Stat(filepath.Join(temp, "all"))
	if err != nil {
		return r, err
	}
	w.Size = info.Size()
	return w.Result, os.Rename(filepath.Join(temp, "all"), path)
}

// writer is a backup being made.
type writer struct {
	ctx context.Context
	Options
	Result
	temp string
	root *os.Root
	db   *store.Copied
	tar  *tar.Writer
	sums *os.File
}

func (w *writer) all(to string) (err error) {
	if w.root, err = os.OpenRoot(w.Dir); err != nil {
		return err
	}
	defer w.root.Close()
	copied := filepath.Join(w.temp, store.FileName)
	if err := store.Copy(w.ctx, w.Dir, copied); err != nil {
		return err
	}
	if w.db, err = store.OpenCopied(w.ctx, copied); err != nil {
		return err
	}
	defer w.db.Close()
	if w.db.Problem != "" {
		return fmt.Errorf("the database is damaged: %s. fawn fsck looks into it", w.db.Problem)
	}
	w.Schema, w.Threads = w.db.Schema, w.db.Threads
	if w.sums, err = os.Create(filepath.Join(w.temp, sumsName)); err != nil {
		return err
	}
	defer w.sums.Close()
	out, err := os.OpenFile(to, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	defer out.Close()
	zip, err := gzip.NewWriterLevel(out, gzip.BestSpeed)
	if err != nil {
		return err
	}
	w.tar = tar.NewWriter(zip)
	if err := w.contents(copied); err != nil {
		return err
	}
	return errors.Join(w.tar.Close(), zip.Close(), out.Sync(), out.Close())
}

func (w *writer) contents(database string) error {
	f, err := os.Open(database)
	if err != nil {
		return err
	}
	err = errors.Join(w.file(store.FileName, f), f.Close())
	if err != nil {
		return err
	}
	w.Files = 0 // it doesn't count itself
	if err := w.folder("."); err != nil {
		return err
	}
	for name, from := range w.Extra {
		if _, err := w.root.Lstat(name); err == nil {
			continue
		}
		b, err := os.ReadFile(from)
		if err != nil {
			w.leave(name, err)
		} else if err := w.config(name, b); err != nil {
			return err
		}
	}
	info, err := w.sums.Stat()
	if err != nil {
		return err
	}
	if _, err := w.sums.Seek(0, io.SeekStart); err != nil {
		return err
	}
	err = w.tar.WriteHeader(&tar.Header{Name: sumsName, Size: info.Size(), Mode: 0o600, ModTime: w.Created})
	if err != nil {
		return err
	}
	if _, err := io.Copy(w.tar, w.sums); err != nil {
		return err
	}
	b, err := json.MarshalIndent(w.Manifest, "", "  ")
	if err != nil {
		return err
	}
	b = append(b, '\n')
	err = w.tar.WriteHeader(&tar.Header{Name: manifestName, Size: int64(len(b)), Mode: 0o600, ModTime: w.Created})
	if err == nil {
		_, err = w.tar.Write(b)
	}
	return err
}

// leave records a file omitted from the backup.
func (w *writer) leave(name string, err error) {
	if len(w.Left) < maxLeft {
		w.Left = append(w.Left, fmt.Sprintf("%s: %v", name, err))
	}
}

// folder adds the content of a folder below the data folder. Entries deleted meanwhile are skipped.
func (w *writer) folder(name string) error {
	dir, err := w.root.Open(name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		w.leave(name, err)
		return nil
	}
	defer dir.Close()
	for {
		entries, err := dir.ReadDir(256)
		for _, e := range entries {
			if err := w.entry(path.Join(name, e.Name()), e); err != nil {
				return err
			}
		}
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			w.leave(name, err)
			return nil
		}
	}
}

func (w *writer) entry(name string, e fs.DirEntry) error {
	if err := context.Cause(w.ctx); err != nil {
		return err
	}
	switch kind(name, e.IsDir()) {
	case passing:
		return nil
	case secret:
		if !w.Secrets {
			return nil
		}
	case configuration:
		if !w.Secrets {
			b, err := w.root.ReadFile(name)
			if err != nil {
				w.leave(name, err)
				return nil
			}
			return w.config(name, b)
		}
	case thread:
		known, err := w.db.Has(w.ctx, path.Base(name))
		if err != nil || !known {
			return err
		}
	}
	switch {
	case e.IsDir():
		if w.Skip != "" && filepath.Join(w.Dir, filepath.FromSlash(name)) == w.Skip {
			return nil
		}
		info, err := e.Info()
		if err != nil {
			return nil
		}
		err = w.tar.WriteHeader(&tar.Header{Typeflag: tar.TypeDir, Name: dataPrefix + name + "/",
			Mode: int64(info.Mode().Perm()), ModTime: info.ModTime()})
		if err != nil {
			return err
		}
		return w.folder(name)
	case e.Type() == fs.ModeSymlink:
		to, err := w.root.Readlink(name)
		if err == nil && !inThread(name) {
			err = errors.New("it is a link")
		}
		if err != nil {
			w.leave(name, err)
			return nil
		}
		return w.tar.WriteHeader(&tar.Header{Typeflag: tar.TypeSymlink, Name: dataPrefix + name, Linkname: to,
			Mode: 0o777})
	case e.Type().IsRegular():
		// A pipe that took its place must not be waited for.
		f, err := w.root.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK, 0)
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		if err != nil {
			w.leave(name, err)
			return nil
		}
		return errors.Join(w.file(name, f), f.Close())
	}
	return nil // sockets and the like
}

// config adds a configuration without its secrets.
func (w *writer) config(name string, b []byte) error {
	if !w.Secrets {
		if w.Clean == nil {
			return nil
		}
		var err error
		if b, err = w.Clean(name, b); err != nil {
			w.leave(name, err)
			return nil
		}
	}
	return w.add(name, &tar.Header{Size: int64(len(b)), Mode: 0o600, ModTime: w.Created}, bytes.NewReader(b))
}

// file adds an open file up to its current length.
func (w *writer) file(name string, f *os.File) error {
	info, err := f.Stat()
	if err != nil || !info.Mode().IsRegular() {
		return err
	}
	return w.add(name, &tar.Header{Size: info.Size(), Mode: int64(info.Mode().Perm()), ModTime: info.ModTime()}, f)
}

func (w *writer) add(name string, h *tar.Header, from io.Reader) error {
	h.Typeflag, h.Name = tar.TypeReg, dataPrefix+name
	if err := w.tar.WriteHeader(h); err != nil {
		return err
	}
	sum := sha256.New()
	// A file truncated meanwhile keeps its recorded length, padded with zeros.
	_, err := io.CopyN(io.MultiWriter(w.tar, sum), io.MultiReader(from, zeros{}), h.Size)
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	w.Files++
	w.Bytes += h.Size
	_, err = io.WriteString(w.sums, sumLine(h.Name, sum.Sum(nil)))
	return err
}

// zeros is an endless reader of zero bytes.
type zeros struct{}

func (zeros) Read(p []byte) (int, error) {
	clear(p)
	return len(p), nil
}

// sumLine returns a line as sha256sum writes it.
func sumLine(name string, sum []byte) string {
	escaped := strings.NewReplacer(`\`, `\\`, "\n", `\n`, "\r", `\r`).Replace(name)
	mark := ""
	if escaped != name {
		mark = `\`
	}
	return mark + hex.EncodeToString(sum) + "  " + escaped + "\n"
}
