package config

import "time"

// Metrics says whether and to whom the server gives numbers about itself.
type Metrics struct {
	Enabled bool   `yaml:"enabled" reload:"restart"` // serve /metrics, for whoever runs the installation
	Token   Secret `yaml:"token"`                    // who sends it as Authorization: Bearer may read them too
}

// Tracing says where traces of runs are sent, and what is in them.
type Tracing struct {
	Endpoint    string  `yaml:"endpoint"`                     // of a collector for OTLP over HTTP; empty sends none there
	Headers     Headers `yaml:"headers"`                      // sent with every request to it
	ServiceName string  `yaml:"service_name"`                 // how the collector knows this server
	Content     bool    `yaml:"content"`                      // prompts, answers, arguments and results too
	SampleRatio float64 `yaml:"sample_ratio" min:"0" max:"1"` // of the runs that nobody's trace leads to
}

// Inspector says what is kept about the calls of runs, for people who look into one.
type Inspector struct {
	Enabled bool          `yaml:"enabled" reload:"restart"` // keep what each call of a run took
	Prompts bool          `yaml:"prompts"`                  // and what models were sent
	Keep    time.Duration `yaml:"keep" min:"0"`             // for so long; 0 is as long as the thread
}
