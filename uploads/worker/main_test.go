package worker

import (
	"os"
	"testing"

	"fawn/sandbox/ns"
	"fawn/uploads/convert"
)

// TestMain lets the test binary be the program that jobs start.
func TestMain(m *testing.M) {
	convert.Main()
	ns.Reexec()
	os.Exit(m.Run())
}
