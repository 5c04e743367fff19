package config

import (
	"fmt"
	"net/url"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"go.yaml.in/yaml/v4"

	"fawn/agent/config/syntax"
)

// WebEdit is an edit of the web tools on the settings page. Nil fields are unchanged.
type WebEdit struct {
	Order    []string           // services to ask first
	Fallback *bool              // ask the next service when one fails
	SearXNG  *string            // address of a self-hosted search engine; empty for none
	Keys     map[string]Secret  // by the service's variable; an empty key is deleted
	Judge    func(string) error // rejects a new address with an error; nil accepts all
	// PublicOnly marks a new address as searxng_public_only. Without it the mark is removed: the owner has seen the
	// address.
	PublicOnly bool
}

// ChangeWeb saves settings of the web tools: keys to DIR/secrets.env, where services find them like environment
// variables, the rest to DIR/settings.yaml.
func (s *Store) ChangeWeb(e WebEdit) error {
	if err := e.check(); err != nil {
		return err
	}
	return s.edit(func(d *draft) error {
		was := s.Current().File.Web
		moved := e.SearXNG != nil && strings.TrimSpace(*e.SearXNG) != was.SearXNGURL
		if at := e.SearXNG; moved && e.Judge != nil {
			if err := e.Judge(strings.TrimSpace(*at)); err != nil {
				return &EditError{"searxng_url", PrivateAddress, err.Error()}
			}
		}
		web := valueOf(d.root, "web")
		if web == nil || web.Kind != yaml.MappingNode {
			web = &yaml.Node{Kind: yaml.MappingNode}
		}
		values := map[string]any{}
		if e.Order != nil {
			values["order"] = texts(e.Order)
		}
		if e.Fallback != nil {
			values["fallback"] = *e.Fallback
		}
		if e.SearXNG != nil {
			values["searxng_url"] = strings.TrimSpace(*e.SearXNG)
			if mark := e.PublicOnly && (moved || was.SearXNGPublic); mark != was.SearXNGPublic {
				values["searxng_public_only"] = mark
			}
		}
		left := maxEditValues
		for _, key := range sorted(values) {
			n, err := valueNode(values[key], &left)
			if err != nil {
				return &EditError{key, BadValue, err.Error()}
			}
			setValue(web, key, n)
		}
		if len(web.Content) > 0 {
			d.set("web", web)
		}
		for name, key := range e.Keys {
			if key == "" {
				delete(d.secrets, name)
			} else {
				d.secrets[name] = key.Value()
			}
		}
		return nil
	}, nil)
}

func (e WebEdit) check() error {
	if e.SearXNG != nil && strings.TrimSpace(*e.SearXNG) != "" {
		u, err := url.Parse(strings.TrimSpace(*e.SearXNG))
		if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" || u.User != nil {
			return &EditError{"searxng_url", BadAddress,
				"an address looks like http://host:8080, without a name or password in it"}
		}
	}
	for name, key := range e.Keys {
		if !syntax.IsVariable(name) {
			return &EditError{name, NotEditable, "this isn't the name of a variable"}
		}
		if text := key.Value(); len(text) > maxKeyLength || !utf8.ValidString(text) ||
			strings.ContainsFunc(text, unicode.IsControl) {
			return &EditError{name, BadKey, "a key is one line of text of at most 8 KiB"}
		}
	}
	return nil
}

// SwitchTool switches a built-in tool on or off for all chats.
func (s *Store) SwitchTool(name string, on bool) error {
	return s.edit(func(d *draft) error {
		off := slices.DeleteFunc(slices.Clone(s.Current().File.DisabledTools), func(t string) bool { return t == name })
		if !on {
			off = append(off, name)
		}
		left := maxEditValues
		n, err := valueNode(texts(off), &left)
		if err != nil {
			return fmt.Errorf("switch %s: %w", name, err)
		}
		d.set("disabled_tools", n)
		return nil
	}, nil)
}

// SetHere reports whether a variable has its value from DIR/secrets.env, which the settings page writes.
func (s *Snapshot) SetHere(name string) bool {
	_, from, ok := s.env.lookup(name)
	return ok && from == secretsName
}

// texts returns a list as edits take it.
func texts(list []string) []any {
	out := make([]any, 0, len(list))
	for _, t := range list {
		out = append(out, t)
	}
	return out
}
