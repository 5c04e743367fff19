package api

import (
	"net/http"
	"strings"

	"github.com/labstack/echo/v4"

	"fawn/store"
	"fawn/web/api/wire"
	"fawn/web/httpx"
	"fawn/web/route"
)

// agentCards are the ends of addresses at which agents look for each other.
var agentCards = []string{"/.well-known/agent-card.json", "/.well-known/agent.json"}

// agentCard describes the assistant of the query, else the graph's own, to other agents.
func (m mount) agentCard(c echo.Context) error { return m.cardOf(c, c.QueryParam("assistant_id")) }

// assistantCard describes the assistant of the path.
func (m mount) assistantCard(c echo.Context) error { return m.cardOf(c, route.Param(c, "aid")) }

func (m mount) cardOf(c echo.Context, id string) error {
	a, err := m.AssistantByID(c, id)
	if err != nil {
		return err
	}
	prefix, _, _ := strings.Cut(c.Request().URL.Path, "/a2a/")
	for _, end := range agentCards {
		prefix = strings.TrimSuffix(prefix, end)
	}
	return httpx.JSON(c, http.StatusOK,
		m.card(a, httpx.Root(c.Request())+strings.TrimRight(prefix, "/")+"/a2a/"+wire.Canonical(a.ID)))
}

// card is how an assistant introduces itself. It speaks both versions of the protocol.
func (m mount) card(a store.Assistant, url string) map[string]any {
	description := a.Name + " assistant"
	if a.Description != nil && *a.Description != "" {
		description = *a.Description
	}
	kinds := []string{"text/plain", "application/json"}
	return map[string]any{
		"name": a.Name, "description": description, "url": url, "version": m.Version,
		"protocolVersion": "0.3.0", "preferredTransport": "JSONRPC",
		"supportedInterfaces": []any{map[string]string{"url": url, "protocolBinding": "JSONRPC", "protocolVersion": "1.0"}},
		"capabilities": map[string]bool{"streaming": true, "pushNotifications": false,
			"stateTransitionHistory": false},
		"defaultInputModes": kinds, "defaultOutputModes": kinds,
		"skills": []any{map[string]any{"id": wire.Canonical(a.ID) + "-main", "name": a.Name + " Capabilities",
			"description": description,
			"tags":        []string{"assistant", "langgraph"}, "examples": []string{}, "inputModes": kinds,
			"outputModes": kinds}},
	}
}
