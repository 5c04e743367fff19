// Package bundled contains the skills bundled with the program.
package bundled

import (
	"embed"
	"io/fs"
)

//go:embed public
var files embed.FS

// Files returns the skills, one folder each.
func Files() fs.FS {
	sub, err := fs.Sub(files, "public")
	if err != nil {
		return nil // the name above is valid
	}
	return sub
}
