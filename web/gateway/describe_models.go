package gateway

import (
	"fawn/web/route"

	o "fawn/web/openapi"
)

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
