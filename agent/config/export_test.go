package config

import (
	"os"

	"fawn/agent/config/syntax"
)

// LoadText does what Load does with the content of the files, without touching a disk.
func LoadText(yaml, settings, env, extensions string, lookup func(string) (string, bool)) (*Snapshot, error) {
	values, warnings := ParseEnv(dotEnvName, []byte(env))
	s := &Snapshot{Warnings: warnings,
		env: &environment{real: lookup, files: []envFile{{label: dotEnvName, values: values}}}}
	main, err := syntax.ParseYAML(&syntax.Source{Label: configName, Name: configName, Data: []byte(yaml)})
	if err != nil {
		return nil, err
	}
	over, err := syntax.ParseYAML(&syntax.Source{Label: settingsName, Name: settingsName, Data: []byte(settings)})
	if err != nil {
		return nil, err
	}
	s.ext, err = syntax.ParseJSON(&syntax.Source{Label: extensionsName, Name: extensionsName, Data: []byte(extensions)})
	if err != nil {
		return nil, err
	}
	s.tree = syntax.Merge(main, over)
	if err := s.decode(); err != nil {
		return nil, err
	}
	return s, nil
}

// Find is find in the environment of the process.
func Find(flag, dataDir string) (string, bool) { return find(flag, dataDir, os.LookupEnv) }
