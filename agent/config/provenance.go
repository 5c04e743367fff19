package config

import "slices"

// ModelSetting is a model with all that the settings page tells about it.
type ModelSetting struct {
	Model
	Default    bool // it answers unless another is asked for
	HasKey     bool
	InConfig   bool              // config.yaml has an entry of this name
	InSettings bool              // so has DIR/settings.yaml, which RemoveModel takes away
	Origins    map[string]Origin // where each of its keys was written
}

// ModelSettings lists all models, those that cannot be used too, in the order written.
func (s *Snapshot) ModelSettings() []ModelSetting {
	ours, pages := s.written[0].names("models"), s.written[1].names("models")
	usable := s.UsableModels()
	out := make([]ModelSetting, 0, len(s.File.Models))
	for _, m := range s.File.Models {
		one := ModelSetting{Model: m, HasKey: m.APIKey != "", InConfig: slices.Contains(ours, m.Name),
			InSettings: slices.Contains(pages, m.Name),
			Default:    len(usable) > 0 && usable[0].Name == m.Name, Origins: map[string]Origin{}}
		for _, f := range s.tree.entry("models", m.Name).all() {
			one.Origins[f.key] = f.value.origin()
		}
		out = append(out, one)
	}
	return out
}

// names are the names of the entries of a list.
func (n *node) names(key string) []string {
	var out []string
	if list := n.get(key); list != nil {
		for _, item := range list.items {
			if name := item.name(); name != "" {
				out = append(out, name)
			}
		}
	}
	return out
}

// entry is the item of a list with that name, or nil.
func (n *node) entry(key, name string) *node {
	if list := n.get(key); list != nil {
		for _, item := range list.items {
			if item.name() == name {
				return item
			}
		}
	}
	return nil
}

// all are the fields of a node that may be nil.
func (n *node) all() []field {
	if n == nil {
		return nil
	}
	return n.fields
}
