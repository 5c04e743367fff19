package profile

import (
	"io/fs"
	"path"
	"regexp"
	"slices"
)

// unfinished are temporary names used by create, write and Delete.
var unfinished = regexp.MustCompile(`^\.(.+)\.[A-Z2-7]{26}$`)

// sweep removes leftovers of a killed process. Those that can't be removed stay; no list shows them.
func (l *Library) sweep() {
	for _, folder := range []string{".", "agents", "agents/*", "users/*", "users/*/agents", "users/*/agents/*"} {
		found, err := fs.Glob(l.root.FS(), path.Join(folder, ".*.*"))
		if err != nil { // only invalid patterns fail
			continue
		}
		for _, at := range found {
			m := unfinished.FindStringSubmatch(path.Base(at))
			if m == nil {
				continue
			}
			_, err := Name(m[1])
			if ours := slices.Contains([]string{configName, soulName, userName}, m[1]); ours ||
				err == nil && path.Base(path.Dir(at)) == "agents" {
				_ = l.root.RemoveAll(at)
			}
		}
	}
}
