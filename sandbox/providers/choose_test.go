package providers_test

import (
	"strings"
	"testing"

	"fawn/sandbox"
	"fawn/sandbox/providers"
)

func TestAutoTakesTheFirstThatPasses(t *testing.T) {
	good := func(name string, layers ...string) sandbox.Report {
		return sandbox.Report{Provider: name, OK: true, Layers: layers}
	}
	full := []string{"mountns", "pidns", "no_new_privs"}
	for name, c := range map[string]struct {
		provider string
		reports  []sandbox.Report
		want     string
		reason   string
	}{
		"first":               {"auto", []sandbox.Report{good("one", full...), good("two", full...)}, "one", ""},
		"second":              {"auto", []sandbox.Report{{Provider: "one", Reason: "broken"}, good("two", full...)}, "two", ""},
		"none":                {"auto", []sandbox.Report{{Provider: "one", Reason: "broken", Hint: "mend it"}, {Provider: "two", Reason: "gone"}}, "off", "one: broken; two: gone"},
		"a layer is missing":  {"auto", []sandbox.Report{good("one", "mountns"), good("two", full...)}, "two", ""},
		"layers of all":       {"auto", []sandbox.Report{good("one", "mountns")}, "off", "one: layers missing: pidns, no_new_privs"},
		"named":               {"two", []sandbox.Report{good("one", full...), good("two")}, "two", ""},
		"named is broken":     {"two", []sandbox.Report{good("one", full...), {Provider: "two", Reason: "broken"}}, "off", "two: broken"},
		"named is not known":  {"three", []sandbox.Report{good("one", full...)}, "off", "three: not supported on this system"},
		"nothing is known":    {"auto", nil, "off", "auto: not supported on this system"},
		"degraded but allows": {"auto", []sandbox.Report{{Provider: "one", OK: true, Layers: full, Degraded: []string{"x"}}}, "one", ""},
	} {
		t.Run(name, func(t *testing.T) {
			cfg := sandbox.DefaultConfig()
			cfg.Provider = c.provider
			p, err := providers.Choose(t.Context(), cfg, c.reports...)
			if err != nil || p.Name() != c.want {
				t.Fatalf("%v, %v", p, err)
			}
			r := p.Probe(t.Context())
			if r.Reason != c.reason || r.OK != (c.want != "off") {
				t.Errorf("%+v", r)
			}
			_, err = p.Acquire(t.Context(), sandbox.ThreadRef{ID: "a"}, sandbox.DefaultPolicy())
			if c.want == "off" &&
				(err == nil ||
					!strings.Contains(err.Error(),
						"bash is disabled: no sandbox is available on this host (reason: "+c.reason+")")) {
				t.Errorf("Acquire: %v", err)
			}
		})
	}
}
