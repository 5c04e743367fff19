// Package subagent delegates: the kinds of helpers there are, and the task tool that sends one.
//
// A helper is a run of its own inside the call that asks for it. How it is run, and with which
// model and tools, is left to whoever makes the tool; here is what the call promises: the events
// that tell of a helper, its limit of time, and what its end becomes for the model that sent it.
package subagent
