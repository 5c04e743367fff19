package runs

import (
	"cmp"

	"fawn/agent"
	"fawn/agent/runs/request"
)

// Steps of a run whose client names no limit, and the most a client may ask for, unless
// [Config.Steps] says otherwise.
const (
	DefaultRecursionLimit = 100
	MaxRecursionLimit     = 1000
)

// StepLimits say how many steps a run takes whose client names no limit, how many it may have
// at most, and whether a run that reaches its limit fails instead of taking a last turn.
type StepLimits struct {
	Usual, Most int
	Fail        bool
}

// limitSteps writes into a turn how many steps it may take and what happens then, both as
// its client asks for them.
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
