package providers

import (
	"context"
	"strings"

	"fawn/sandbox"
)

// off is a provider that refuses to run anything and gives the reason.
type off struct{ report sandbox.Report }

// newOff returns the provider for a host on which no provider works, or for an owner who disabled them.
func newOff(tried ...sandbox.Report) *off {
	r := sandbox.Report{Provider: sandbox.ProviderOff, Reason: "disabled by the configuration", Tried: tried}
	if len(tried) > 0 {
		var words, hints []string
		for _, t := range tried {
			// Namespaces are the default.
			word := t.Reason
			if t.Provider != sandbox.ProviderNamespace {
				word = t.Provider + ": " + word
			}
			words = append(words, word)
			if t.Hint != "" {
				hints = append(hints, t.Hint)
			}
		}
		r.Reason, r.Hint = strings.Join(words, "; "), strings.Join(hints, "\n")
	}
	return &off{r}
}

func (o *off) Name() string { return sandbox.ProviderOff }

func (o *off) Probe(context.Context) sandbox.Report { return o.report }

func (o *off) Acquire(context.Context, sandbox.ThreadRef, sandbox.Policy) (sandbox.Sandbox, error) {
	return nil, &sandbox.UnavailableError{Reason: o.report.Reason, Hint: o.report.Hint}
}

func (o *off) Destroy(context.Context, sandbox.ThreadRef, string) error { return nil }

func (o *off) Restart(context.Context, sandbox.ThreadRef, string) (bool, error) { return false, nil }

func (o *off) Close(context.Context) error { return nil }
