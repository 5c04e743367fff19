package sandbox

import "strings"

// Tested records the failed checks of a self test, or the reason why there was none.
func (r *Report) Tested(missed []string, err error) {
	switch {
	case err != nil:
		r.Reason, r.Step, r.Detail = "self_test", "self_test", err.Error()
	case len(missed) > 0:
		r.Reason, r.Step = "self_test:"+strings.Join(missed, ","), "self_test"
	}
}

// Built records the layers of a sandbox, and the weakened ones.
func (r *Report) Built(layers []string) {
	for _, l := range layers {
		if name, ok := strings.CutPrefix(l, "DEGRADED:"); ok {
			r.Degraded = append(r.Degraded, name)
		} else {
			r.Layers = append(r.Layers, l)
		}
	}
}
