package gateway

import (
	"net/http"

	"github.com/labstack/echo/v4"

	"fawn/agent/access"
	"fawn/agent/config"
	"fawn/agent/lead"
	"fawn/web/httpx"
	o "fawn/web/openapi"
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

// describeModels returns the routes for models and their setup.
func describeModels() []o.Op {
	const tag = "Models"
	one := route.Answered("The updated model", o.Ref("ModelSetting"))
	all := route.Answered("All models, including unusable ones",
		o.Of[settingList](o.Is("models", o.List(o.Ref("ModelSetting")))))
	const keys = "Accepts the other keys of models[] too. The API key is stored separately and never returned."
	return []o.Op{
		{ID: "listModels", Tag: tag, Text: "List usable models",
			Out: route.Answered("The models", o.Of[modelList](o.Is("models", o.List(o.Ref("Model")))))},
		{ID: "getModel", Tag: tag, Text: "Get a model", Out: route.Answered("The model", o.Ref("Model"))},
		{ID: "probeModel", Tag: tag, Text: "Test a model with a real call",
			More: "Takes the name of a stored model, an entry of models[], or both to override parts of the stored one. Nothing is saved. Failures quote the provider, with keys masked.",
			Need: true, Body: o.Reads[modelBody](), Fail: []int{404, 409},
			Out: route.Answered("The result of the call", o.Of[probedJSON]())},
		{ID: "discoverModels", Tag: tag,
			Text: "Find model servers on this machine and API keys in the environment (names only)",
			Out: route.Answered("Servers found on the default ports within a second",
				o.Of[discoveredJSON]())},
		{ID: "listPresets", Tag: tag, Text: "List provider presets",
			Out: route.Answered("The presets; their names are values for use",
				o.Of[presetList]())},
		{ID: "listModelSettings", Tag: tag, Text: "List all models with the source of each value", Out: all},
		{ID: "addModel", Tag: tag, Text: "Add a model to the settings", More: keys,
			Need: true, Body: o.Reads[modelBody](o.Req("name", o.String())), Out: one,
			Fail: []int{409}},
		{ID: "changeModel", Tag: tag, Text: "Change a model; null removes an override", More: keys,
			Body: o.Reads[modelBody](o.Without("name")...), Out: one, Fail: []int{409}},
		{ID: "removeModel", Tag: tag, Text: "Remove a model and its key from the settings",
			Out: route.Emptied("Removed; values in config.yaml apply again"), Fail: []int{409}},
		{ID: "setDefaultModel", Tag: tag, Text: "Set the default model",
			More: "An empty name leaves the choice to config.yaml.", Need: true,
			Body: o.Reads[defaultBody](o.Req("name", o.String())), Out: all, Fail: []int{404, 409}},
	}
}

// modelSchemas returns the schemas of describeModels.
func modelSchemas() map[string]o.Schema {
	return map[string]o.Schema{"ModelSetting": o.Of[settingJSON]()}
}
