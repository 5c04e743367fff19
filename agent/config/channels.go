package config

import (
	"fmt"
	"strings"

	"go.yaml.in/yaml/v4"

	"fawn/agent/config/syntax"
)

// Channel is the section channels.<name> of one chat app, with DeerFlow's keys and Fawn's.
type Channel struct {
	Name    string
	Enabled bool
	Keys    Extra // all keys of its section
}

// Channel returns the section of a chat app; written reports whether it exists.
func (f *File) Channel(name string) (c Channel, written bool) {
	c.Name = name
	section, written := f.Channels[name].(map[string]any)
	if !written {
		return c, false
	}
	c.Keys = section
	c.Enabled, _ = section["enabled"].(bool)
	return c, true
}

// ChannelNumber returns a number set directly in channels, or the default.
func (f *File) ChannelNumber(key string, otherwise int) int {
	if n := whole(f.Channels[key]); n > 0 {
		return n
	}
	return otherwise
}

// ChannelText returns a text set directly in channels, empty if it isn't set.
func (f *File) ChannelText(key string) string {
	text, _ := f.Channels[key].(string)
	return text
}

// whole returns a number of a section, 0 if it isn't one.
func whole(v any) int {
	switch n := v.(type) {
	case int:
		return n
	case int64:
		return int(n)
	case float64:
		return int(n)
	}
	return 0
}

// Text returns a key with a string or number, empty if missing.
func (c Channel) Text(key string) string {
	switch v := c.Keys[key].(type) {
	case nil, map[string]any, []any:
		return ""
	case string:
		return v
	default:
		return fmt.Sprint(v)
	}
}

// List returns a key that holds a list of words or numbers, or a single one.
func (c Channel) List(key string) (out []string) {
	list, ok := c.Keys[key].([]any)
	if !ok {
		if one := c.Text(key); one != "" {
			out = append(out, one)
		}
		return out
	}
	for _, v := range list {
		out = append(out, fmt.Sprint(v))
	}
	return out
}

// Switch returns a boolean key, or the default.
func (c Channel) Switch(key string, otherwise bool) bool {
	if on, ok := c.Keys[key].(bool); ok {
		return on
	}
	return otherwise
}

// Section returns a key with a section, nil if missing.
func (c Channel) Section(key string) map[string]any {
	m, _ := c.Keys[key].(map[string]any)
	return m
}

// BotName returns the configured name of a chat app's bot in links.
func (c *ChannelConnections) BotName(name string) string {
	section, _ := c.Extra[name].(map[string]any)
	text, _ := section["bot_username"].(string)
	return strings.TrimPrefix(text, "@")
}

// WritesChannel reports whether config.yaml has a section for a chat app, which settings don't change.
func (s *Snapshot) WritesChannel(name string) bool {
	return s.Writes("channels." + name)
}

// Writes reports whether config.yaml has a key.
func (s *Snapshot) Writes(key string) bool {
	return s.Origin(key).Source != "default" && s.Origin(key).Source != settingsName
}

// secretName returns the variable in which settings keep a credential of a chat app.
func secretName(channel, key string) string {
	return "FAWN_CHANNEL_" + strings.ToUpper(channel+"_"+key)
}

// SetChannel enables a chat app in the settings. Secrets go to DIR/secrets.env, other values to DIR/settings.yaml. Keys
// not given are unchanged.
func (s *Store) SetChannel(name string, values map[string]string, secrets map[string]Secret) error {
	return s.edit(func(d *draft) error {
		section := d.channel(name)
		setValue(section, "enabled", plain("true"))
		for _, key := range sorted(values) {
			setValue(section, key, literal(values[key]))
		}
		for _, key := range sorted(secrets) {
			v := secrets[key].Value()
			if v == "" || len(v) > maxKeyLength || strings.ContainsAny(v, "\r\n\x00") {
				return &EditError{key, BadKey, "a credential is one line of text of at most 8 KiB"}
			}
			d.secrets[secretName(name, key)] = v
			setValue(section, key, literal("$"+secretName(name, key)))
		}
		return nil
	}, nil)
}

// RemoveChannel switches a chat app off in the settings and forgets its credentials.
func (s *Store) RemoveChannel(name string, keys []string) error {
	return s.edit(func(d *draft) error {
		section := d.channel(name)
		for _, key := range keys {
			setValue(section, key, nil)
			delete(d.secrets, secretName(name, key))
		}
		setValue(section, "enabled", plain("false"))
		return nil
	}, nil)
}

// channel returns the section of a chat app, creating it if necessary.
func (d *draft) channel(name string) *yaml.Node {
	all := valueOf(d.root, "channels")
	if all == nil || all.Kind != yaml.MappingNode {
		all = &yaml.Node{Kind: yaml.MappingNode}
		d.set("channels", all)
	}
	section := valueOf(all, name)
	if section == nil || section.Kind != yaml.MappingNode {
		section = &yaml.Node{Kind: yaml.MappingNode}
		setValue(all, name, section)
	}
	return section
}

func plain(word string) *yaml.Node {
	return &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!bool", Value: word}
}

// warnClosed warns about bots in the owner's file without a list of allowed people: DeerFlow then admits everyone, Fawn
// only people who connected their account.
func (s *Snapshot) warnClosed(d *syntax.Decoder) {
	for _, at := range s.tree.Matching([]string{"channels", "*"}, "") {
		on := at.Value.Get("enabled")
		if on == nil || on.Origin().Source == settingsName || at.Key == "channels.session" {
			continue
		}
		if enabled, ok := syntax.ParseBool(on); !ok || !enabled {
			continue
		}
		if list := at.Value.Get("allowed_users"); list != nil && (len(list.Items) > 0 || list.Text != "") {
			continue
		}
		who := "only people who connect their account can write to this bot"
		if !s.File.ChannelConnections.Enabled {
			who = "nobody can write to this bot, because channel_connections.enabled is false"
		}
		where := &syntax.Node{Source: at.Value.Source, Line: at.Line, Col: at.Col}
		d.Warn(where.Problem(`%s.allowed_users is empty: %s. In DeerFlow, everybody can; allowed_users: ["*"] allows that`,
			at.Key, who))
	}
}
