package config

// WindowOf returns how many tokens the model reads that made an answer: name is what it is called here, provider what
// its provider calls it, which counts where no name was noted. 0 is not known.
func (s *Snapshot) WindowOf(name, provider string) int {
	for _, m := range s.File.Models {
		if m.ContextWindow > 0 && (m.Name == name || name == "" && (m.Name == provider || m.Model == provider)) {
			return m.ContextWindow
		}
	}
	return 0
}
