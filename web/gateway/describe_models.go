package gateway

import (
	"fawn/web/route"

	o "fawn/web/openapi"
)

// describeModels are the routes about models and how they are set up.
func describeModels() []o.Op {
	const tag = "Models"
	integer := o.Schema{"type": "integer"}
	entry := []o.Prop{o.Opt("api_key", o.String()), o.Opt("use", o.Nullable(o.String())),
		o.Opt("model", o.Nullable(o.String())), o.Opt("base_url", o.Nullable(o.String())),
		o.Opt("display_name", o.Nullable(o.String())), o.Opt("description", o.Nullable(o.String())),
		o.Opt("max_tokens", o.Nullable(integer)), o.Opt("context_window", o.Nullable(integer)),
		o.Opt("temperature", o.Nullable(o.Number())), o.Opt("supports_thinking", o.Nullable(o.Bool())),
		o.Opt("supports_reasoning_effort", o.Nullable(o.Bool())),
		o.Opt("supports_vision", o.Nullable(o.Bool())), o.Opt("when_thinking_enabled", o.Nullable(o.Map(nil))),
		o.Opt("when_thinking_disabled", o.Nullable(o.Map(nil))),
		o.Opt("thinking", o.Nullable(o.Map(nil))), o.Opt("extra_body", o.Nullable(o.Map(nil))),
		o.Opt("headers", o.Nullable(o.Map(o.String())))}
	one := route.Answered("The updated model", o.Ref("ModelSetting"))
	all := route.Answered("All models, including unusable ones",
		o.Object(o.Req("models", o.List(o.Ref("ModelSetting")))))
	const keys = "Accepts the other keys of models[] too. The API key is stored separately and never returned."
	return []o.Op{
		{ID: "listModels", Tag: tag, Text: "List usable models",
			Out: route.Answered("The models", o.Object(o.Req("models", o.List(o.Ref("Model"))),
				o.Req("disabled", o.List(o.Object(o.Req("name", o.String()), o.Req("reason", o.String())))),
				o.Req("token_usage", o.Object(o.Req("enabled", o.Bool())))))},
		{ID: "getModel", Tag: tag, Text: "Get a model", Out: route.Answered("The model", o.Ref("Model"))},
		{ID: "probeModel", Tag: tag, Text: "Test a model with a real call",
			More: "Takes the name of a stored model, an entry of models[], or both to override parts of the stored one. Nothing is saved. Failures quote the provider, with keys masked.",
			Need: true, Body: o.Body(append([]o.Prop{o.Opt("name", o.String())}, entry...)...), Fail: []int{404, 409},
			Out: route.Answered("The result of the call", o.Object(o.Req("ok", o.Bool()), o.Req("base_url", o.String()),
				o.Req("reply", o.String()), o.Req("latency_ms", o.Int(0)),
				o.Req("error", o.String()), o.Req("error_class", o.String()), o.Req("status", o.Int(0)),
				o.Req("tried", o.List(o.Object(
					o.Req("base_url", o.String()), o.Req("ok", o.Bool()), o.Req("error", o.String()),
					o.Req("latency_ms", o.Int(0))))),
				o.Req("models", o.List(o.String())), o.Req("context_length", o.Int(0))))},
		{ID: "discoverModels", Tag: tag,
			Text: "Find model servers on this machine and API keys in the environment (names only)",
			Out: route.Answered("Servers found on the default ports within a second",
				o.Object(o.Req("keys", o.List(o.String())), o.Req("servers", o.List(o.Object(
					o.Req("name", o.String()), o.Req("base_url", o.String()), o.Req("use", o.String()),
					o.Req("models", o.List(o.Object(o.Req("id", o.String()),
						o.Req("context_length", o.Int(0)), o.Req("max_context_length", o.Int(0)),
						o.Req("supports_vision", o.Bool()), o.Req("supports_tools", o.Bool()),
						o.Req("supports_thinking", o.Bool())))))))))},
		{ID: "listPresets", Tag: tag, Text: "List provider presets",
			Out: route.Answered("The presets; their names are values for use",
				o.Object(o.Req("presets", o.List(o.Object(o.Req("name", o.String()), o.Req("label", o.String()),
					o.Req("base_url", o.String()),
					o.Req("key_variable", o.String()), o.Req("key_set", o.Bool()), o.Req("key_page", o.String()),
					o.Req("local", o.Bool()))))))},
		{ID: "listModelSettings", Tag: tag, Text: "List all models with the source of each value", Out: all},
		{ID: "addModel", Tag: tag, Text: "Add a model to the settings", More: keys,
			Need: true, Body: o.Body(append([]o.Prop{o.Req("name", o.String())}, entry...)...), Out: one,
			Fail: []int{409}},
		{ID: "changeModel", Tag: tag, Text: "Change a model; null removes an override", More: keys,
			Body: o.Body(entry...), Out: one, Fail: []int{409}},
		{ID: "removeModel", Tag: tag, Text: "Remove a model and its key from the settings",
			Out: route.Emptied("Removed; values in config.yaml apply again"), Fail: []int{409}},
		{ID: "setDefaultModel", Tag: tag, Text: "Set the default model",
			More: "An empty name leaves the choice to config.yaml.", Need: true,
			Body: o.Body(o.Req("name", o.String())), Out: all, Fail: []int{404, 409}},
	}
}

// modelSchemas are the shapes of describeModels.
func modelSchemas() map[string]o.Schema {
	source := o.Object(o.Req("source", o.String()), o.Opt("line", o.Int(1)), o.Opt("variable", o.String()),
		o.Opt("from", o.String()))
	return map[string]o.Schema{
		"ModelSetting": o.Object(o.Req("name", o.String()), o.Req("model", o.String()),
			o.Req("display_name", o.String()), o.Req("description", o.String()),
			o.Req("supports_thinking", o.Bool()), o.Req("supports_reasoning_effort", o.Bool()),
			o.Req("supports_vision", o.Bool()),
			o.Req("use", o.String()), o.Req("base_url", o.String()), o.Req("max_tokens", o.Int(0)),
			o.Req("context_window", o.Int(0)), o.Req("disabled", o.String()),
			o.Req("default", o.Bool()), o.Req("has_key", o.Bool()), o.Req("in_config", o.Bool()),
			o.Req("in_settings", o.Bool()), o.Req("sources", o.Map(source))),
	}
}
