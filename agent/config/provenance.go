package config

import "slices"

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
