package api_test

import (
	"log/slog"
	"testing"

	"fawn/agent/mcp"
	"fawn/web/route"
)

// withMCP has no MCP servers yet.
func withMCP(t *testing.T) option {
	t.Helper()
	p := mcp.New(mcp.Options{Dir: t.TempDir(), Log: slog.New(slog.DiscardHandler)})
	t.Cleanup(func() {
		if err := p.Close(); err != nil {
			t.Error(err)
		}
	})
	return func(d *route.Deps) { d.MCP = p }
}
