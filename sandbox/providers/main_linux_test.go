package providers_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"fawn/sandbox/ns"
)

// initProgram is the small program of sandboxes, built from the sources that
// are tested.
var initProgram string

func TestMain(m *testing.M) {
	// This program plays the parts of a sandbox where a test wants no small one.
	ns.Reexec()
	if os.Getenv(roleVariable) != "" {
		os.Exit(role())
	}
	os.Exit(run(m))
}

func run(m *testing.M) int {
	if initProgram = os.Getenv(initVariable); initProgram != "" {
		return m.Run()
	}
	dir, err := os.MkdirTemp("", "fawn-sbxinit-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(dir)
	initProgram = filepath.Join(dir, "sbxinit")
	cmd := exec.Command("go", "build", "-trimpath", "-ldflags", "-s -w", "-o", initProgram, "fawn/sandbox/sbxinit")
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		fmt.Fprintf(os.Stderr, "build sbxinit: %v\n%s", err, out)
		return 1
	}
	return m.Run()
}
