package agenttest

import (
	"fmt"
	"os"
	"testing"
	"time"

	"go.uber.org/goleak"
)

// NoLeaks fails a test when goroutines are left that options do not leave out. On a busy
// machine they have a minute to end.
func NoLeaks(t testing.TB, options ...goleak.Option) {
	t.Helper()
	if err := leaks(options); err != nil {
		t.Error(err)
	}
}

// Main runs the tests of a package and ends the process; it is for TestMain. Goroutines
// that they leave are a failure, as with NoLeaks.
func Main(m *testing.M, options ...goleak.Option) {
	code := m.Run()
	if code == 0 {
		if err := leaks(options); err != nil {
			fmt.Fprintln(os.Stderr, err)
			code = 1
		}
	}
	os.Exit(code)
}

func leaks(options []goleak.Option) (err error) {
	for end := time.Now().Add(time.Minute); time.Now().Before(end); { // each check is slow
		if err = goleak.Find(options...); err == nil {
			return nil
		}
	}
	return err
}
