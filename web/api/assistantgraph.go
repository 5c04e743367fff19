package api

import (
	"net/http"

	"github.com/labstack/echo/v4"

	"fawn/agent"
	"fawn/web/api/wire"
	"fawn/web/httpx"
	"fawn/web/route"
)

func (m mount) assistantGraph(c echo.Context) error {
	if _, err := m.AssistantByID(c, route.Param(c, "aid")); err != nil {
		return err
	}
	type node struct {
		ID   string `json:"id"`
		Type string `json:"type"`
		Data any    `json:"data"`
	}
	type edge struct {
		Source      string `json:"source"`
		Target      string `json:"target"`
		Conditional bool   `json:"conditional"`
	}
	step := func(name string) node {
		return node{name, "runnable", map[string]any{"id": []string{"fawn", name}, "name": name}}
	}
	return httpx.JSON(c, http.StatusOK, map[string]any{
		"graph_id": wire.GraphID,
		"nodes": []node{{agent.NodeStart, "schema", map[string]any{"type": "object"}}, step(agent.NodeModel),
			step(agent.NodeTools),
			{agent.NodeEnd, "schema", map[string]any{"type": "object"}}},
		"edges": []edge{{agent.NodeStart, agent.NodeModel, false}, {agent.NodeModel, agent.NodeTools, true},
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
		map[string]any{"graph_id": wire.GraphID, "state_schema": state, "output_schema": state,
			"input_schema":  map[string]any{"type": "object", "properties": map[string]any{"messages": list}},
			"config_schema": options, "context_schema": options})
}

func (m mount) assistantSubgraphs(c echo.Context) error {
	if _, err := m.AssistantByID(c, route.Param(c, "aid")); err != nil {
		return err
	}
	return httpx.JSON(c, http.StatusOK, map[string]any{})
}
