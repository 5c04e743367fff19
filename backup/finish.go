package backup

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"fawn/store"
)

// The suffix of the unpacked folder's name records the progress of a restore, so that it can resume after a crash.
// Without a suffix, unpacking isn't complete, and nothing else has changed.
const (
	stateAside    = ".aside"    // the old content is being moved aside
	stateDatabase = ".database" // the same, but only the database
	statePlace    = ".place"    // the unpacked content is being moved into place
)

// Finish resumes interrupted restores of a data folder, and removes leftovers of those that hadn't changed anything
// yet. done reports whether it resumed one. A folder in use by another process is left alone.
func Finish(dir string) (done bool, err error) {
	if list, err := stages(dir); err != nil || len(list) == 0 {
		return false, err
	}
	release, err := store.Hold(dir)
	if locked := (*store.LockedError)(nil); errors.As(err, &locked) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	done, err = finishAll(dir)
	return done, errors.Join(err, release())
}

// stages returns the folders of current and interrupted restores.
func stages(dir string) (names []string, err error) {
	entries, err := os.ReadDir(dir)
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), stagePrefix) {
			names = append(names, e.Name())
		}
	}
	return names, err
}

// finishAll is Finish while the folder is held.
func finishAll(dir string) (done bool, err error) {
	list, err := stages(dir)
	for _, name := range list {
		if base, _ := stateOf(name); base == name {
			err = errors.Join(err, os.RemoveAll(filepath.Join(dir, name)))
			continue
		}
		done = true
		if e := finish(dir, name); e != nil {
			err = errors.Join(err, fmt.Errorf("resume the restore in %s: %w", filepath.Join(dir, name), e))
		}
	}
	return done, err
}

// stateOf splits the name of a stage.
func stateOf(name string) (base, state string) {
	for _, state := range []string{stateAside, stateDatabase, statePlace} {
		if base, ok := strings.CutSuffix(name, state); ok {
			return base, state
		}
	}
	return name, ""
}

// asideOf returns the folder for the content replaced by a restore.
func asideOf(stage string) string {
	base, _ := stateOf(stage)
	return asidePrefix + strings.TrimPrefix(base, stagePrefix)
}

// finish resumes the restore with that staging folder.
func finish(dir, name string) error {
	base, state := stateOf(name)
	stage := filepath.Join(dir, name)
	if state != statePlace {
		there, err := contents(dir)
		if err != nil {
			return err
		}
		if state == stateDatabase {
			there = databaseOf(there)
		}
		if err := putAside(dir, filepath.Join(dir, asideOf(name)), there); err != nil {
			return fmt.Errorf("put the old data aside: %w", err)
		}
		next := filepath.Join(dir, base+statePlace)
		if err := os.Rename(stage, next); err != nil {
			return err
		}
		stage = next
	}
	fresh, err := contents(stage)
	if err != nil {
		return err
	}
	if err := move(stage, dir, fresh); err != nil {
		return err
	}
	return os.RemoveAll(stage)
}

func putAside(dir, aside string, there []string) error {
	if len(there) == 0 {
		return nil
	}
	if err := os.MkdirAll(aside, 0o700); err != nil {
		return err
	}
	return move(dir, aside, there)
}
