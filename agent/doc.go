// Package agent is the core of Fawn: messages, the thread state with its reducers, the
// request a model sees, tools, middleware hooks, and the loop which ties them together.
//
// It imports only the standard library and knows neither storage nor HTTP. A caller hands
// [Agent.Run] a [Turn] (one run's private working set) and a [Sink] which stores what
// happens; everything else (config, providers, tools, stages) is built around it.
//
// Read state.go, then agent.go.
package agent
