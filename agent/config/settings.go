package config

import (
	"errors"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"fawn/agent/config/syntax"
)

// Errors of edits of DIR/settings.yaml. A failed edit changes nothing in force.
var (
	ErrFixed       = errors.New("this configuration cannot be edited")
	ErrModelExists = errors.New("a model with this name already exists")
	ErrNoModel     = errors.New("there is no model with this name")
	ErrOwners      = errors.New("the model is defined in config.yaml, which Fawn does not edit")
)

// EditError is a value that settings reject. Key is the key of models[], so a form can mark its field; the reason is
// translated for the reader.
type EditError struct {
	Key     string
	Reason  EditReason
	Message string
}

// EditReason is why an edit is refused.
type EditReason string

// The reasons an edit is refused for.
const (
	KeyElsewhere     EditReason = "key_elsewhere"     // the stored key is for another address
	HeadersElsewhere EditReason = "headers_elsewhere" // the stored headers are for another address
	NoName           EditReason = "no_name"
	BadName          EditReason = "bad_name"
	ReservedName     EditReason = "reserved_name" // used by the built-in model
	NotEditable      EditReason = "not_editable"
	BadAddress       EditReason = "bad_address"
	BadKey           EditReason = "bad_key"
	BadVariable      EditReason = "bad_variable" // a key refers to an environment variable that isn't allowed here
	BadValue         EditReason = "bad_value"
	UnusableModel    EditReason = "unusable_model"
	NoSecretKey      EditReason = "no_secret_key"   // there is no key to seal an API key shared with other servers
	PrivateAddress   EditReason = "private_address" // private addresses aren't allowed for the editing user
)

// EditReasons lists them all.
func EditReasons() []EditReason {
	return []EditReason{KeyElsewhere, HeadersElsewhere, NoName, BadName, ReservedName, NotEditable, BadAddress, BadKey,
		BadVariable, BadValue, UnusableModel, NoSecretKey, PrivateAddress}
}

// Error returns key and message.
func (e *EditError) Error() string { return e.Key + ": " + e.Message }

// ModelEdit is an edit of one model on the settings page.
type ModelEdit struct {
	Name string
	// Fields holds keys of models[] except name and api_key: strings, numbers, bools, lists and objects
	// as in JSON. They are taken literally: $NAME isn't expanded. nil removes the key from the
	// settings, so that config.yaml's value or the default applies again.
	Fields map[string]any
	// Key is the provider's key, stored in DIR/secrets.env and never returned. A text such as $OPENAI_API_KEY refers to
	// that variable in its place. Empty forgets the key; nil keeps it.
	Key *Secret
	// Judge rejects the address of a new model, or a changed address, with an error; nil accepts all.
	Judge func(Model) error
	// PublicOnly marks such a model as public_only, and keeps the edit from saying otherwise. Without it the mark of a model
	// goes with its old address.
	PublicOnly bool
}

// publicOnly is the key of models that are only called at public addresses.
const publicOnly = "public_only"

// Limits of the settings page.
const (
	maxEditValues = 1000 // values of one edit
	maxNameLength = 100
	maxKeyLength  = 8 << 10
)

// AddModel writes a new model to DIR/settings.yaml and its key to DIR/secrets.env. It is in force when
// AddModel returns.
func (s *Store) AddModel(e ModelEdit) error {
	if err := e.check(); err != nil {
		return err
	}
	return s.edit(func(d *draft) error {
		if _, taken := s.Current().Model(e.Name); taken || d.model(e.Name) != nil {
			return fmt.Errorf("%w: %q", ErrModelExists, e.Name)
		}
		return d.put(e.moved())
	}, func(next *Snapshot) error { return e.judge(next) })
}

// moved returns the edit of a model with a changed address.
func (e ModelEdit) moved() ModelEdit {
	if _, given := e.Fields[publicOnly]; e.PublicOnly || !given {
		e.Fields = maps.Clone(e.Fields)
		if e.Fields == nil {
			e.Fields = map[string]any{}
		}
		if e.Fields[publicOnly] = nil; e.PublicOnly {
			e.Fields[publicOnly] = true
		}
	}
	return e
}

// judge refuses an address.
func (e ModelEdit) judge(next *Snapshot) error {
	if e.Judge == nil {
		return nil
	}
	m, _ := next.Model(e.Name)
	if err := e.Judge(m); err != nil {
		return &EditError{"base_url", PrivateAddress, err.Error()}
	}
	return nil
}

