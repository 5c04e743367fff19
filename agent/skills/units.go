package skills

import (
	"errors"
	"os"
	"path"
	"path/filepath"
	"strings"
)

// Units returns the custom skills and histories in a folder of skills, as paths below it.
func Units(folder string) (list []string) {
	for _, at := range []string{string(Custom), string(Custom) + "/" + history} {
		entries, err := os.ReadDir(filepath.Join(folder, filepath.FromSlash(at)))
		if err != nil {
			continue // it doesn't exist
		}
		for _, e := range entries {
			if !strings.HasPrefix(e.Name(), ".") {
				list = append(list, path.Join(at, e.Name()))
			}
		}
	}
	return list
}

// Sync calls pull, which applies changes of other servers, and rescans.
func (l *Library) Sync(pull func() error) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return errors.Join(pull(), l.refresh())
}

// changed pushes the folder of a custom skill and, with a name, its history.
func (l *Library) changed(folder, name string) error {
	if l.o.Push == nil {
		return nil
	}
	top, _, _ := strings.Cut(folder, "/")
	units := []string{path.Join(string(Custom), top)}
	if name != "" {
		units = append(units, path.Join(string(Custom), history, name+".jsonl"))
	}
	return l.o.Push(units...)
}
