package lead

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"fawn/agent/browsing"
	"fawn/agent/community"
	"fawn/agent/config"
	"fawn/agent/llm"
	"fawn/agent/tools"
	"fawn/sandbox"
)

// Classes lets the configuration validate class paths.
func Classes() config.Classes {
	return config.Classes{
		Model:   func(m config.Model) error { return llm.Check(ModelConfig(m)) },
		Tool:    checkTool,
		Sandbox: func(use string) error { _, err := sandboxClass(use); return err },
		Guard:   checkGuard,
		Roles:   checkRoles,
	}
}

// toolOf returns the name of the built-in tool for an entry of tools[]: the end of its class path, or its own name
// without one.
func toolOf(t config.Tool) string {
	if t.Use == "" || slices.Contains(community.Names(), t.Name) && !strings.ContainsAny(t.Use, ":.") {
		return t.Name // a service of web tools may go by its bare name
	}
	return strings.TrimSuffix(t.Use[strings.LastIndexAny(t.Use, ":.")+1:], "_tool")
}

// toolLimits returns the limits of the built-in tools, which entries of tools[] can lower.
func toolLimits(f config.File) tools.Limits {
	s, l := f.Sandbox, tools.DefaultLimits()
	l.ListChars, l.ReadChars = orUnlimited(s.LsOutputMaxChars), orUnlimited(s.ReadFileOutputMaxChars)
	l.WriteBytes = int(min(s.WriteFileMaxBytes, math.MaxInt32)) // 0 is no limit here too
	for _, t := range f.Tools {
		most, ok := t.Extra["max_results"].(int)
		if !ok || most < 1 || t.Disabled != "" {
			continue
		}
		switch toolOf(t) {
		case "glob":
			l.GlobResults = min(l.GlobResults, most)
		case "grep":
			l.GrepResults = min(l.GrepResults, most)
		}
	}
	return l
}

// checkTool explains why there is no tool for an entry of tools[].
func checkTool(t config.Tool) error {
	known := toolNames()
	if name := toolOf(t); slices.Contains(community.Names(), name) {
		_, err := community.Resolve(name, t.Use)
		return err
	}
	if slices.Contains(known, toolOf(t)) || slices.Contains(browsing.Aliases(), toolOf(t)) {
		return nil
	}
	list := "the tools there are need no entry: " + strings.Join(known, ", ")
	return fmt.Errorf("unknown tool class %q; %s", t.Use, list)
}

// toolNames returns all tools that models can be offered.
func toolNames() []string {
	names := append(community.Names(), "bash", tools.Todos().Name)
	names = append(names, browsing.Names()...)
	own := append(tools.Builtin(nil, tools.DefaultLimits(), nil), tools.Media(nil, tools.Models{})...)
	for _, t := range own {
		names = append(names, t.Name)
	}
	slices.Sort(names)
	return names
}

// SandboxProvider returns the configured provider. Without one, DeerFlow's class paths decide: its local one means
// the strongest that works, its container one an engine.
func SandboxProvider(snap *config.Snapshot) string {
	s := snap.File.Sandbox
	if s.Use == "" || snap.Origin("sandbox.provider").Source != "default" {
		return s.Provider
	}
	if p, err := sandboxClass(s.Use); err == nil {
		return p
	}
	return s.Provider
}

// sandboxClass returns the provider for a class path of DeerFlow.
func sandboxClass(use string) (string, error) {
	path := strings.TrimPrefix(strings.TrimPrefix(use, "deerflow."), "src.")
	module, _, _ := strings.Cut(path, ":")
	switch {
	case module == "sandbox.local" || strings.HasPrefix(module, "sandbox.local."):
		return sandbox.ProviderAuto, nil
	case module == "community.aio_sandbox" || strings.HasPrefix(module, "community.aio_sandbox."):
		return sandbox.ProviderDocker, nil
	}
	return "", fmt.Errorf("unknown sandbox class %q: sandbox.provider %s decides instead; supported are deerflow.sandbox.local:LocalSandboxProvider "+
		"(the strongest sandbox that works here) and deerflow.community.aio_sandbox:AioSandboxProvider (Docker or Podman)",
		use, sandbox.ProviderAuto)
}

// checkRoles returns the reason why no role can be authorized.
func checkRoles(use string) error {
	if isRoles(use) {
		return nil
	}
	return fmt.Errorf("unknown class %q, so every check fails; supported: deerflow.authz.rbac:RbacAuthorizationProvider", use)
}

// checkGuard returns the reason why a guard can't be used.
func checkGuard(use string) error {
	if isAllowList(use) {
		return nil
	}
	return fmt.Errorf("unknown guard class %q, so every check fails; supported: deerflow.guardrails.builtin:AllowlistProvider", use)
}
