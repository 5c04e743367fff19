package lead

import (
	"context"
	"time"

	"fawn/agent"
	"fawn/agent/config"
	"fawn/agent/llm"
)

// Probe makes a real, tiny call to a model of the configuration.
func Probe(ctx context.Context, m config.Model) llm.Probed { return llm.Probe(ctx, ModelConfig(m)) }

// askServer asks a model's server for its window.
func askServer(ctx context.Context, m config.Model) int { return llm.Window(ctx, ModelConfig(m)) }

// connecting reaches models over the network, or the built-in one. What providers refuse is
// found out once for all runs.
func connecting() func(config.Model) (agent.Model, error) {
	known := &llm.Known{}
	return func(m config.Model) (agent.Model, error) {
		c := ModelConfig(m)
		c.Known = known
		return llm.New(c)
	}
}

// ModelConfig hands the configuration's entry to the room of models.
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
