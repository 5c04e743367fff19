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

// maxFile bounds the file in bytes.
const maxFile = 4 << 20

// editing is held while the file is changed: there is one in a process.
var editing sync.Mutex

// Read gives what the file says; one that is not there says nothing.
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

// Place is where the extensions are kept: in a file, or where several servers share them.
type Place interface {
	// Read gives what is there, nil for nothing.
	Read() (Object, error)
	// Edit changes it as a whole or not at all. check may refuse what would be written; nil does not.
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

// Changed is what is to be written after a change, if check does not refuse it.
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

// Edit changes the file as a whole or not at all. A link stays a link, and who may read the file
// stays as it is; a new one is for its owner alone. check may refuse what would be written.
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

// replace writes a file beside the old one and puts it in its place.
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
