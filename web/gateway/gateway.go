package gateway

import (
	"maps"
	"slices"

	"fawn/agent/prompts"
	"fawn/web/api"
	"fawn/web/openapi"
	"fawn/web/route"
)

// Gateway serves the routes that DeerFlow has beside LangGraph's.
type Gateway struct {
	*route.Parts
	api    *api.API
	probes chan struct{} // one for each model that is being called to see whether it answers

	prompts *prompts.Service
}

// New makes the routes. What they have in common with those of LangGraph is the API's.
func New(p *route.Parts, a *api.API) *Gateway {
	return &Gateway{Parts: p, api: a, probes: make(chan struct{}, maxProbes), prompts: &prompts.Service{DB: p.DB,
		Shares: func() bool { return p.Accounts != nil && p.Accounts.Required() }}}
}

// Operations describes every route, in the order the documentation shows them. A test fails for a
// route that is missing here, and for a line without a route.
func Operations() []openapi.Op {
	return route.Place(slices.Concat(
		describeTasks(),
		describeNative(),
		describeAside(),
		describeConsole(),
		describeSandbox(),
		describeModels(),
		describeVersions(),
		describeComparisons(),
		describeProfiles(),
		describeSkills(),
		describeMemory(),
		describeExport(),
		describeImports(),
		describeMCP(),
		describeProjects(),
		describePrompts(),
		describeFeatures(),
		describeBrowser(),
		describeAuth(),
		describeGroups(),
		describeChannels(),
		describeUnavailable(),
	), new(Gateway).table(), true)
}

// describeFeatures is the route that tells what there is.
func describeFeatures() []openapi.Op {
	return []openapi.Op{{ID: "getFeatures", Tag: "Server", Text: "Optional features of the gateway",
		Out: route.Answered("The features", openapi.Map(openapi.Object(openapi.Req("enabled", openapi.Bool()))))}}
}

// Schemas are the shapes [GatewayOperations] refers to by name, beside those of the API.
func Schemas() map[string]openapi.Schema {
	all := map[string]openapi.Schema{
		"ScheduledTask":    describedTask(),
		"ScheduledTaskRun": describedTaskRun(),
		"Model": openapi.Object(openapi.Req("name", openapi.String()), openapi.Req("model", openapi.String()),
			openapi.Req("display_name", openapi.String()),
			openapi.Req("description", openapi.String()),
			openapi.Req("supports_thinking", openapi.Bool()), openapi.Req("supports_reasoning_effort", openapi.Bool()),
			openapi.Req("supports_vision", openapi.Bool())),
	}
	maps.Copy(all, nativeSchemas())
	maps.Copy(all, modelSchemas())
	maps.Copy(all, profileSchemas())
	maps.Copy(all, skillSchemas())
	maps.Copy(all, memorySchemas())
	maps.Copy(all, authSchemas())
	maps.Copy(all, groupSchemas())
	maps.Copy(all, comparisonSchemas())
	maps.Copy(all, mcpSchemas())
	maps.Copy(all, channelSchemas())
	maps.Copy(all, projectSchemas())
	maps.Copy(all, promptSchemas())
	return all
}
