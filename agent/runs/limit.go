package runs

import (
	"cmp"

	"fawn/agent"
	"fawn/agent/runs/request"
)

// Default step limits, used unless [Config.Steps] sets others.
const (
	DefaultRecursionLimit = 100
	MaxRecursionLimit     = 1000
)

// StepLimits are the usual and the greatest number of steps of a run, and whether a run fails at its limit instead of
// taking a last turn.
type StepLimits struct {
	Usual, Most int
	Fail        bool
}

// limitSteps sets the step limit of a turn, and its behaviour at the limit, as the client asked.
func (m *Manager) limitSteps(t *agent.Turn, asked request.Choices) {
	limits := StepLimits{Usual: DefaultRecursionLimit, Most: MaxRecursionLimit}
	if m.limits != nil {
		limits = m.limits()
	}
	t.MaxSteps, t.FailAtLimit = min(cmp.Or(asked.Limit, limits.Usual), limits.Most), limits.Fail
	if asked.AtLimit != "" {
		t.FailAtLimit = asked.AtLimit == "error"
	}
}
