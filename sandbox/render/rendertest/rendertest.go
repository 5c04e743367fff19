// Package rendertest finds browsers for tests.
package rendertest

import (
	"os"
	"os/exec"
	"testing"

	"fawn/web/e2e/gate"
)

// Browser returns the path of a browser, or skips the test where there is none. In make test it is the headless shell of
// Chromium if that is installed, which takes a quarter of the processor; the nightly tests have [Chromium].
func Browser(tb testing.TB) string {
	tb.Helper()
	if !gate.Nightly() {
		if at, err := exec.LookPath("chromium-headless-shell"); err == nil {
			return at
		}
	}
	return Chromium(tb)
}

// Chromium returns the path of the browser that Fawn itself would find, or skips the test where there is none.
func Chromium(tb testing.TB) string {
	tb.Helper()
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome"} {
		if at, err := exec.LookPath(name); err == nil {
			return at
		}
	}
	if os.Getenv("FAWN_CI") == "1" {
		tb.Fatal("there is no Chromium, and CI skips nothing")
	}
	tb.Skip("there is no Chromium")
	return ""
}
