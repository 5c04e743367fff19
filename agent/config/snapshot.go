package config

import (
	"path/filepath"
	"slices"
	"time"

	"fawn/agent/config/syntax"
)

// Snapshot is an immutable view of the whole configuration; its slices and maps must not be modified. A run takes one
// at its start and keeps it.
type Snapshot struct {
	File       File
	Extensions Extensions

	DataDir        string    // the folder Fawn writes to
	ConfigPath     string    // config.yaml in use; empty = none was found
	ExtensionsPath string    // the extensions file; it may not exist yet
	LoadedAt       time.Time // when the files were read

	Warnings []Problem  // problems for the owner to check; none prevents anything
	Disabled []Disabled // entries that cannot be used, with the reason

	tree    *syntax.Node
	written [2]*syntax.Node // config.yaml and settings.yaml, before they were merged
	ext     *syntax.Node
	env     *environment
	classes Classes

	ignored  []ignoredValue   // of keys without effect
	versions map[string]int64 // versions of the shared rows
}

// Disabled is an entry that was read but cannot be used.
type Disabled struct {
	Kind   string // "model", "tool" or "mcp server"
	Name   string
	Reason string // for instance "OPENAI_API_KEY is not set"
}

// String returns one sentence without a full stop.
func (d Disabled) String() string { return d.Kind + " " + d.Name + " is disabled: " + d.Reason }

// SettingsPath returns the file which the settings page writes, laid over config.yaml.
func (s *Snapshot) SettingsPath() string { return filepath.Join(s.DataDir, settingsName) }

// SecretsPath returns the file which the settings page writes keys to, read like a .env file.
func (s *Snapshot) SecretsPath() string { return filepath.Join(s.DataDir, secretsName) }

// Model returns the model of that name. It may be disabled.
func (s *Snapshot) Model(name string) (Model, bool) {
	for _, m := range s.File.Models {
		if m.Name == name {
			return m, true
		}
	}
	return Model{}, false
}

// UsableModels returns the models which are not disabled. The first is the default: default_model if
// that one can be used, else the first written. The others follow in the order written.
func (s *Snapshot) UsableModels() []Model {
	out := make([]Model, 0, len(s.File.Models))
	for _, m := range s.File.Models {
		if m.Disabled == "" {
			out = append(out, m)
		}
	}
	first := slices.IndexFunc(out, func(m Model) bool { return m.Name == s.File.DefaultModel })
	if first > 0 {
		m := out[first]
		out = slices.Insert(slices.Delete(out, first, first+1), 0, m)
	}
	return out
}

// Env looks a variable up in the environment, DIR/secrets.env and the .env file, in this order.
func (s *Snapshot) Env(name string) (string, bool) {
	v, _, ok := s.env.lookup(name)
	return v, ok
}

// Origin returns the place where a key's value was written. The path joins keys with dots and names entries of named
// lists by their name: "title.max_words", "models.gpt-5.api_key". Names may contain dots. The source of an unset path
// is "default".
func (s *Snapshot) Origin(path string) Origin {
	if n := s.tree.Find(path); n != nil {
		return n.Origin()
	}
	return Origin{Source: "default"}
}

// WindowOf returns the context window in tokens of the model that wrote an answer: name is its configured name,
// provider the provider's name, used if no name was recorded. 0 is unknown.
func (s *Snapshot) WindowOf(name, provider string) int {
	for _, m := range s.File.Models {
		if m.ContextWindow > 0 && (m.Name == name || name == "" && (m.Name == provider || m.Model == provider)) {
			return m.ContextWindow
		}
	}
	return 0
}
