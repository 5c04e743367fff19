package projects

import (
	"slices"

	"fawn/agent/access"
	"fawn/store"
)

// Shown returns a project's settings without names that a member has no right to.
func Shown(s store.ProjectSettings, may access.Rights) store.ProjectSettings {
	if s.Model != "" && !may.May(access.Model, s.Model) {
		s.Model = ""
	}
	if s.Agent != "" && !may.May(access.Agent, s.Agent) {
		s.Agent = ""
	}
	s.Skills, s.Servers = seen(s.Skills, access.Skill, may), seen(s.Servers, access.Server, may)
	return s
}

func seen(list []string, kind access.Kind, may access.Rights) []string {
	if list == nil {
		return nil
	}
	return slices.DeleteFunc(slices.Clone(list), func(name string) bool { return !may.May(kind, name) })
}

// Keep preserves entries in changed lists of skills and servers that the editor may not use and therefore didn't see.
func Keep(s *store.ProjectSettings, was store.ProjectSettings, may access.Rights) {
	s.Skills, s.Servers = kept(s.Skills, was.Skills, access.Skill, may), kept(s.Servers, was.Servers, access.Server, may)
}

func kept(list, was []string, kind access.Kind, may access.Rights) []string {
	if list == nil {
		return nil
	}
	out := slices.Clone(list)
	for _, name := range was {
		if !may.May(kind, name) && !slices.Contains(out, name) {
			out = append(out, name)
		}
	}
	return out
}
