package config

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"time"

	"fawn/agent/clusterstate"
	"fawn/agent/config/extensions"
	"fawn/agent/config/servers"
	"fawn/agent/config/syntax"
)

// ErrChanged means that another server changed the edited settings meanwhile.
var ErrChanged = fmt.Errorf("these settings: %w; reload them", clusterstate.ErrChanged)

// errNoKey is ErrNoKey for the field that a form has for it.
var errNoKey = &EditError{"api_key", NoSecretKey, clusterstate.ErrNoKey.Error()}

// KeepsSecrets explains why no secrets can be stored, if so.
func (s *Store) KeepsSecrets() error {
	if s.rows != nil && !s.rows.Sealing() {
		return errNoKey
	}
	return nil
}

const (
	swapTime  = 15 * time.Second // limit of one edit
	swapTries = 10               // attempts after concurrent changes of other servers
)

// sharedDocs returns the documents that several servers share in the place of files.
func (s *Snapshot) sharedDocs() map[string]string {
	return map[string]string{settingsName: s.SettingsPath(), secretsName: s.SecretsPath(),
		extensionsName: s.ExtensionsPath}
}

// Share stores settings in shared rows instead of files from now on. The first server imports its files. Changes of
// others take effect when rows reports them, or at the next Poll.
func (s *Store) Share(ctx context.Context, rows *clusterstate.Rows) error {
	if s.fixed {
		return ErrFixed
	}
	if err := s.publish(ctx, rows); err != nil {
		return err
	}
	s.rows = rows
	rows.Compare(s.sum)
	rows.Hear(func([]string) error { s.Poll(); return nil })
	s.Poll()
	if problem := s.Problem(); problem != "" {
		return errors.New(problem)
	}
	s.boot = s.Current() // including the rows of other servers
	return nil
}

// sum returns a hash of the effective config.yaml.
func (s *Store) sum() string {
	var text []byte
	if main := s.Current().written[0]; main != nil && main.Source != nil {
		text = main.Source.Data
	}
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:8])
}

// Shared reports whether the servers of a database share their settings, and whether the settings may contain keys.
func (s *Store) Shared() (shared, keys bool) { return s.rows != nil, s.rows == nil || s.rows.Sealing() }

// Differing returns the other servers that have another config.yaml.
func (s *Store) Differing() []string {
	if s.rows == nil {
		return nil
	}
	return s.rows.Differing()
}

// publish imports this server's files into rows that no server has written yet. Secrets stay in their file if they can't
// be sealed.
func (s *Store) publish(ctx context.Context, rows *clusterstate.Rows) error {
	cur := s.Current()
	var docs []clusterstate.Doc
	for name, path := range cur.sharedDocs() {
		if rows.Get(name).Version > 0 || path == "" {
			continue
		}
		_, data, err := readSeen(path)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("publish %s to the other servers: %w", name, err)
		}
		d := clusterstate.Doc{Name: name, Body: data, Secret: secretDoc(name, data)}
		if d.Secret && !rows.Sealing() {
			s.log.Warn("secrets in a file differ from the other servers': "+clusterstate.ErrNoKey.Error(),
				"file", path)
			continue
		}
		if d.Body == nil {
			d.Body = []byte(emptyDoc(name))
		}
		docs = append(docs, d)
	}
	for _, d := range docs {
		if err := rows.Put(ctx, d); err != nil && !errors.Is(err, clusterstate.ErrChanged) {
			return fmt.Errorf("publish %s to the other servers: %w", d.Name, err)
		}
	}
	return nil
}

// emptyDoc returns the content of a missing file.
func emptyDoc(name string) string {
	if name == secretsName {
		return "# nothing\n"
	}
	return "{}\n"
}

// secretDoc reports whether a document has secrets in clear.
func secretDoc(name string, data []byte) bool {
	src := &syntax.Source{Label: name, Name: name, Data: data}
	switch name {
	case secretsName:
		values, _ := ParseEnv(name, data)
		for _, v := range values {
			if v != "" {
				return true
			}
		}
		return false
	case extensionsName:
		o, err := extensions.Parse(data)
		if err != nil {
			return true // its content is unknown
		}
		_, list, err := serversOf(o)
		for _, entry := range list {
			if servers.Secret(entry) {
				return true
			}
		}
		return err != nil
	}
	n, err := syntax.ParseYAML(src)
	return err != nil || secretNode(n, false)
}

// secretNode reports whether a text of the settings is a secret and not the name of a variable.
func secretNode(n *syntax.Node, under bool) bool {
	if n == nil {
		return false
	}
	for _, f := range n.Fields {
		if secretNode(f.Value, under || servers.SecretField(f.Key)) {
			return true
		}
	}
	for _, item := range n.Items {
		if secretNode(item, under) {
			return true
		}
	}
	return n.Shape == syntax.Text && servers.SecretText(n.Text, under)
}

