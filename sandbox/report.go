package sandbox

import "strings"

// Tested notes what a self test found missing, or why there was none.
func (r *Report) Tested(missed []string, err error) {
	switch {
	case err != nil:
		r.Reason, r.Step, r.Detail = "self_test", "self_test", err.Error()
	case len(missed) > 0:
		r.Reason, r.Step = "self_test:"+strings.Join(missed, ","), "self_test"
	}
}

// Built notes the layers of a sandbox, and those that are weaker than they could be.
func (r *Report) Built(layers []string) {
	for _, l := range layers {
		if name, ok := strings.CutPrefix(l, "DEGRADED:"); ok {
			r.Degraded = append(r.Degraded, name)
		} else {
			r.Layers = append(r.Layers, l)
		}
	}
}
