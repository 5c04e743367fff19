// Package lead builds the lead agent of a run from the configuration of the moment: the
// model, the tools, the chain of stages and the system prompt. What a stage or a tool does is its own
// package's matter; how a run is driven and stored, that of package runs.
package lead
