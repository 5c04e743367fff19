package api

import (
	"slices"

	"fawn/web/openapi"
	"fawn/web/route"
)

// Operations describes every route of the table of routes, in the order the documentation shows
// them. A test fails for a route that is missing here, and for a line without a route.
func Operations() []openapi.Op {
	return route.Place(slices.Concat(
		describeThreads(),
		describeState(),
		describeRuns(),
		describeV2(),
		describeAssistants(),
		describeAgents(),
		describeStore(),
		describeCrons(),
		describeFiles(),
		describeServer(),
	), mount{API: new(API)}.routes(), false)
}

// describeServer returns the routes about the server itself.
func describeServer() []openapi.Op {
	const tag = "Server"
	return []openapi.Op{
		{ID: "checkLiveness", Tag: tag, Text: "Check that the server is running",
			Out: route.Answered("The server is running", openapi.Of[okJSON]())},
		{ID: "getInfo", Tag: tag, Text: "Version and features",
			Out: route.Answered("The version", openapi.Of[infoJSON]())},
	}
}
