package api

import (
	"net/http"

	"github.com/labstack/echo/v4"

	"fawn/agent"
	"fawn/web/api/wire"
	"fawn/web/httpx"
	"fawn/web/route"
)

// graphJSON is the graph of an assistant.
type graphJSON struct {
	Edges   []graphEdge `json:"edges"`
	GraphID string      `json:"graph_id"`
	Nodes   []graphNode `json:"nodes"`
}

type graphNode struct {
	ID   string         `json:"id"`
	Type string         `json:"type"`
	Data map[string]any `json:"data"`
}

type graphEdge struct {
	Source      string `json:"source"`
	Target      string `json:"target"`
	Conditional bool   `json:"conditional"`
}

// graphSchemas are the JSON Schemas of an assistant.
type graphSchemas struct {
	Config  map[string]any `json:"config_schema"`
	Context map[string]any `json:"context_schema"`
	GraphID string         `json:"graph_id"`
	Input   map[string]any `json:"input_schema"`
	Output  map[string]any `json:"output_schema"`
	State   map[string]any `json:"state_schema"`
}

func (m mount) assistantGraph(c echo.Context) error {
	if _, err := m.AssistantByID(c, route.Param(c, "aid")); err != nil {
		return err
	}
	step := func(name string) graphNode {
		return graphNode{name, "runnable", map[string]any{"id": []string{"fawn", name}, "name": name}}
	}
	return httpx.JSON(c, http.StatusOK, graphJSON{GraphID: wire.GraphID,
		Nodes: []graphNode{{agent.NodeStart, "schema", map[string]any{"type": "object"}}, step(agent.NodeModel),
			step(agent.NodeTools),
			{agent.NodeEnd, "schema", map[string]any{"type": "object"}}},
		Edges: []graphEdge{{agent.NodeStart, agent.NodeModel, false}, {agent.NodeModel, agent.NodeTools, true},
			{agent.NodeModel, agent.NodeEnd, true}, {agent.NodeTools, agent.NodeModel, true},
			{agent.NodeTools, agent.NodeEnd, true}},
	})
}

func (m mount) assistantSchemas(c echo.Context) error {
	if _, err := m.AssistantByID(c, route.Param(c, "aid")); err != nil {
		return err
	}
	list := map[string]any{"type": "array"}
	props := map[string]any{"messages": map[string]any{"type": "array", "items": map[string]any{"type": "object"}}}
	for _, f := range agent.Fields {
		if !f.Hidden {
			props[f.Name] = map[string]any{}
		}
	}
	state := map[string]any{"type": "object", "title": "ThreadState", "properties": props}
	options := map[string]any{"type": "object", "properties": map[string]any{
		"model_name":               map[string]any{"type": "string"},
		"thinking_enabled":         map[string]any{"type": "boolean"},
		"reasoning_effort":         map[string]any{"type": "string"},
		"is_plan_mode":             map[string]any{"type": "boolean"},
		"subagent_enabled":         map[string]any{"type": "boolean"},
		"max_concurrent_subagents": map[string]any{"type": "integer"},
		"agent_name":               map[string]any{"type": "string"},
	}}
	return httpx.JSON(c, http.StatusOK,
		graphSchemas{GraphID: wire.GraphID, State: state, Output: state,
			Input:  map[string]any{"type": "object", "properties": map[string]any{"messages": list}},
			Config: options, Context: options})
}

func (m mount) assistantSubgraphs(c echo.Context) error {
	if _, err := m.AssistantByID(c, route.Param(c, "aid")); err != nil {
		return err
	}
	return httpx.JSON(c, http.StatusOK, map[string]any{})
}
