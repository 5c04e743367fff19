package recorder

import (
	"cmp"
	"maps"

	"fawn/agent"
)

// usage is the cost of the run's model calls, as shown on the run.
type Usage struct {
	Input    int `json:"total_input_tokens"`
	Output   int `json:"total_output_tokens"`
	Total    int `json:"total_tokens"`
	Cached   int `json:"cached_input_tokens,omitempty"` // part of Input read from the provider's cache
	Calls    int `json:"llm_call_count"`
	Messages int `json:"message_count"`

	// ByModel is for the run itself. It is never modified, only replaced, because marks reference it.
	ByModel map[string]ModelCost `json:"by_model,omitempty"`

	// Subagent is the part of Total that its children took, and SubagentByModel its split by model. Their rows contain
	// it too: to add up rows, use ByModel of each.
	Subagent        int                  `json:"subagent_tokens,omitempty"`
	SubagentByModel map[string]ModelCost `json:"subagent_by_model,omitempty"`
}

// ModelCost is the part of one model.
type ModelCost struct {
	Input    int     `json:"input_tokens"`
	Output   int     `json:"output_tokens"`
	Total    int     `json:"total_tokens"`
	Cached   int     `json:"cached_input_tokens,omitempty"`
	Calls    int     `json:"llm_call_count"`
	Cost     float64 `json:"cost,omitempty"`
	Currency string  `json:"currency,omitempty"`
}

// UnnamedModel is the name of models without one.
const UnnamedModel = "unknown"

// Count adds an AI message's usage to the run's. AI messages in the input cost nothing.
func (u *Usage) Count(m *agent.Message, node string) {
	u.Messages++
	if m.Type != agent.TypeAI || node != agent.NodeModel {
		return
	}
	u.Calls++
	if m.Usage == nil {
		return
	}
	provider, _ := m.Meta["model_name"].(string)
	name := cmp.Or(m.Usage.Model, provider, UnnamedModel)
	c := ModelCost{Input: m.Usage.Input, Output: m.Usage.Output, Total: m.Usage.Total, Calls: 1,
		Cached: min(max(m.Usage.InputDetails["cache_read"], 0), m.Usage.Input), Cost: m.Usage.Cost,
		Currency: m.Usage.Currency}
	u.Input, u.Output, u.Total, u.Cached = u.Input+c.Input, u.Output+c.Output, u.Total+c.Total, u.Cached+c.Cached
	u.ByModel = withCosts(u.ByModel, map[string]ModelCost{name: c})
}

// CountChild adds a child's usage. The messages of a run are its own.
func (u *Usage) CountChild(c Usage) {
	u.Input, u.Output, u.Total, u.Cached = u.Input+c.Input, u.Output+c.Output, u.Total+c.Total, u.Cached+c.Cached
	u.Calls += c.Calls
	u.Subagent += c.Total
	u.SubagentByModel = withCosts(u.SubagentByModel, c.ByModel)
}

// withCosts returns a copy of a with the costs of b added.
func withCosts(a, b map[string]ModelCost) map[string]ModelCost {
	if len(b) == 0 {
		return a
	}
	all := maps.Clone(a)
	if all == nil {
		all = map[string]ModelCost{}
	}
	for name, m := range b {
		c := all[name]
		c.Input, c.Output, c.Total, c.Calls = c.Input+m.Input, c.Output+m.Output, c.Total+m.Total, c.Calls+m.Calls
		c.Cached += m.Cached
		c.Cost, c.Currency = c.Cost+m.Cost, cmp.Or(m.Currency, c.Currency)
		all[name] = c
	}
	return all
}
