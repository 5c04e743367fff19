package config

import "time"

// Model is one entry of models[]: a chat model and how to reach it.
type Model struct {
	Name                    string         `yaml:"name" required:"true"` // how requests and other sections call it
	DisplayName             string         `yaml:"display_name"`         // name shown to people; empty = Name
	Description             string         `yaml:"description"`          // one line for the model picker
	Use                     string         `yaml:"use"`                  // class path that selects the provider
	Model                   string         `yaml:"model"`                // the provider's own name of the model; empty = Name
	APIKey                  Secret         `yaml:"api_key"`              // usually $NAME of an environment variable
	BaseURL                 string         `yaml:"base_url" alias:"api_base"`
	MaxTokens               int            `yaml:"max_tokens" min:"1"`                                              // most tokens of one answer; 0 = the provider's default
	Temperature             *float64       `yaml:"temperature" min:"0"`                                             // nil = the provider's default
	Timeout                 time.Duration  `yaml:"timeout" alias:"request_timeout,default_request_timeout" min:"0"` // one call; 0 = the provider's default
	MaxRetries              *int           `yaml:"max_retries" min:"0"`                                             // the provider client's own retries; nil = its default
	Lightweight             bool           `yaml:"lightweight"`                                                     // good enough for titles and summaries
	SupportsThinking        bool           `yaml:"supports_thinking"`
	SupportsReasoningEffort bool           `yaml:"supports_reasoning_effort"`
	SupportsVision          bool           `yaml:"supports_vision"`
	SupportsToolCalls       *bool          `yaml:"supports_tool_calls"`          // nil = detected by the provider's refusal; false = tools are in the prompt
	Dialect                 string         `yaml:"dialect"`                      // how the provider differs; empty = found by address and class
	WhenThinkingEnabled     Extra          `yaml:"when_thinking_enabled"`        // laid over the request when thinking is on
	WhenThinkingDisabled    Extra          `yaml:"when_thinking_disabled"`       // laid over the request when thinking is off
	Thinking                Extra          `yaml:"thinking"`                     // short form of when_thinking_enabled.thinking
	ContextWindow           int            `yaml:"context_window" min:"1"`       // tokens of prompt and answer together; 0 = unknown
	StreamChunkTimeout      *time.Duration `yaml:"stream_chunk_timeout" min:"0"` // longest silence inside a stream; nil = the provider's default, 0 = no limit
	UseResponsesAPI         bool           `yaml:"use_responses_api"`
	ExtraBody               Extra          `yaml:"extra_body"`                      // added to every request body
	Fallback                string         `yaml:"fallback"`                        // name of the model that answers when this one cannot be called
	Headers                 Headers        `yaml:"headers" alias:"default_headers"` // added to every request
	PublicOnly              bool           `yaml:"public_only"`                     // only connect to public addresses and those of auth.allow_private
	Pricing                 *Pricing       `yaml:"pricing"`
	Extra                   Extra          `yaml:",inline"` // other keys, passed to the provider

	Disabled string `yaml:"-"` // why the model cannot be used; empty = it can
	Origin   Origin `yaml:"-"` // where the entry was written; Origins of single keys: Snapshot.Origin
}

// Pricing is a model's price per million tokens, in one currency.
type Pricing struct {
	Currency                string   `yaml:"currency"`
	InputPerMillion         float64  `yaml:"input_per_million" min:"0"`
	OutputPerMillion        float64  `yaml:"output_per_million" min:"0"`
	InputCacheHitPerMillion *float64 `yaml:"input_cache_hit_per_million" min:"0"` // nil = InputPerMillion
}
