// Package initbin holds the small program that sandboxes start (package sbxinit), where the build
// made it. Nothing else belongs here.
package initbin

import "embed"

// Name is that of the program; a build without it has no such file.
const Name = "sbxinit"

// Files has the program.
//
//go:embed *
var Files embed.FS
