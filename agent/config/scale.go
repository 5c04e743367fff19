package config

import (
	"time"

	"fawn/agent/config/syntax"
)

// Database selects the storage of everything but files: SQLite in the data folder, or PostgreSQL.
type Database struct {
	URL            Secret         `yaml:"url" reload:"restart"`                                   // postgres://…; "" is SQLite
	ListenURL      Secret         `yaml:"listen_url" reload:"restart"`                            // address bypassing the pooler
	Schema         string         `yaml:"schema" reload:"restart"`                                // schema in PostgreSQL
	Migrate        string         `yaml:"migrate" enum:"auto|off" reload:"restart"`               // whether a starting server migrates the tables
	Backend        string         `yaml:"backend" enum:"sqlite|memory|postgres" reload:"restart"` // DeerFlow's, for PostgresURL
	PostgresURL    Secret         `yaml:"postgres_url" reload:"restart"`
	PoolSize       int            `yaml:"pool_size" min:"1" reload:"restart"`       // connections that read
	CommandTimeout *time.Duration `yaml:"command_timeout" min:"0" reload:"restart"` // limit of one statement in PostgreSQL, 0 is none
}

// checkDatabase warns of a variable that means another database to DeerFlow.
func (s *Snapshot) checkDatabase(d *syntax.Decoder) {
	if v, _ := s.Env("POSTGRES_URI"); v != "" && s.File.Database.Backend != "postgres" {
		d.Warn(Problem{Message: "POSTGRES_URI has no effect unless database.backend is postgres"})
	}
}

// Cluster is about servers that share a database in PostgreSQL, or take over from each other.
type Cluster struct {
	Enabled bool          `yaml:"enabled" reload:"restart"`                    // several servers have the database at the same time
	Lease   time.Duration `yaml:"lease" min:"6" max:"60" reload:"restart"`     // silence after which another server may take over
	Wake    string        `yaml:"wake" enum:"notify|poll" reload:"restart"`    // how servers learn of each other's changes
	Slots   int           `yaml:"slots" min:"1" max:"100000" reload:"restart"` // concurrent runs per server
}

// Files configures where threads keep their files.
type Files struct {
	Dir       string `yaml:"dir" reload:"restart"` // a folder that all servers share; "" has them in the data folder
	URL       string `yaml:"url" reload:"restart"` // s3://bucket/prefix, which all servers share; folders have copies then
	Endpoint  string `yaml:"endpoint" reload:"restart"`
	Region    string `yaml:"region" reload:"restart"`
	PathStyle bool   `yaml:"path_style" reload:"restart"` // the bucket is in the path, not in the host's name
	AccessKey Secret `yaml:"access_key" reload:"restart"`
	SecretKey Secret `yaml:"secret_key" reload:"restart"`
	Cache     int64  `yaml:"cache" unit:"bytes" min:"0" reload:"restart"` // size of local copies, 0 is unlimited
}

// Scheduler starts runs at given times.
type Scheduler struct {
	Enabled           bool          `yaml:"enabled"`
	PollInterval      time.Duration `yaml:"poll_interval_seconds" min:"1"`
	MaxConcurrentRuns int           `yaml:"max_concurrent_runs" min:"1"`
	MinOnceDelay      time.Duration `yaml:"min_once_delay_seconds" min:"0"`
}

// MCPTasks follows long jobs of MCP servers.
type MCPTasks struct {
	Enabled            bool          `yaml:"enabled"`
	PollInterval       time.Duration `yaml:"poll_interval_seconds" min:"1"`
	MaxConcurrentPolls int           `yaml:"max_concurrent_polls" min:"1"`
}
