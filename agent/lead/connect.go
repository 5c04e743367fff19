package lead

import (
	"context"
	"time"

	"fawn/agent"
	"fawn/agent/config"
	"fawn/agent/llm"
	"fawn/sandbox/netguard"
)

// Probe makes a real, minimal call to a configured model.
func Probe(ctx context.Context, m config.Model) llm.Probed { return llm.Probe(ctx, ModelConfig(m)) }

// connecting returns a connector to models, over the network or built in, and one that queries context windows. Lessons
// from refusals are shared by all runs. guard checks addresses of public_only models.
func connecting(guard func() *netguard.Guard) (connect func(config.Model) (agent.Model, error),
	ask func(context.Context, config.Model) int) {
	known, public := &llm.Known{}, publicClient(guard)
	reached := func(m config.Model) llm.Config {
		c := ModelConfig(m)
		if c.Known = known; m.PublicOnly {
			c.Client = public
		}
		return c
	}
	return func(m config.Model) (agent.Model, error) { return llm.New(reached(m)) },
		func(ctx context.Context, m config.Model) int { return llm.Window(ctx, reached(m)) }
}

// ModelConfig converts the configuration's entry for package llm.
func ModelConfig(m config.Model) llm.Config {
	c := llm.Config{
		Name: m.Name, Use: m.Use, Model: m.Model, BaseURL: m.BaseURL, APIKey: m.APIKey.Value(),
		MaxTokens: m.MaxTokens, Temperature: m.Temperature, Timeout: m.Timeout,
		SupportsThinking: m.SupportsThinking, SupportsReasoningEffort: m.SupportsReasoningEffort,
		WhenThinkingEnabled: m.WhenThinkingEnabled, WhenThinkingDisabled: m.WhenThinkingDisabled, Thinking: m.Thinking,
		ExtraBody: m.ExtraBody, Extra: m.Extra, Dialect: m.Dialect, Responses: m.UseResponsesAPI,
		ToolCalls: m.SupportsToolCalls,
	}
	if m.StreamChunkTimeout != nil {
		c.IdleTimeout = *m.StreamChunkTimeout
		if c.IdleTimeout == 0 {
			c.IdleTimeout = -time.Second // no limit
		}
	}
	if len(m.Headers) > 0 {
		c.Headers = map[string]string{}
		for k, v := range m.Headers {
			c.Headers[k] = v.Value()
		}
	}
	return c
}
