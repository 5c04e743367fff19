// Package must ends a test with the error of a call that the rest of the test needs.
package must

import (
	"slices"
	"testing"
)

// Do ends a test with an error, if there is one; what says of what.
func Do(tb testing.TB, err error, what ...any) {
	tb.Helper()
	if err != nil {
		tb.Fatal(append(slices.Clone(what), err)...)
	}
}

// Report fails a test with a non-nil error and lets it continue.
func Report(tb testing.TB, err error) {
	tb.Helper()
	if err != nil {
		tb.Error(err)
	}
}

// Get returns what gives the value of a call in a test, or ends the test with its error: must.Get(os.ReadFile(name))(t).
func Get[T any](v T, err error) func(testing.TB) T {
	return func(tb testing.TB) T {
		tb.Helper()
		Do(tb, err)
		return v
	}
}

// Get2 is Get for calls with two values.
func Get2[A, B any](a A, b B, err error) func(testing.TB) (A, B) {
	return func(tb testing.TB) (A, B) {
		tb.Helper()
		Do(tb, err)
		return a, b
	}
}

// Try is Report for calls with a value that isn't needed.
func Try[T any](_ T, err error) func(testing.TB) {
	return func(tb testing.TB) {
		tb.Helper()
		Report(tb, err)
	}
}
