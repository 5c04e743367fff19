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

// New returns the routes. The API implements what they share with LangGraph's.
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
		describeKnowledge(),
		describePrompts(),
		describeFeatures(),
		describeBrowser(),
		describeAuth(),
		describeGroups(),
		describeChannels(),
		describeUnavailable(),
	), new(Gateway).table(), true)
}

// describeFeatures describes the route of optional features.
func describeFeatures() []openapi.Op {
	return []openapi.Op{{ID: "getFeatures", Tag: "Server", Text: "Optional features of the gateway",
		Out: route.Answered("The features", openapi.Of[featuresJSON]())}}
}

// Schemas returns the named schemas of [Operations], in addition to those of the API.
func Schemas() map[string]openapi.Schema {
	all := map[string]openapi.Schema{
		"ScheduledTask":    describedTask(),
		"ScheduledTaskRun": describedTaskRun(),
		"Model":            openapi.Of[modelJSON](),
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
	maps.Copy(all, knowledgeSchemas())
	maps.Copy(all, promptSchemas())
	return all
}
