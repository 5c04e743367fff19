package lead

import (
	"context"
	"iter"
	"time"

	"fawn/agent"
	"fawn/agent/config"
	"fawn/agent/middleware"
)

// metered is a model whose usage includes the configured name and the current price.
type metered struct {
	agent.Model
	entry config.Model
}

// meter adds metering to every connected model.
func meter(connect func(config.Model) (agent.Model, error)) func(config.Model) (agent.Model, error) {
	return func(entry config.Model) (agent.Model, error) {
		m, err := connect(entry)
		if err != nil {
			return nil, err
		}
		return metered{m, entry}, nil
	}
}

// Name implements agent.Named.
func (m metered) Name() string { return m.entry.Name }

// Stream implements agent.Model.
func (m metered) Stream(ctx context.Context, req *agent.Request) iter.Seq2[agent.Chunk, error] {
	return func(yield func(agent.Chunk, error) bool) {
		for k, err := range m.Model.Stream(ctx, req) {
			if k.Usage != nil {
				k.Usage = m.priced(*k.Usage)
			}
			if !yield(k, err) {
				return
			}
		}
	}
}

// priced returns u with the model's name and price.
func (m metered) priced(u agent.Usage) *agent.Usage {
	u.Model = m.entry.Name
	u.Total = max(u.Total, u.Input+u.Output)
	p := m.entry.Pricing
	if p == nil {
		return &u
	}
	cached, again := min(max(u.InputDetails["cache_read"], 0), u.Input), p.InputPerMillion
	if p.InputCacheHitPerMillion != nil {
		again = *p.InputCacheHitPerMillion
	}
	u.Cost = (float64(u.Input-cached)*p.InputPerMillion + float64(cached)*again +
		float64(u.Output)*p.OutputPerMillion) / 1e6
	u.Currency = p.Currency
	return &u
}

// SideCall is a model call other than a run's answers, for accounting. Thread and Run may be ""; Owner is then set.
type SideCall struct {
	Purpose            string // title, summary, suggestions, input_polish, goal, memory, skills, mcp
	Owner, Thread, Run string
	Usage              agent.Usage
	Took               time.Duration

	budget *middleware.Budget // budget of the charged run; nil for none
}
