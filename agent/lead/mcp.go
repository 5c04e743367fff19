package lead

import (
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"fawn/agent/config"
	"fawn/agent/mcp"
	"fawn/sandbox"
)

// MCPServers returns the servers that the configuration names.
func MCPServers(s *config.Snapshot) []mcp.Server {
	all := s.Extensions.MCPServers
	out := make([]mcp.Server, 0, len(all))
	for _, name := range slices.Sorted(maps.Keys(all)) {
		out = append(out, mcpServer(name, all[name]))
	}
	return out
}

func mcpServer(name string, m config.MCPServer) mcp.Server {
	s := mcp.Server{Name: name, Off: !m.Enabled, Missing: m.Disabled, Type: m.Type, Command: m.Command, Args: m.Args,
		Env: m.Env.Plain(), URL: m.URL, Headers: m.Headers.Plain(), Routing: mcpRouting(m.Routing),
		ToolRouting: map[string]mcp.Routing{}, NoPrefix: !m.ToolNamePrefix, CallTimeout: m.ToolCallTimeout,
		StartTimeout: m.SessionInitTimeout, Sampling: m.Sampling, PublicOnly: m.PublicOnly}
	if m.Type != mcp.Stdio && m.Type != mcp.SSE {
		s.Type = mcp.HTTP // normalize its spelling
	}
	if s.Sandboxed, s.Hosts = m.Sandboxed, m.Hosts; s.Sandboxed {
		var err error
		if s.Folders, err = mcpFolders(m.Folders); err != nil && s.Missing == "" {
			s.Missing = err.Error()
		}
	}
	for tool, t := range m.Tools {
		if t.Routing != nil {
			s.ToolRouting[tool] = mcpRouting(*t.Routing)
		}
	}
	for key, value := range m.Env {
		if v := value.Value(); config.SecretKey(key) || len(v) >= 8 && !filepath.IsAbs(v) {
			s.Secrets = append(s.Secrets, v)
		}
	}
	slices.Sort(s.Secrets)
	switch o := m.OAuth; {
	case o == nil || !o.Enabled || s.Type == mcp.Stdio:
	case o.GrantType == config.GrantCode:
		s.Client = &mcp.Client{ID: o.ClientID, Secret: o.ClientSecret.Value(), Scope: o.Scope}
	default:
		s.OAuth = &mcp.OAuth{TokenURL: o.TokenURL, Grant: o.GrantType, ClientID: o.ClientID,
			ClientSecret: o.ClientSecret.Value(), RefreshToken: o.RefreshToken.Value(), Scope: o.Scope,
			Audience: o.Audience, TokenField: o.TokenField, TypeField: o.TokenTypeField, ExpiryField: o.ExpiresInField,
			DefaultType: o.DefaultTokenType, Skew: o.RefreshSkew, Params: o.ExtraTokenParams.Plain()}
	}
	return s
}

// mcpFolders returns the folders of this machine visible to a sandboxed server.
func mcpFolders(list []string) ([]mcp.Folder, error) {
	var out []mcp.Folder
	for _, text := range list {
		var f mcp.Folder
		text, f.Write = strings.CutSuffix(text, ":rw")
		var ok bool
		if f.Dir, f.Path, ok = strings.Cut(text, ":"); !ok {
			f.Path = f.Dir
		}
		if !filepath.IsAbs(f.Dir) {
			return nil, fmt.Errorf("folders: %q is not an absolute path", f.Dir)
		}
		if err := sandbox.CheckMountPath(f.Path); err != nil {
			return nil, fmt.Errorf("folders: %w; set another path with %s:/name", err, f.Dir)
		}
		out = append(out, f)
	}
	return out, nil
}

func mcpRouting(r config.Routing) mcp.Routing {
	out := mcp.Routing{Prefer: r.Mode == "prefer", Priority: r.Priority}
	for _, k := range r.Keywords {
		if k = strings.ToLower(strings.TrimSpace(k)); k != "" {
			out.Keywords = append(out.Keywords, k)
		}
	}
	return out
}
