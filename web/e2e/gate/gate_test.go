package gate_test

import (
	"testing"

	"fawn/web/e2e/gate"
)

// TestTheGateIsChosenByTheEnvironment: what a gate leaves out is skipped, and the longer gates have what the shorter have.
func TestTheGateIsChosenByTheEnvironment(t *testing.T) {
	for _, c := range []struct {
		nightly, soak string
		want          string
		cluster, long bool // run
	}{
		{"", "", "short", false, false},
		{"0", "0", "short", false, false},
		{"1", "", "nightly", true, false},
		{"", "1", "soak", true, true},
		{"1", "1", "soak", true, true},
	} {
		t.Setenv("FAWN_NIGHTLY", c.nightly)
		t.Setenv("FAWN_SOAK", c.soak)
		if got := gate.Pick("short", "nightly", "soak"); got != c.want {
			t.Errorf("%+v: the %s version is chosen", c, got)
		}
		for part, want := range map[gate.Part]bool{gate.Cluster: c.cluster, gate.Attack: c.cluster, gate.Soak: c.long} {
			ran := false
			t.Run(string(part), func(t *testing.T) {
				gate.In(t, part, "it is an example")
				ran = true
			})
			if ran != want {
				t.Errorf("%+v: of nightly-%s it is said that it runs: %v", c, part, ran)
			}
		}
	}
}
