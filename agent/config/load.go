package config

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"time"

	"fawn/agent/config/syntax"
)

// Options configure where the configuration is loaded from.
type Options struct {
	Config    string                      // value of the flag --config; empty = search as Find does
	DataDir   string                      // from DataDir; required
	LookupEnv func(string) (string, bool) // nil = os.LookupEnv
	Classes   Classes                     // checks class paths; the zero value accepts all

	instead  map[string][]byte // content by path that replaces files, to try an edit before it is written
	versions map[string]int64  // versions of the shared rows, in a cluster
}

// Load reads the configuration once. Without any file it returns the defaults. Invalid content returns an *Invalid,
// which matches ErrInvalid; a named but missing file matches fs.ErrNotExist.
func Load(o Options) (*Snapshot, error) {
	s, _, err := load(o)
	return s, err
}

// load also returns the files it tried, existing or not; on failure, those tried so far.
func load(o Options) (*Snapshot, []seen, error) {
	r := reader{lookup: o.LookupEnv, instead: o.instead}
	if r.lookup == nil {
		r.lookup = os.LookupEnv
	}
	s := &Snapshot{DataDir: o.DataDir, LoadedAt: time.Now(), classes: o.Classes, versions: o.versions}
	var found bool
	if s.ConfigPath, found = find(o.Config, o.DataDir, r.lookup); !found {
		s.warnFolders()
	}
	env, err := r.environment(s)
	if err != nil {
		return nil, r.seen, err
	}
	s.env = env

	var main *syntax.Node
	if s.ConfigPath != "" {
		src, err := r.read(configName, s.ConfigPath)
		if err != nil {
			return nil, r.seen, err
		}
		if src == nil {
			return nil, r.seen, fmt.Errorf("read configuration: %w",
				&fs.PathError{Op: "open", Path: s.ConfigPath, Err: fs.ErrNotExist})
		}
		if main, err = syntax.ParseYAML(src); err != nil {
			return nil, r.seen, err
		}
	}
	settings, err := r.tree(settingsName, s.SettingsPath(), syntax.ParseYAML)
	if err != nil {
		return nil, r.seen, err
	}
	// .env may name the extensions file, so it is looked up in the whole environment.
	s.ExtensionsPath = findExtensions(s.ConfigPath, o.DataDir, func(name string) (string, bool) { return s.Env(name) })
	if s.ext, err = r.tree(extensionsName, s.ExtensionsPath, syntax.ParseJSON); err != nil {
		return nil, r.seen, err
	}
	s.written = [2]*syntax.Node{main, settings}
	s.tree = syntax.Merge(main, settings)
	if err := s.decode(); err != nil {
		return nil, r.seen, err
	}
	return s, r.seen, nil
}

// warnFolders warns about a folder in place of config.yaml: containers create one if the file to be mounted doesn't
// exist.
func (s *Snapshot) warnFolders() {
	for _, path := range [...]string{configName, filepath.Join(s.DataDir, configName)} {
		if info, err := os.Stat(path); err == nil && info.IsDir() {
			s.Warnings = append(s.Warnings, Problem{File: path, Message: "this is a folder, not a file; it is ignored"})
		}
	}
}

// reader reads files and remembers which ones.
type reader struct {
	lookup  func(string) (string, bool)
	instead map[string][]byte
	seen    []seen
}

// read returns a file's content, or nil if it does not exist.
func (r *reader) read(label, path string) (*syntax.Source, error) {
	was, data, err := readSeen(path)
	r.seen = append(r.seen, was)
	if draft, ok := r.instead[path]; ok {
		data, err = draft, nil
	}
	if errors.Is(err, fs.ErrNotExist) || label == dotEnvName && errors.Is(err, errNotFile) {
		return nil, nil // a folder called .env is often a Python environment
	}
	if err != nil {
		return nil, fmt.Errorf("read configuration: %w", err)
	}
	if base := filepath.Base(path); label != base && label != dotEnvName {
		label = base
	}
	return &syntax.Source{Label: label, Name: path, Data: data}, nil
}

func (r *reader) tree(label, path string, parse func(*syntax.Source) (*syntax.Node, error)) (*syntax.Node, error) {
	src, err := r.read(label, path)
	if src == nil || err != nil {
		return nil, err
	}
	return parse(src)
}

// environment reads DIR/secrets.env and the .env file next to config.yaml.
func (r *reader) environment(s *Snapshot) (*environment, error) {
	env := &environment{real: r.lookup}
	paths := []string{s.SecretsPath()}
	if s.ConfigPath != "" {
		paths = append(paths, filepath.Join(filepath.Dir(s.ConfigPath), dotEnvName))
	}
	for _, path := range paths {
		src, err := r.read(filepath.Base(path), path)
		if err != nil {
			return nil, err
		}
		if src == nil {
			continue
		}
		if len(src.Data) > syntax.MaxBytes {
			return nil, src.Fail(0, 0, "the file is larger than 1 MiB, which no configuration needs")
		}
		values, problems := ParseEnv(path, src.Data)
		env.files = append(env.files, envFile{label: src.Label, values: values})
		s.Warnings = append(s.Warnings, problems...)
	}
	return env, nil
}

// decode fills the snapshot from its trees.
func (s *Snapshot) decode() error {
	var d syntax.Decoder
	s.File, s.Extensions = Default(), Extensions{}
	if s.tree = s.env.overlay(s.tree); s.tree != nil {
		s.env.substitute(s.tree)
		s.takeIgnored(&d, s.tree, IgnoredKeys())
		s.takeIgnored(&d, s.tree, ignoredChannels())
		for _, kind := range [...]string{"model", "tool"} {
			if list := s.tree.Get(kind + "s"); list != nil {
				for _, item := range list.Items {
					s.disable(kind, item.Name(), item, true)
				}
			}
		}
		d.WarnUnset(s.tree, "")
		d.Value(s.tree, reflect.ValueOf(&s.File).Elem(), "", "")
	}
	if s.ext != nil {
		s.env.substitute(s.ext)
		s.takeIgnored(&d, s.ext, ignoredExtensions())
		for _, key := range [...]string{"mcpServers", "mcp_servers", "servers"} {
			if servers := s.ext.Get(key); servers != nil {
				for _, f := range servers.Fields {
					s.disable(mcpServer, f.Key, f.Value, false)
				}
			}
		}
		d.WarnUnset(s.ext, "")
		d.Value(s.ext, reflect.ValueOf(&s.Extensions).Elem(), "", "")
	}
	s.check(&d)
	s.Warnings = append(s.Warnings, d.Warnings...)
	if len(d.Problems) > 0 {
		return &Invalid{Problems: d.Problems}
	}
	return nil
}

const mcpServer = "mcp server"

// disable marks an entry with unset variables. An empty variable counts as unset only with emptyToo: a model without
// its key is useless, a server's variable may be empty.
func (s *Snapshot) disable(kind, name string, n *syntax.Node, emptyToo bool) {
	reasons := n.UnsetUnder(emptyToo, nil)
	if len(reasons) == 0 {
		return
	}
	n.Disabled = strings.Join(reasons, " and ")
	if on := n.Get("enabled"); on != nil {
		if enabled, ok := syntax.ParseBool(on); ok && !enabled {
			return
		}
	}
	s.Disabled = append(s.Disabled, Disabled{Kind: kind, Name: name, Reason: n.Disabled})
}
