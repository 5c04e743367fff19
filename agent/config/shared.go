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

// ErrChanged means that what was to be edited has been changed by another server meanwhile.
var ErrChanged = fmt.Errorf("these settings: %w; look at them again", clusterstate.ErrChanged)

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
	swapTime  = 15 * time.Second // for one edit
	swapTries = 10               // when other servers change the same
)

// sharedDocs returns the documents that several servers share in the place of files.
func (s *Snapshot) sharedDocs() map[string]string {
	return map[string]string{settingsName: s.SettingsPath(), secretsName: s.SecretsPath(),
		extensionsName: s.ExtensionsPath}
}

// Share has what settings write kept in rows from now on, in the place of files. The first server brings what its
// files say. What others change is put in force when rows says so, or at the next Poll.
func (s *Store) Share(ctx context.Context, rows *clusterstate.Rows) error {
	if s.fixed {
		return ErrFixed
	}
	if err := s.bring(ctx, rows); err != nil {
		return err
	}
	s.rows = rows
	rows.Compare(s.sum)
	rows.Hear(func([]string) error { s.Poll(); return nil })
	s.Poll()
	if problem := s.Problem(); problem != "" {
		return errors.New(problem)
	}
	s.boot = s.Current() // with what the others have
	return nil
}

// sum returns a hash of config.yaml as it is in force.
func (s *Store) sum() string {
	var text []byte
	if main := s.Current().written[0]; main != nil && main.Source != nil {
		text = main.Source.Data
	}
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:8])
}

// Shared reports whether settings are those of all servers of a database, and whether keys can be among them.
func (s *Store) Shared() (shared, keys bool) { return s.rows != nil, s.rows == nil || s.rows.Sealing() }

// Differing returns the other servers that have another config.yaml.
func (s *Store) Differing() []string {
	if s.rows == nil {
		return nil
	}
	return s.rows.Differing()
}

// bring writes what no server has written yet, as the files of this one have it. Secrets stay in their file where
// they cannot be sealed.
func (s *Store) bring(ctx context.Context, rows *clusterstate.Rows) error {
	cur := s.Current()
	var docs []clusterstate.Doc
	for name, path := range cur.sharedDocs() {
		if rows.Get(name).Version > 0 || path == "" {
			continue
		}
		_, data, err := look(path)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("bring %s to the other servers: %w", name, err)
		}
		d := clusterstate.Doc{Name: name, Body: data, Secret: secretDoc(name, data)}
		if d.Secret && !rows.Sealing() {
			s.log.Warn("secrets in a file of this server are not those of the others: "+clusterstate.ErrNoKey.Error(),
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
			return fmt.Errorf("bring %s to the other servers: %w", d.Name, err)
		}
	}
	return nil
}

// emptyDoc is what a file says that is not there.
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
			return true // nobody knows what is in it
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

// loading returns the options of a load, with what servers share in the place of its files, and the versions of that.
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

// put lays drafts over what is loaded.
func (o *Options) put(drafts map[string][]byte) {
	if o.instead == nil {
		o.instead = drafts
		return
	}
	maps.Copy(o.instead, drafts)
}

// outdated says that servers share something newer than what is in force.
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

// document is what settings edit: what servers share, or the file.
func (s *Store) document(name, path string) ([]byte, error) {
	if s.rows != nil {
		if d := s.rows.Get(name); d.Body != nil {
			return d.Body, nil
		}
	}
	_, data, err := look(path)
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

// editShared is edit for what servers share. One that may refuses by what was there is not tried again.
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

// Extensions returns where extensions_config.json is: what servers share, or the file.
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

// Edit implements [extensions.Place]: what other servers change meanwhile stays.
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

// makeFolder makes the folder of a file that is not shared.
func (s *Store) makeFolder(file string) error {
	if s.rows != nil {
		return nil
	}
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
		return fmt.Errorf("write MCP servers: %w", err)
	}
	return nil
}
