// Package config reads the configuration of a server: config.yaml, the settings saved by the web page, the extensions
// file and the environment. The result is one immutable [Snapshot]. An edit of a file creates a new one, which [Store]
// puts in force after validating it as a whole.
//
// Every key has the name it has in DeerFlow, so an existing config.yaml works unchanged. Keys of features that Fawn
// lacks are accepted and reported (ignored.go).
//
// The package of a feature owns the type, the defaults and the checks of its options; only where values come from, and
// how problems are reported, belongs here. Trees of YAML and JSON are package syntax. Begin with file.go, then load.go.
package config
