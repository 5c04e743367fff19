//go:build linux

// Command sbxinit is the small program that sandboxes start instead of the server's executable, which takes several
// times longer to start. sandbox/initbin embeds the build of `make generate`.
//
// The server rejects a build from other sources and then starts its own executable instead.
package main

import (
	"os"

	"fawn/sandbox/jail"
)

func main() {
	jail.Main()
	// There is nothing to do if it is started by hand.
	os.Exit(2)
}
