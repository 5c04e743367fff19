package runs

import (
	"cmp"
	"maps"

	"fawn/agent"
)

// usage is what the run's model calls cost, as shown on the run.
type usage struct {
	Input    int                  `json:"total_input_tokens"`
	Output   int                  `json:"total_output_tokens"`
	Total    int                  `json:"total_tokens"`
	Cached   int                  `json:"cached_input_tokens,omitempty"` // of Input, read from the provider's cache
	Calls    int                  `json:"llm_call_count"`
	Messages int                  `json:"message_count"`
	ByModel  map[string]modelCost `json:"by_model,omitempty"` // never changed, only replaced: marks hold it
}

// modelCost is the part of one model.
type modelCost struct {
	Input    int     `json:"input_tokens"`
	Output   int     `json:"output_tokens"`
	Total    int     `json:"total_tokens"`
	Cached   int     `json:"cached_input_tokens,omitempty"`
	Calls    int     `json:"llm_call_count"`
	Cost     float64 `json:"cost,omitempty"`
	Currency string  `json:"currency,omitempty"`
}

// unnamedModel stands for a model that has no name, neither here nor at its provider.
const unnamedModel = "unknown"

// count adds an AI message's usage to the run's. AI messages which came with the input
// cost nothing.
func (u *usage) count(m *agent.Message, node string) {
	u.Messages++
	if m.Type != agent.TypeAI || node != agent.NodeModel {
		return
	}
	u.Calls++
	if m.Usage == nil {
		return
	}
	u.Input += m.Usage.Input
	u.Output += m.Usage.Output
	u.Total += m.Usage.Total
	cached := min(max(m.Usage.InputDetails["cache_read"], 0), m.Usage.Input)
	u.Cached += cached
	provider, _ := m.Meta["model_name"].(string)
	name := cmp.Or(m.Usage.Model, provider, unnamedModel)
	all := maps.Clone(u.ByModel)
	if all == nil {
		all = map[string]modelCost{}
	}
	c := all[name]
	c.Input, c.Output, c.Total, c.Calls = c.Input+m.Usage.Input, c.Output+m.Usage.Output, c.Total+m.Usage.Total, c.Calls+1
	c.Cached += cached
	c.Cost, c.Currency = c.Cost+m.Usage.Cost, cmp.Or(m.Usage.Currency, c.Currency)
	all[name] = c
	u.ByModel = all
}
