// Package tools holds the tools that come with the agent. [Builtin] is the
// list of them; each lives in its own file beside the text that explains it to
// the model.
//
// A tool fails in one of two ways: with a result that says what went wrong, so
// that the model can do better, or with a Go error when it could not work at
// all. No text names a path of the host.
package tools
