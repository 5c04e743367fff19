package config

// WindowOf returns the context window in tokens of the model that wrote an answer: name is its configured name,
// provider the provider's name, used if no name was recorded. 0 is unknown.
func (s *Snapshot) WindowOf(name, provider string) int {
	for _, m := range s.File.Models {
		if m.ContextWindow > 0 && (m.Name == name || name == "" && (m.Name == provider || m.Model == provider)) {
			return m.ContextWindow
		}
	}
	return 0
}
