//go:build linux

// Command sbxinit is the small program that sandboxes start instead of the
// server's own, which takes several times longer to come up. sandbox/initbin
// embeds it, as `make generate` built it.
//
// The server refuses one that was built from other sources than itself and
// starts its own program for the same purpose then.
package main

import (
	"os"

	"fawn/sandbox/jail"
)

func main() {
	jail.Main()
	// Started by hand there is nothing to do.
	os.Exit(2)
}
