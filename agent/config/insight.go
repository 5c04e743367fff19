package config

import "time"

// Metrics configures access to the server's metrics.
type Metrics struct {
	Enabled bool   `yaml:"enabled" reload:"restart"` // serve /metrics for operators
	Token   Secret `yaml:"token"`                    // also grants access as Authorization: Bearer
}

// Tracing configures where traces of runs are sent and what they contain.
type Tracing struct {
	Endpoint    string  `yaml:"endpoint"`                     // of a collector for OTLP over HTTP; empty disables it
	Headers     Headers `yaml:"headers"`                      // sent with every request to it
	ServiceName string  `yaml:"service_name"`                 // name of this server at the collector
	Content     bool    `yaml:"content"`                      // prompts, answers, arguments and results too
	SampleRatio float64 `yaml:"sample_ratio" min:"0" max:"1"` // share of the runs without a parent trace
}

// Inspector configures which details of a run's calls are kept for inspection.
type Inspector struct {
	Enabled bool          `yaml:"enabled" reload:"restart"` // record the calls of each run
	Prompts bool          `yaml:"prompts"`                  // also record the prompts
	Keep    time.Duration `yaml:"keep" min:"0"`             // retention; 0 keeps them as long as the thread
}