// ChangeModel applies an edit to a model, wherever it is written; config.yaml is unchanged. A stored key isn't sent to
// a different address: moving a model requires its key again.
func (s *Store) ChangeModel(e ModelEdit) error {
	if err := e.check(); err != nil {
		return err
	}
	old, known := s.Current().Model(e.Name)
	if !known {
		return fmt.Errorf("%w: %q", ErrNoModel, e.Name)
	}
	laid := e
	if _, err := s.tried(func(d *draft) error { return d.put(e) }, func(next *Snapshot) error {
		if m, _ := next.Model(e.Name); !old.sameAddress(m) {
			laid = e.moved()
		}
		return nil
	}); err != nil {
		return err
	}
	return s.edit(func(d *draft) error { return d.put(laid) }, func(next *Snapshot) error {
		m, _ := next.Model(e.Name)
		if old.sameAddress(m) {
			return nil
		}
		if e.PublicOnly && !m.PublicOnly { // the address was changed meanwhile
			return ErrChanged
		}
		if err := e.judge(next); err != nil {
			return err
		}
		if e.Key == nil && old.APIKey != "" && m.APIKey == old.APIKey {
			return &EditError{"api_key", KeyElsewhere,
				"the address changes; enter the key for it, as the stored key is only used for the old address"}
		}
		if _, given := e.Fields["headers"]; !given && len(old.Headers) > 0 && len(m.Headers) > 0 {
			return &EditError{"headers", HeadersElsewhere,
				"the address changes; set the headers again, as the stored ones are only used for the old address"}
		}
		return nil
	})
}

// Overlaid returns the model with the edit applied, to try it before saving. Nothing is written. An unknown name
// creates a new model.
func (s *Store) Overlaid(e ModelEdit) (Model, error) {
	if err := e.check(); err != nil {
		return Model{}, err
	}
	old, known := s.Current().Model(e.Name)
	var out Model
	_, err := s.tried(func(d *draft) error { return d.put(e) }, func(next *Snapshot) error {
		out, _ = next.Model(e.Name)
		if known && e.Key == nil && old.APIKey != "" && out.APIKey == old.APIKey && !old.sameAddress(out) {
			return &EditError{"api_key", KeyElsewhere, "enter the key too: the stored one is for another address"}
		}
		if known && e.Fields["headers"] == nil && len(old.Headers) > 0 && !old.sameAddress(out) {
			return &EditError{"headers", HeadersElsewhere,
				"set the headers too: the stored ones are for another address"}
		}
		return nil
	})
	return out, err
}

// sameAddress reports whether both addresses mean the same server.
func (m Model) sameAddress(o Model) bool {
	return m.Use == o.Use && m.Dialect == o.Dialect && origin(m.BaseURL) == origin(o.BaseURL)
}

// origin returns scheme and host of an address, or invalid text itself.
func origin(text string) string {
	u, err := url.Parse(strings.TrimSpace(text))
	if err != nil || u.Host == "" {
		return text
	}
	return strings.ToLower(u.Scheme + "://" + u.Host)
}

// RemoveModel removes a model from DIR/settings.yaml and its key from DIR/secrets.env. A model of that name in
// config.yaml becomes effective again.
func (s *Store) RemoveModel(name string) error {
	if _, known := s.Current().Model(name); !known {
		return fmt.Errorf("%w: %q", ErrNoModel, name)
	}
	return s.edit(func(d *draft) error {
		if d.model(name) == nil {
			return fmt.Errorf("%w: remove %q from %s", ErrOwners, name, s.Current().ConfigPath)
		}
		d.remove(name)
		if d.text("default_model") == name && !slices.Contains(s.Current().written[0].Names("models"), name) {
			d.set("default_model", nil)
		}
		return nil
	}, nil)
}

// SetDefaultModel chooses the model that answers unless another is asked for. An empty name leaves the
// choice to config.yaml.
func (s *Store) SetDefaultModel(name string) error {
	if m, known := s.Current().Model(name); name != "" && !known {
		return fmt.Errorf("%w: %q", ErrNoModel, name)
	} else if m.Disabled != "" {
		return &EditError{"default_model", UnusableModel,
			fmt.Sprintf("the model %q cannot be used: %s", name, m.Disabled)}
	}
	return s.edit(func(d *draft) error {
		if name == "" {
			d.set("default_model", nil)
		} else {
			d.set("default_model", literal(name))
		}
		return nil
	}, nil)
}

