package extensions

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
)

// maxFile limits the file in bytes.
const maxFile = 4 << 20

// editing is held while the file is changed; the process has one lock for it.
var editing sync.Mutex

// Read returns the file's content; a missing file is empty.
func Read(file string) (Object, error) {
	f, err := os.Open(file)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, maxFile+1))
	if err == nil && len(data) > maxFile {
		err = fmt.Errorf("%s is larger than %d MiB", filepath.Base(file), maxFile>>20)
	}
	if err != nil {
		return nil, err
	}
	o, err := Parse(data)
	if err != nil {
		return nil, fmt.Errorf("%s is not valid: %w", filepath.Base(file), err)
	}
	return o, nil
}

// Place is the storage of the extensions: a file, or rows shared by several servers.
type Place interface {
	// Read returns the content, or nil without any.
	Read() (Object, error)
	// Edit changes it atomically. check may reject the new content; nil accepts all.
	Edit(change func(Object) (Object, error), check func(data []byte) error) error
}

// File is a Place in a file.
type File string

// Read implements [Place].
func (f File) Read() (Object, error) { return Read(string(f)) }

// Edit implements [Place].
func (f File) Edit(change func(Object) (Object, error), check func(data []byte) error) error {
	return Edit(string(f), change, check)
}

// Changed returns the new content after a change, unless check rejects it.
func Changed(o Object, change func(Object) (Object, error), check func(data []byte) error) ([]byte, error) {
	o, err := change(o)
	if err != nil {
		return nil, err
	}
	value, err := o.MarshalJSON()
	if err != nil {
		return nil, err
	}
	var out bytes.Buffer
	if err := json.Indent(&out, value, "", "  "); err != nil {
		return nil, err
	}
	out.WriteByte('\n')
	if check != nil {
		if err := check(out.Bytes()); err != nil {
			return nil, err
		}
	}
	return out.Bytes(), nil
}

// Edit changes the file atomically. Symbolic links and permissions are kept; a new file is readable by its owner only.
// check may reject the new content.
func Edit(file string, change func(Object) (Object, error), check func(data []byte) error) error {
	editing.Lock()
	defer editing.Unlock()
	if real, err := filepath.EvalSymlinks(file); err == nil {
		file = real
	}
	o, err := Read(file)
	if err != nil {
		return err
	}
	data, err := Changed(o, change, check)
	if err != nil {
		return err
	}
	return replace(file, data)
}

// replace writes a temporary file next to the old one and renames it.
func replace(file string, data []byte) error {
	mode := fs.FileMode(0o600)
	if info, err := os.Stat(file); err == nil {
		mode = info.Mode().Perm()
	}
	f, err := os.CreateTemp(filepath.Dir(file), "."+filepath.Base(file)+".*")
	if err != nil {
		return fmt.Errorf("write %s: %w", filepath.Base(file), err)
	}
	_, err = f.Write(data)
	err = cmp.Or(err, f.Chmod(mode))
	err = cmp.Or(err, f.Sync())
	err = cmp.Or(err, f.Close())
	if err == nil {
		err = os.Rename(f.Name(), file)
	}
	if err != nil {
		return fmt.Errorf("write %s: %w", filepath.Base(file), errors.Join(err, os.Remove(f.Name())))
	}
	return nil
}
