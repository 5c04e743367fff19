// Package gate selects the length of tests. `make test` runs the short version of everything that needs only this
// machine. FAWN_NIGHTLY=1, set by the parts of `make nightly`, adds tests that take minutes: several servers,
// PostgreSQL for all of runs, second users, many rounds. FAWN_SOAK=1, set by `make nightly-soak`, makes those long.
package gate

import (
	"os"
	"testing"
)

// Part names a part of `make nightly`, each of which runs alone.
type Part string

const (
	Cluster Part = "cluster" // several servers, and PostgreSQL for more than the store
	Attack  Part = "attack"  // sandboxes of other kinds and users
	Release Part = "release" // releases and their target systems
	Soak    Part = "soak"    // long versions
)

// Nightly reports whether the long tests run, too.
func Nightly() bool { return os.Getenv("FAWN_NIGHTLY") == "1" || Soaking() }

// Soaking reports whether they run in their longest version.
func Soaking() bool { return os.Getenv("FAWN_SOAK") == "1" }

// In skips a test of a part of `make nightly` if that part doesn't run, with the reason why it isn't in `make test`.
func In(tb testing.TB, part Part, why string) {
	tb.Helper()
	if part == Soak && !Soaking() || !Nightly() {
		tb.Skipf("in make nightly-%s: %s", part, why)
	}
}

// Pick selects between the versions of a test: repetitions, sizes and durations.
func Pick[T any](short, nightly, soak T) T {
	switch {
	case Soaking():
		return soak
	case Nightly():
		return nightly
	}
	return short
}

// Env hands the choice to a process that has no other environment.
func Env() []string {
	return []string{"FAWN_CI=" + os.Getenv("FAWN_CI"), "FAWN_NIGHTLY=" + os.Getenv("FAWN_NIGHTLY"),
		"FAWN_SOAK=" + os.Getenv("FAWN_SOAK")}
}
