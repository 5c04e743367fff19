package config

import (
	"cmp"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"time"

	"fawn/agent/config/syntax"
	"fawn/sandbox"
	"fawn/sandbox/files"
)

// check validates across keys: values that must fit each other, names that must exist, and choices that Fawn doesn't
// support.
func (s *Snapshot) check(d *syntax.Decoder) {
	f := &s.File
	at := func(path string) *syntax.Node {
		if n := s.tree.Find(path); n != nil {
			return n
		}
		return &syntax.Node{}
	}
	switch f.LogLevel {
	case "warning":
		f.LogLevel = "warn"
	case "critical":
		f.LogLevel = "error"
	}
	if f.Timezone != "" {
		if _, err := time.LoadLocation(f.Timezone); err != nil {
			d.Fail(at("timezone"), "timezone must be a name such as Europe/Berlin, not %q", f.Timezone)
		}
	}
	origins := f.Server.CORSOrigins[:0:0]
	for i, origin := range f.Server.CORSOrigins {
		n := at(fmt.Sprintf("server.cors_origins.%d", i))
		clean, ok := cleanOrigin(origin)
		switch {
		case ok:
			origins = append(origins, clean)
		case n.Variable != "":
			d.Warn(n.Problem("%s: %q is not an origin such as https://example.org and is ignored", n.Variable, origin))
		default:
			d.Fail(n, "server.cors_origins must name single origins such as https://example.org, not %q", origin)
		}
	}
	f.Server.CORSOrigins = origins
	f.LoopDetection.Check(func(entry, problem string) {
		if entry == "" {
			d.Fail(at("loop_detection"), "loop_detection.%s", problem)
			return
		}
		path := "loop_detection." + entry
		d.Fail(at(path), "%s: %s", path, problem)
	})
	for _, a := range f.Summarization.Trigger {
		if problem := a.Check(); problem != "" {
			d.Fail(at("summarization.trigger"), "summarization.trigger: %s", problem)
		}
	}
	if problem := f.Summarization.Keep.Check(); problem != "" {
		d.Fail(at("summarization.keep"), "summarization.keep: %s", problem)
	}
	f.Models = onePerName(f.Models, func(m Model) (string, bool) {
		return m.Name, m.Disabled == ""
	}, func(name string) {
		d.Warn(at("models").Problem("the model %q is given more than once; the first that can be used counts", name))
	})
	f.Tools = onePerName(f.Tools, func(t Tool) (string, bool) { return t.Name, t.Disabled == "" }, func(name string) {
		d.Warn(at("tools").Problem("the tool %q is given more than once; the first that can be used counts", name))
	})
	for i := range f.Models {
		if f.Models[i].Model == "" {
			f.Models[i].Model = f.Models[i].Name
		}
	}
	s.checkModelNames(d, at)
	s.checkDatabase(d)
	s.checkSkillsPath(d, at)
	s.checkServers()
	s.checkClasses(d, at)
	s.warnClosed(d)
}

// cleanOrigin returns scheme://host[:port] in lower case.
func cleanOrigin(text string) (string, bool) {
	u, err := url.Parse(strings.ToLower(strings.TrimSuffix(strings.TrimSpace(text), "/")))
	if err != nil || u.Host == "" || u.Scheme == "" || u.User != nil || u.Path != "" || u.RawQuery != "" ||
		u.Fragment != "" || strings.Contains(u.Host, "*") {
		return "", false
	}
	return u.Scheme + "://" + u.Host, true
}

// onePerName keeps one entry of each name, the first usable one or else the first.
func onePerName[T any](list []T, nameOf func(T) (name string, usable bool), twice func(name string)) []T {
	at := make(map[string]int, len(list))
	told := map[string]bool{}
	out := list[:0:0]
	for _, item := range list {
		name, usable := nameOf(item)
		i, dup := at[name]
		if !dup {
			at[name] = len(out)
			out = append(out, item)
			continue
		}
		if !told[name] {
			told[name] = true
			twice(name)
		}
		if _, had := nameOf(out[i]); !had && usable {
			out[i] = item
		}
	}
	return out
}

// checkModelNames warns of sections which name a model that models[] does not have.
func (s *Snapshot) checkModelNames(d *syntax.Decoder, at func(string) *syntax.Node) {
	f := &s.File
	names := make([]string, 0, len(f.Models))
	for _, m := range f.Models {
		names = append(names, m.Name)
	}
	ask := func(path, name string) {
		if name != "" && name != "offline" && !slices.Contains(names, name) {
			d.Warn(at(path).Problem("%s: there is no model %q in models%s", path, name,
				syntax.Suggest(name, names, true)))
		}
	}
	ask("default_model", f.DefaultModel)
	ask("title.model_name", f.Title.ModelName)
	ask("summarization.model_name", f.Summarization.ModelName)
	ask("input_polish.model_name", f.InputPolish.ModelName)
	ask("skill_evolution.moderation_model_name", f.SkillEvolution.ModerationModelName)
	ask("memory.backend_config.model_name", f.Memory.Backend.ModelName)
	for _, m := range f.Models {
		ask("models."+m.Name+".fallback", m.Fallback)
	}
	for _, name := range sorted(f.Subagents.Agents) {
		if m := f.Subagents.Agents[name].Model; m != "inherit" {
			ask("subagents.agents."+name+".model", m)
		}
	}
	for _, name := range sorted(f.Subagents.CustomAgents) {
		if m := f.Subagents.CustomAgents[name].Model; m != "inherit" {
			ask("subagents.custom_agents."+name+".model", m)
		}
	}
}

// checkSkillsPath warns about a path at which no sandbox can show skills; they stay at the default.
func (s *Snapshot) checkSkillsPath(d *syntax.Decoder, at func(string) *syntax.Node) {
	p := &s.File.Skills.ContainerPath
	if *p == "" || *p == files.Skills {
		*p = files.Skills
	} else if err := sandbox.CheckMountPath(*p); err != nil {
		d.Warn(at("skills.container_path").Problem("skills.container_path: %s; skills stay at %s",
			strings.TrimPrefix(err.Error(), sandbox.ErrConfig.Error()+": "), files.Skills))
		*p = files.Skills
	}
}

// checkServers disables MCP servers that lack a setting their type requires.
func (s *Snapshot) checkServers() {
	for _, name := range sorted(s.Extensions.MCPServers) {
		m := s.Extensions.MCPServers[name]
		if off, _ := m.Extra["disabled"].(bool); off { // as other programs write it
			m.Enabled = false
		}
		if m.Type == "" && m.Command == "" && m.URL != "" {
			m.Type = "http"
		}
		m.Type = cmp.Or(m.Type, "stdio")
		s.Extensions.MCPServers[name] = m
		switch {
		case m.Disabled != "":
			continue
		case m.Type == "stdio" && m.Command == "":
			m.Disabled = "a stdio server needs a command"
		case m.Type != "stdio" && m.URL == "":
			m.Disabled = "a server of type " + m.Type + " needs a url"
		case m.OAuth != nil && m.OAuth.Enabled && m.OAuth.TokenURL == "" && m.OAuth.GrantType != GrantCode:
			m.Disabled = "oauth of grant type " + m.OAuth.GrantType + " needs a token_url"
		default:
			continue
		}
		s.Extensions.MCPServers[name] = m
		if m.Enabled {
			s.Disabled = append(s.Disabled, Disabled{Kind: mcpServer, Name: name, Reason: m.Disabled})
		}
	}
}

// sorted returns the keys of a map in order, for a stable order of messages.
func sorted[V any](m map[string]V) []string {
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}

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
