package page

import (
	"cmp"

	"fawn/agent/llm/offline"
	"fawn/views"
)

// ModelLabel returns the display name of a model by its provider's name.
func (s *Site) ModelLabel(name string) string {
	if name == offline.Name {
		return views.OfflineModel
	}
	for _, m := range s.Config.Current().File.Models {
		if name == cmp.Or(m.Model, m.Name) {
			return cmp.Or(m.DisplayName, m.Name)
		}
	}
	return name
}
