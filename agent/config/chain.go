package config

import "time"

// Title names a thread after its first answer.
type Title struct {
	Enabled        bool   `yaml:"enabled"`
	MaxWords       int    `yaml:"max_words" min:"1" max:"20"`
	MaxChars       int    `yaml:"max_chars" min:"10" max:"200"`
	ModelName      string `yaml:"model_name"`      // empty = the run's model
	PromptTemplate string `yaml:"prompt_template"` // empty = built in; knows {max_words}, {user_msg}, {assistant_msg}
}

// Summarization shortens a long conversation for the model; the stored messages stay whole.
type Summarization struct {
	Enabled                bool          `yaml:"enabled"`                          // false leaves only the guard against overflow
	ModelName              string        `yaml:"model_name"`                       // empty = the run's model
	Trigger                []ContextSize `yaml:"trigger" one:"true"`               // any of them starts it
	Keep                   ContextSize   `yaml:"keep"`                             // what stays unsummarised
	TrimTokensToSummarize  int           `yaml:"trim_tokens_to_summarize" min:"0"` // tokens handed to the summary call; 0 = no limit
	SummaryPrompt          string        `yaml:"summary_prompt"`                   // empty = built in
	SkillFileReadToolNames []string      `yaml:"skill_file_read_tool_names"`
	PreserveRecentSkills   *int          `yaml:"preserve_recent_skill_count"`            // no longer used by DeerFlow; read and ignored
	PreserveSkillTokens    *int          `yaml:"preserve_recent_skill_tokens"`           // no longer used by DeerFlow; read and ignored
	PreserveSkillTokensPer *int          `yaml:"preserve_recent_skill_tokens_per_skill"` // no longer used by DeerFlow; read and ignored
}

// ContextSize is an amount of conversation.
type ContextSize struct {
	Type  string  `yaml:"type" enum:"fraction|tokens|messages" required:"true"` // fraction is of the model's context window
	Value float64 `yaml:"value" min:"0" required:"true"`
}

// Suggestions offers follow-up questions.
type Suggestions struct {
	Enabled        bool `yaml:"enabled"`
	MaxSuggestions int  `yaml:"max_suggestions" min:"1" max:"5"`
}

// InputPolish rewrites a draft before it is sent.
type InputPolish struct {
	Enabled   bool   `yaml:"enabled"`
	MaxChars  int    `yaml:"max_chars" min:"1"`
	ModelName string `yaml:"model_name"` // empty = the first model
}

// LoopDetection stops a model that repeats the same calls.
type LoopDetection struct {
	Enabled           bool                `yaml:"enabled"`
	WarnThreshold     int                 `yaml:"warn_threshold" min:"1"`
	HardLimit         int                 `yaml:"hard_limit" min:"1"`
	WindowSize        int                 `yaml:"window_size" min:"1"` // tool calls looked back at
	MaxTrackedThreads int                 `yaml:"max_tracked_threads" min:"1"`
	ToolFreqWarn      int                 `yaml:"tool_freq_warn" min:"1"`
	ToolFreqHardLimit int                 `yaml:"tool_freq_hard_limit" min:"1"`
	ToolFreqOverrides map[string]ToolFreq `yaml:"tool_freq_overrides"`
}

// ToolFreq replaces the frequency limits for one tool.
type ToolFreq struct {
	Warn      int `yaml:"warn" min:"1" required:"true"`
	HardLimit int `yaml:"hard_limit" min:"1" required:"true"` // at least Warn
}

// Safety reacts to an answer the provider broke off for safety reasons.
type Safety struct {
	Enabled   bool       `yaml:"enabled"`
	Detectors []Provider `yaml:"detectors"` // empty = built in
}

// Provider selects an implementation by class path and hands it its settings.
type Provider struct {
	Use    string `yaml:"use"`
	Config Extra  `yaml:"config"`
}

// TokenBudget limits what one run and one thread may spend. Money is in the currency of the
// model's pricing.
type TokenBudget struct {
	Enabled           bool    `yaml:"enabled"`
	MaxTokens         int     `yaml:"max_tokens" min:"1"`
	MaxThreadTokens   int     `yaml:"max_thread_tokens" min:"0"` // 0 = no limit
	MaxCost           float64 `yaml:"max_cost" min:"0"`          // of one run; 0 = no limit
	MaxThreadCost     float64 `yaml:"max_thread_cost" min:"0"`   // 0 = no limit
	MaxInputTokens    int     `yaml:"max_input_tokens" min:"1"`  // 0 = no own limit
	MaxOutputTokens   int     `yaml:"max_output_tokens" min:"1"` // 0 = no own limit
	WarnThreshold     float64 `yaml:"warn_threshold" min:"0" max:"1"`
	HardStopThreshold float64 `yaml:"hard_stop_threshold" min:"0" max:"1"`
}

// LLMCall limits and repeats calls to providers.
type LLMCall struct {
	MaxConcurrentCalls  int           `yaml:"max_concurrent_calls" min:"0" reload:"restart"` // of the whole server; 0 = no limit
	RetryMaxAttempts    int           `yaml:"retry_max_attempts" min:"1"`                    // 1 = never repeat
	RetryBaseDelay      time.Duration `yaml:"retry_base_delay_ms" unit:"ms" min:"0"`
	RetryCapDelay       time.Duration `yaml:"retry_cap_delay_ms" unit:"ms" min:"0"`
	BurstRetryBaseDelay time.Duration `yaml:"burst_retry_base_delay_ms" unit:"ms" min:"0"`
}

// CircuitBreaker stops calling a provider that keeps failing.
type CircuitBreaker struct {
	FailureThreshold int           `yaml:"failure_threshold" min:"1"`
	RecoveryTimeout  time.Duration `yaml:"recovery_timeout_sec" min:"1"`
}
