package settings

import (
	"maps"

	"fawn/agent/config"
	"fawn/views"
)

// knownServer is a popular server with the configuration that its makers recommend.
type knownServer struct {
	name  string
	text  string // catalogue key of its purpose
	entry map[string]any
}

func npx(args ...any) map[string]any {
	return map[string]any{"command": "npx", "args": append([]any{"-y"}, args...)}
}

func uvx(args ...any) map[string]any { return map[string]any{"command": "uvx", "args": args} }

func remote(url string) map[string]any { return map[string]any{"type": "http", "url": url} }

// knownServers returns a short list. Nothing is downloaded before a server is added.
func knownServers() []knownServer {
	return []knownServer{
		{"fetch", "mcp.known.fetch", uvx("mcp-server-fetch")},
		{"time", "mcp.known.time", uvx("mcp-server-time")},
		{"git", "mcp.known.git", uvx("mcp-server-git")},
		{"graph", "mcp.known.graph", npx("@modelcontextprotocol/server-memory")},
		{"playwright", "mcp.known.playwright", npx("@playwright/mcp", "--headless")},
		{"context7", "mcp.known.context7", remote("https://mcp.context7.com/mcp")},
		{"huggingface", "mcp.known.huggingface", remote("https://huggingface.co/mcp")},
		{"linear", "mcp.known.linear", remote("https://mcp.linear.app/mcp")},
		{"notion", "mcp.known.notion", remote("https://mcp.notion.com/mcp")},
		{"sentry", "mcp.known.sentry", remote("https://mcp.sentry.dev/mcp")},
	}
}

// pickedServer returns a server of the list in its configured form.
func pickedServer(name string) config.Servers {
	for _, k := range knownServers() {
		if k.name == name {
			return config.Servers{k.name: maps.Clone(k.entry)}
		}
	}
	return nil
}

// knownToAdd returns known servers that are not configured.
func (h *Handlers) knownToAdd() (out []views.KnownServer) {
	have := h.Config.Current().Extensions.MCPServers
	for _, k := range knownServers() {
		if _, ok := have[k.name]; !ok {
			_, far := k.entry["url"]
			out = append(out, views.KnownServer{Name: k.name, Text: k.text, Remote: far})
		}
	}
	return out
}
