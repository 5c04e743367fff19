// Package request parses the request for a run: the body of LangGraph's run-create call, with its input, command,
// options and secrets. It validates the request itself; package runs checks conditions that depend on the thread or the
// caller.
package request
