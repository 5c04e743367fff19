package config

import "fawn/agent/config/syntax"

// Classes validate the class paths of a configuration. The packages that use a class supply the function; a nil
// function accepts every path.
type Classes struct {
	Model   func(Model) error // rejects a model that can't be created from its entry
	Tool    func(Tool) error  // rejects a tool that doesn't exist
	Sandbox func(use string) error
	Guard   func(use string) error
	Roles   func(use string) error
}

// checkClasses disables models and tools with an unknown class and warns about others.
func (s *Snapshot) checkClasses(d *syntax.Decoder, at func(string) *syntax.Node) {
	c, f := s.classes, &s.File
	for i := range f.Models {
		m := &f.Models[i]
		if m.Disabled != "" || c.Model == nil {
			continue
		}
		if err := c.Model(*m); err != nil {
			m.Disabled = err.Error()
			s.Disabled = append(s.Disabled, Disabled{Kind: "model", Name: m.Name, Reason: m.Disabled})
		}
	}
	for i := range f.Tools {
		t := &f.Tools[i]
		if t.Disabled != "" || c.Tool == nil {
			continue
		}
		if err := c.Tool(*t); err != nil {
			t.Disabled = err.Error()
			s.Disabled = append(s.Disabled, Disabled{Kind: "tool", Name: t.Name, Reason: t.Disabled})
		}
	}
	warn := func(path, use string, judge func(string) error) {
		if use == "" || judge == nil {
			return
		}
		if err := judge(use); err != nil {
			d.Warn(at(path).Problem("%s: %v", path, err))
		}
	}
	if s.Origin("sandbox.provider").Source == "default" { // otherwise the class path has no effect
		warn("sandbox.use", f.Sandbox.Use, c.Sandbox)
	}
	if f.Guardrails.Enabled {
		warn("guardrails.provider.use", f.Guardrails.Provider.Use, c.Guard)
	}
	if f.Authorization.Enabled {
		warn("authorization.provider.use", f.Authorization.Provider.Use, c.Roles)
	}
}
