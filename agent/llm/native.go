package llm

import (
	"os"
	"strings"

	"fawn/agent"
	"fawn/agent/llm/anthropic"
	"fawn/agent/llm/openai"
	"fawn/agent/llm/texttools"
	"fawn/agent/llm/wire"
)

// Environment variables of Anthropic's key and address.
const (
	anthropicKey     = "ANTHROPIC_API_KEY"
	anthropicAddress = "ANTHROPIC_BASE_URL"
)

// anthropicThoughts is the default thinking budget in tokens for Anthropic's models.
const anthropicThoughts = 4096

// newAnthropic returns a model behind Anthropic's own API.
func newAnthropic(cfg Config) (agent.Model, error) {
	on, off := overlays(cfg, openai.Dialect{On: map[string]any{"thinking": map[string]any{"type": "enabled",
		"budget_tokens": anthropicThoughts}}})
	delete(off, "reasoning_effort") // a word of other APIs
	body, headers, _ := extras(cfg)
	c := anthropic.Config{Name: cfg.Name, Model: cfg.Model, BaseURL: cfg.BaseURL, APIKey: cfg.APIKey, Headers: headers,
		MaxTokens:   cfg.MaxTokens,
		Temperature: cfg.Temperature, ExtraBody: body, ThinkingOn: on, ThinkingOff: off,
		Effort: cfg.SupportsReasoningEffort, Timeout: cfg.Timeout, IdleTimeout: cfg.IdleTimeout, Client: cfg.Client}
	if c.Model == "" {
		c.Model = cfg.Name
	}
	c.BaseURL, c.APIKey = anthropicAt(cfg)
	if betas, ok := body["betas"].([]any); ok {
		var names []string
		for _, b := range betas {
			if s, ok := b.(string); ok {
				names = append(names, s)
			}
		}
		headers["Anthropic-Beta"] = strings.Join(names, ",")
	}
	if on, ok := body["enable_prompt_caching"].(bool); ok {
		c.NoCache = !on
	}
	for _, key := range []string{"betas", "enable_prompt_caching", "prompt_cache_size", "auto_thinking_budget",
		"max_tokens_to_sample"} {
		delete(body, key)
	}
	m, err := anthropic.New(c)
	if err != nil { // a nil *Model must not become a Model
		return nil, err
	}
	return texttools.Native(m), nil
}

// anthropicAt returns the model's address, and the key for it. A key from the environment is only sent to the
// environment's or the provider's address.
func anthropicAt(cfg Config) (base, key string) {
	base, key = cfg.BaseURL, cfg.APIKey
	if base == "" {
		base = os.Getenv(anthropicAddress)
		if key == "" {
			key = os.Getenv(anthropicKey)
		}
	}
	return base, key
}

// reachAnthropic is [reach] for Anthropic's own API.
func reachAnthropic(cfg Config) (base string, headers map[string]string, err error) {
	base, key := anthropicAt(cfg)
	root, _, err := anthropic.Root(base)
	if err != nil {
		return "", nil, err
	}
	_, headers, _ = extras(cfg)
	for k, v := range anthropic.Headers(key) {
		headers[k] = v
	}
	return root + "/v1", headers, nil
}

// CloseIdle closes the connections to providers which no call uses.
func CloseIdle() { wire.CloseIdle() }
