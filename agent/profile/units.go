package profile

import (
	"io/fs"
	"path"
	"slices"
	"strings"
)

// Units returns the existing agents and texts, each as the path of its folder or file in the data folder.
func (l *Library) Units() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.units()
}

func (l *Library) units() (list []string) {
	for _, pattern := range []string{"agents/*", "users/*/agents/*", "users/*/" + userName, userName, soulName} {
		found, err := fs.Glob(l.root.FS(), pattern)
		if err != nil { // only invalid patterns fail
			continue
		}
		for _, at := range found {
			if !strings.HasPrefix(path.Base(at), ".") {
				list = append(list, at)
			}
		}
	}
	slices.Sort(list)
	return list
}

// Share sets push to be called with changed units before a change completes, to distribute them to other servers. A
// change returns push's error.
func (l *Library) Share(push func(units ...string) error) { l.push = push }

// Sync calls pull, which applies changes of other servers, while nothing changes here.
func (l *Library) Sync(pull func() error) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return pull()
}

func (l *Library) changed(units ...string) error {
	if l.push == nil || len(units) == 0 {
		return nil
	}
	return l.push(units...)
}
