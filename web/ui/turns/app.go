package turns

import (
	"fawn/agent"
	"fawn/agent/mcp"
	"fawn/views"
)

// appOf returns the app that shows the result of a call, nil for none.
func appOf(m *agent.Message) *views.App {
	a := mcp.ReadApp(m.Artifact)
	if a == nil || m.Status == "error" {
		return nil
	}
	return &views.App{Server: a.Server, Tool: a.Tool}
}
