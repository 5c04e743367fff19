package ns

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
)

// Limits of the search for private files. Beyond them whole folders are hidden.
const (
	maxLooked    = 1 << 20  // limit of names per program folder
	maxHidden    = 200      // files and folders
	maxHiddenLen = 32 << 10 // limit of their paths' bytes, which every new sandbox gets
)

// found is what findOnce returned for some folders and a user.
type found struct {
	hidden []string
	full   bool
}

var (
	keep atomic.Bool
	kept sync.Map // of found, by folders and user
)

// Keep makes providers of this process search for private files once. A server searches when it starts; tests open
// hundreds in one process, whose programs stay the same.
func Keep() { keep.Store(true) }

// findOnce is findHidden, or what it found before for a process that calls [Keep].
func findOnce(ctx context.Context, dirs []string, own int) (hidden []string, full bool, err error) {
	if !keep.Load() {
		return findHidden(ctx, dirs, own)
	}
	key := fmt.Sprint(dirs, own)
	if f, ok := kept.Load(key); ok {
		return slices.Clone(f.(found).hidden), f.(found).full, nil
	}
	if hidden, full, err = findHidden(ctx, dirs, own); err == nil {
		kept.Store(key, found{slices.Clone(hidden), full})
	}
	return hidden, full, err
}

// findHidden searches folders of user-installed programs for private files and folders: those readable by their owner
// only, those named like keys or credentials, and those that contain a secret. Folders of the result are hidden
// entirely; full means that some hold other files too, because there were too many. A negative own means that commands
// run as a separate user, who can't read others' private files anyway.
func findHidden(ctx context.Context, dirs []string, own int) (hidden []string, full bool, err error) {
	for _, top := range dirs {
		left, room := maxLooked, maxRead
		for todo := []string{top}; len(todo) > 0; {
			if err := context.Cause(ctx); err != nil {
				return nil, false, err
			}
			dir := todo[len(todo)-1]
			todo = todo[:len(todo)-1]
			entries, err := os.ReadDir(dir)
			switch {
			case errors.Is(err, fs.ErrNotExist), errors.Is(err, fs.ErrPermission) && own > 0:
				continue // commands cannot read it either
			case err != nil || len(entries) > left:
				hidden, full = append(hidden, dir), true
				continue
			}
			left -= len(entries)
			for _, e := range entries {
				name := filepath.Join(dir, e.Name())
				switch {
				case e.IsDir() && (privateFolder(e.Name()) || closed(e, own)), e.Type().IsRegular() &&
					(privateFile(name) || closed(e, own)):
					hidden = append(hidden, name)
				case e.Type().IsRegular() && !ofTests(name) && !ofProgram(name) && !example(e.Name()):
					if room <= 0 { // its content is unknown
						hidden, full = append(hidden, name), true
						continue
					}
					holds, read := holdsSecret(name)
					if room -= read; holds {
						hidden = append(hidden, name)
					}
				case e.IsDir():
					todo = append(todo, name)
				}
			}
		}
	}
	for tooMany(hidden) {
		hidden, full = fold(hidden, dirs), true
	}
	return hidden, full, nil
}

// closed reports whether only one user may read a file or use a folder.
func closed(e fs.DirEntry, own int) bool {
	if own < 0 {
		return false
	}
	others := fs.FileMode(0o044)
	if e.IsDir() {
		others = 0o055
	}
	info, err := e.Info()
	if err != nil {
		return !errors.Is(err, fs.ErrNotExist)
	}
	st, ok := info.Sys().(*syscall.Stat_t)
	return ok && int(st.Uid) == own && info.Mode()&others == 0
}

func privateFolder(name string) bool {
	return slices.Contains([]string{".ssh", ".aws", ".azure", ".gnupg", ".kube", ".docker"}, name)
}

// privateFile reports whether a name is that of a credentials file. Certificates share the extension of keys but are
// needed, so those are inspected. Test files of programs aren't secrets.
func privateFile(path string) bool {
	name := strings.ToLower(filepath.Base(path))
	ext := filepath.Ext(name)
	switch {
	case ofTests(path):
		return false
	case name == ".env" || strings.HasPrefix(name, ".env."):
		return !example(name)
	case slices.Contains([]string{".key", ".p12", ".pfx", ".p8", ".jks", ".keystore", ".ppk", ".kdbx"}, ext):
		return true
	case ext == ".pem":
		return holdsKey(path)
	case slices.Contains([]string{".netrc", ".pgpass", ".pypirc", ".npmrc", ".git-credentials", ".htpasswd"}, name):
		return true
	case strings.HasPrefix(name, "id_"):
		kind, _, _ := strings.Cut(strings.TrimPrefix(name, "id_"), "_")
		return slices.Contains([]string{"rsa", "dsa", "ecdsa", "ed25519"}, kind)
	}
	switch strings.TrimSuffix(name, ext) {
	case "credentials", "credential", "secrets", "secret", "client_secret", "service-account", "service_account":
		return slices.Contains([]string{"", ".json", ".yaml", ".yml", ".toml", ".ini", ".cfg", ".conf", ".env", ".txt",
			".xml", ".properties"}, ext)
	}
	return false
}

// ofTests reports whether a file has its place among the tests of a program.
func ofTests(path string) bool {
	return strings.Contains(path, "/testdata/") || strings.Contains(path, "/test/") || strings.Contains(path, "/tests/")
}

// example reports whether a file is an example of another.
func example(name string) bool {
	return slices.Contains([]string{".example", ".sample", ".template", ".dist"}, filepath.Ext(name))
}

// holdsKey reports whether a file starts with a private key. An unreadable one may.
func holdsKey(path string) bool {
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK|syscall.O_NOFOLLOW, 0)
	if err != nil {
		return !errors.Is(err, fs.ErrNotExist)
	}
	defer f.Close()
	b, err := io.ReadAll(io.LimitReader(f, 64<<10))
	return err != nil || bytes.Contains(b, []byte("PRIVATE KEY"))
}

func tooMany(paths []string) bool {
	n := 0
	for _, p := range paths {
		n += len(p)
	}
	return len(paths) > maxHidden || n > maxHiddenLen
}

// fold replaces the deepest paths by their folders, but never above top.
func fold(paths, top []string) []string {
	deepest := 0
	for _, p := range paths {
		if !slices.Contains(top, p) {
			deepest = max(deepest, strings.Count(p, "/"))
		}
	}
	for i, p := range paths {
		if strings.Count(p, "/") == deepest && !slices.Contains(top, p) {
			paths[i] = filepath.Dir(p)
		}
	}
	slices.Sort(paths)
	return slices.Compact(paths)
}