// check validates across the schema's fields.
func (e ModelEdit) check() error {
	switch n := e.Name; {
	case strings.TrimSpace(n) == "":
		return &EditError{"name", NoName, "give the model a name"}
	case n != strings.TrimSpace(n) || len(n) > maxNameLength || !utf8.ValidString(n) || strings.HasPrefix(n, "$") ||
		strings.ContainsFunc(n, unicode.IsControl):
		return &EditError{"name", BadName,
			fmt.Sprintf("a name has at most %d bytes, no control characters, no space at either end and no leading $",
				maxNameLength)}
	case strings.EqualFold(n, "offline"):
		return &EditError{"name", ReservedName, "offline is the name of the built-in model"}
	}
	for _, key := range []string{"name", "api_key", publicOnly} {
		if _, given := e.Fields[key]; given && (key != publicOnly || e.PublicOnly) {
			return &EditError{key, NotEditable, "this key cannot be changed here"}
		}
	}
	for _, key := range []string{"base_url", "api_base"} {
		text, given := e.Fields[key].(string)
		if u, err := url.Parse(strings.TrimSpace(text)); given && text != "" &&
			(err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" || u.User != nil) {
			return &EditError{key, BadAddress,
				"an address looks like https://host/v1, without a name or password in it"}
		}
	}
	if e.Key == nil {
		return nil
	}
	key := e.Key.Value()
	if len(key) > maxKeyLength || !utf8.ValidString(key) || strings.ContainsFunc(key, unicode.IsControl) {
		return &EditError{"api_key", BadKey, "a key is one line of text of at most 8 KiB"}
	}
	if name, ref := syntax.Reference(key); ref && !strings.HasSuffix(name, "_API_KEY") {
		return &EditError{"api_key", BadVariable,
			"only variables whose names end in _API_KEY can be used here; use config.yaml for others"}
	}
	return nil
}

// ModelSetting is a model with the details shown on the settings page.
type ModelSetting struct {
	Model
	Default    bool // it answers unless another is asked for
	HasKey     bool
	InConfig   bool              // config.yaml has an entry of this name
	InSettings bool              // also in DIR/settings.yaml, from which RemoveModel removes it
	Origins    map[string]Origin // where each of its keys was written
}

// ModelSettings lists all models, including unusable ones, in file order.
func (s *Snapshot) ModelSettings() []ModelSetting {
	ours, pages := s.written[0].Names("models"), s.written[1].Names("models")
	usable := s.UsableModels()
	out := make([]ModelSetting, 0, len(s.File.Models))
	for _, m := range s.File.Models {
		one := ModelSetting{Model: m, HasKey: m.APIKey != "", InConfig: slices.Contains(ours, m.Name),
			InSettings: slices.Contains(pages, m.Name),
			Default:    len(usable) > 0 && usable[0].Name == m.Name, Origins: map[string]Origin{}}
		for _, f := range s.tree.Entry("models", m.Name).All() {
			one.Origins[f.Key] = f.Value.Origin()
		}
		out = append(out, one)
	}
	return out
}

// edit changes the two files and puts the result in force. may checks the resulting configuration, and can refuse it.
func (s *Store) edit(change func(*draft) error, may func(next *Snapshot) error) error {
	if s.fixed {
		return ErrFixed
	}
	s.editing.Lock()
	defer s.editing.Unlock()
	write := s.editFiles
	if s.rows != nil {
		write = s.editShared
	}
	if err := write(change, may); err != nil {
		return err
	}
	s.Poll()
	if problem := s.Problem(); problem != "" {
		return fmt.Errorf("the settings were saved but are not in effect: %s", problem)
	}
	return nil
}

func (s *Store) editFiles(change func(*draft) error, may func(next *Snapshot) error) error {
	d, err := s.tried(change, may)
	if err != nil {
		return err
	}
	cur := s.Current()
	settings, err := d.yaml()
	if err != nil {
		return err
	}
	// A key is written before the entry that names it, and removed after it: a crash in between does no harm.
	both := maps.Clone(d.before)
	maps.Copy(both, d.secrets)
	if !maps.Equal(both, d.before) {
		if err := replace(cur.SecretsPath(), envFileOf(both)); err != nil {
			return err
		}
	}
	if err := replace(cur.SettingsPath(), settings); err != nil {
		return err
	}
	if !maps.Equal(both, d.secrets) {
		if err := replace(cur.SecretsPath(), envFileOf(d.secrets)); err != nil {
			return err
		}
	}
	return nil
}
