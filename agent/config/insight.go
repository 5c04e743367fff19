package config

// Metrics says whether and to whom the server gives numbers about itself.
type Metrics struct {
	Enabled bool   `yaml:"enabled" reload:"restart"` // serve /metrics, for whoever runs the installation
	Token   Secret `yaml:"token"`                    // who sends it as Authorization: Bearer may read them too
}
