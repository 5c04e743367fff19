package config

import "time"

// Memory configures what Fawn remembers about people across threads.
type Memory struct {
	Enabled          bool          `yaml:"enabled"`
	Mode             string        `yaml:"mode" enum:"middleware|tool"` // learn after each turn, or only when the model calls the tools
	InjectionEnabled bool          `yaml:"injection_enabled"`
	Backend          MemoryBackend `yaml:"backend_config" flat:"true"` // its keys are also read directly under memory, as older files have them
}

// MemoryBackend holds the settings of memory itself.
type MemoryBackend struct {
	StoragePath             string        `yaml:"storage_path"` // path of an old memory.json; empty = the data folder
	Debounce                time.Duration `yaml:"debounce_seconds" min:"1" max:"300"`
	QueueMaxDepth           int           `yaml:"queue_max_depth" min:"0"` // waiting conversations; 0 = no limit
	Model                   MemoryModel   `yaml:"model"`
	ModelName               string        `yaml:"model_name"` // a name in models[]; empty = Model, else the run's model
	MaxFacts                int           `yaml:"max_facts" min:"10" max:"500"`
	FactConfidenceThreshold float64       `yaml:"fact_confidence_threshold" min:"0" max:"1"`
	MaxInjectedFacts        int           `yaml:"max_injected_facts" min:"0"`
	MaxInjectionTokens      int           `yaml:"max_injection_tokens" min:"100" max:"8000"`
	GuaranteedCategories    []string      `yaml:"guaranteed_categories"`
	GuaranteedTokenBudget   int           `yaml:"guaranteed_token_budget" min:"0"`

	StalenessReviewEnabled         bool     `yaml:"staleness_review_enabled"`
	StalenessAgeDays               int      `yaml:"staleness_age_days" min:"1"`
	StalenessMinCandidates         int      `yaml:"staleness_min_candidates" min:"1"`
	StalenessMaxRemovalsPerCycle   int      `yaml:"staleness_max_removals_per_cycle" min:"1"`
	StalenessProtectedCategories   []string `yaml:"staleness_protected_categories"`
	StalenessMaxLifetimeMultiplier float64  `yaml:"staleness_max_lifetime_multiplier" min:"1" max:"100"`
	StalenessMaxExtensionDays      int      `yaml:"staleness_max_extension_days" min:"90" max:"36500"`
}

// MemoryModel is a model used for memory alone. All empty = use ModelName or the run's model.
type MemoryModel struct {
	Provider    string   `yaml:"provider"`
	Model       string   `yaml:"model"`
	APIKey      Secret   `yaml:"api_key"`
	BaseURL     string   `yaml:"base_url"`
	Temperature *float64 `yaml:"temperature" min:"0"`
	Extra       Extra    `yaml:",inline"`
}
