// Package lead builds the lead agent of a run from the configuration of the moment: the
// model, the tools, the chain of stages and the system prompt.
package lead