// loading returns load options that use the shared rows instead of files, with the versions of those rows.
func (s *Store) loading() Options {
	o := s.opts
	if s.rows == nil {
		return o
	}
	o.instead, o.versions = map[string][]byte{}, map[string]int64{}
	for name, path := range s.Current().sharedDocs() {
		if d := s.rows.Get(name); d.Body != nil {
			o.instead[path], o.versions[name] = d.Body, d.Version
		}
	}
	return o
}

// put applies drafts to the loaded configuration.
func (o *Options) put(drafts map[string][]byte) {
	if o.instead == nil {
		o.instead = drafts
		return
	}
	maps.Copy(o.instead, drafts)
}

// outdated reports whether the shared rows are newer than the configuration in force.
func (s *Store) outdated() bool {
	if s.rows == nil {
		return false
	}
	have := s.Current().versions
	for name := range s.Current().sharedDocs() {
		if d := s.rows.Get(name); d.Body != nil && d.Version != have[name] {
			return true
		}
	}
	return false
}

// document returns the document that settings edit: the shared rows, or the file.
func (s *Store) document(name, path string) ([]byte, error) {
	if s.rows != nil {
		if d := s.rows.Get(name); d.Body != nil {
			return d.Body, nil
		}
	}
	_, data, err := readSeen(path)
	return data, err
}

// swap writes documents of which a load has seen the versions. Errors: ErrChanged, and an *EditError for secrets that
// cannot be sealed.
func (s *Store) swap(seen map[string]int64, bodies map[string][]byte) error {
	ctx, cancel := context.WithTimeout(context.Background(), swapTime)
	defer cancel()
	var docs []clusterstate.Doc
	for name, body := range bodies {
		docs = append(docs, clusterstate.Doc{Name: name, Version: seen[name], Body: body, Secret: secretDoc(name, body)})
	}
	err := s.rows.Put(ctx, docs...)
	switch {
	case errors.Is(err, clusterstate.ErrNoKey):
		return errNoKey
	case errors.Is(err, clusterstate.ErrSealed):
		return err
	case errors.Is(err, clusterstate.ErrChanged):
		return ErrChanged
	}
	return err
}

// editShared is edit for shared rows. A change rejected because of existing content isn't retried.
func (s *Store) editShared(change func(*draft) error, may func(next *Snapshot) error) error {
	for try := 1; ; try++ {
		if s.outdated() {
			s.Poll()
		}
		seen := s.loading().versions
		d, err := s.tried(change, may)
		if err != nil {
			return err
		}
		settings, err := d.yaml()
		if err != nil {
			return err
		}
		bodies := map[string][]byte{settingsName: settings}
		if !maps.Equal(d.before, d.secrets) {
			bodies[secretsName] = envFileOf(d.secrets)
		}
		err = s.swap(seen, bodies)
		if !errors.Is(err, ErrChanged) || may != nil || try == swapTries {
			return err
		}
	}
}

// Extensions returns the place of extensions_config.json: shared rows, or the file.
func (s *Store) Extensions() extensions.Place {
	if s.rows == nil {
		return extensions.File(s.Current().ExtensionsPath)
	}
	return sharedExtensions{s}
}

type sharedExtensions struct{ s *Store }

// Read implements [extensions.Place].
func (e sharedExtensions) Read() (extensions.Object, error) {
	d := e.s.rows.Get(extensionsName)
	if d.Body == nil {
		return extensions.Read(e.s.Current().ExtensionsPath)
	}
	return extensions.Parse(d.Body)
}

// Edit implements [extensions.Place]; concurrent changes of other servers are kept.
func (e sharedExtensions) Edit(change func(extensions.Object) (extensions.Object, error),
	check func(data []byte) error) error {
	for try := 1; ; try++ {
		seen := map[string]int64{extensionsName: e.s.rows.Get(extensionsName).Version}
		o, err := e.Read()
		if err != nil {
			return err
		}
		data, err := extensions.Changed(o, change, check)
		if err != nil {
			return err
		}
		err = e.s.swap(seen, map[string][]byte{extensionsName: data})
		if errors.Is(err, errNoKey) {
			return &BadServers{Why: clusterstate.ErrNoKey.Error(), NoKey: true}
		}
		if !errors.Is(err, ErrChanged) || try == swapTries {
			return err
		}
	}
}

// makeFolder creates the folder of an unshared file.
func (s *Store) makeFolder(file string) error {
	if s.rows != nil {
		return nil
	}
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
		return fmt.Errorf("write MCP servers: %w", err)
	}
	return nil
}
