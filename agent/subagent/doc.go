// Package subagent implements delegation: the kinds of helpers, and the task tool that starts one.
//
// A helper is a run inside the call that started it. The creator of the tool runs it and selects its model and tools;
// this package implements the call's contract: the helper's events, its time limit, and its result for the calling
// model.
package subagent
