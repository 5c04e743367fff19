// Package agent is the core of Fawn: messages, the thread state with its reducers, the request a model sees, tools,
// middleware hooks, and the loop that ties them together.
//
// It imports only the standard library and knows neither storage nor HTTP. A caller hands [Agent.Run] a [Turn], the
// private working set of one run, and a [Sink], which stores what happens. Configuration, providers, tools and stages
// are packages above it.
//
// Begin with state.go, then agent.go.
package agent
