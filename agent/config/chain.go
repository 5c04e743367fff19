package config

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

// Provider selects an implementation by class path and passes it its settings.
type Provider struct {
	Use    string `yaml:"use"`
	Config Extra  `yaml:"config"`
}
