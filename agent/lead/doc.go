// Package lead builds the agent of a run from the configuration of the moment: model, tools, chain of stages and system
// prompt. A stage or tool belongs to its own package; driving and storing a run to package runs.
//
// Begin with lead.go, then chain.go, the order of all stages.
package lead
