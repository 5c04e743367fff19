package gateway

import (
	"net/http"

	"github.com/labstack/echo/v4"

	"fawn/agent/access"
	"fawn/agent/config"
	"fawn/agent/lead"
	"fawn/web/httpx"
	"fawn/web/route"
)

// modelJSON is the public part of a model, without its address and key. Never how it is reached.
type modelJSON struct {
	Name        string `json:"name"`
	Model       string `json:"model"`
	DisplayName string `json:"display_name"`
	Description string `json:"description"`
	Thinking    bool   `json:"supports_thinking"`
	Effort      bool   `json:"supports_reasoning_effort"`
	Vision      bool   `json:"supports_vision"`
}

// disabledJSON is a model that can't be used as configured, with the reason.
type disabledJSON struct {
	Name   string `json:"name"`
	Reason string `json:"reason"`
}

func modelOf(m config.Model) modelJSON {
	out := modelJSON{Name: m.Name, Model: m.Model, DisplayName: m.DisplayName, Description: m.Description,
		Thinking: m.SupportsThinking, Effort: m.SupportsReasoningEffort, Vision: m.SupportsVision}
	if out.Model == "" {
		out.Model = m.Name
	}
	if out.DisplayName == "" {
		out.DisplayName = m.Name
	}
	return out
}

// switchJSON is whether something is on.
type switchJSON struct {
	Enabled bool `json:"enabled"`
}

type modelList struct {
	Disabled   []disabledJSON `json:"disabled"`
	Models     []modelJSON    `json:"models"`
	TokenUsage switchJSON     `json:"token_usage"` // whether it is shown
}

func (g *Gateway) models(c echo.Context) error {
	s := g.Config()
	may, err := g.Rights(c.Request().Context())
	if err != nil {
		return err
	}
	list := []modelJSON{}
	for _, one := range lead.Permitted(s.UsableModels(), may) {
		list = append(list, modelOf(one))
	}
	disabled := []disabledJSON{}
	for _, one := range s.File.Models {
		if one.Disabled != "" {
			disabled = append(disabled, disabledJSON{one.Name, one.Disabled})
		}
	}
	return httpx.JSON(c, http.StatusOK, modelList{disabled, list, switchJSON{s.File.TokenUsage.Enabled}})
}

func (g *Gateway) model(c echo.Context) error {
	name := route.Param(c, "name")
	may, err := g.Rights(c.Request().Context())
	if err != nil {
		return err
	}
	one, ok := g.Config().Model(name)
	if !ok || one.Disabled != "" || !may.May(access.Model, name) {
		return httpx.Errorf(http.StatusNotFound, "Model '%s' not found", route.Cut(name, 80))
	}
	return httpx.JSON(c, http.StatusOK, modelOf(one))
}

type featuresJSON struct {
	Agents   switchJSON `json:"agents_api"`
	Browser  switchJSON `json:"browser_control"`
	MCPTasks switchJSON `json:"mcp_tasks"`
}

// features responds with the supported optional parts of DeerFlow's gateway.
func (g *Gateway) features(c echo.Context) error {
	return httpx.JSON(c, http.StatusOK,
		featuresJSON{switchJSON{g.Agents != nil && g.Config().File.AgentsAPI.Enabled}, switchJSON{g.browses()},
			switchJSON{g.MCP != nil && g.MCP.FollowsTasks()}})
}
