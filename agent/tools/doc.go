// Package tools holds the tools that come with the agent. [Builtin] lists them; each is a file beside the text that
// explains it to the model.
//
// A tool fails in one of two ways: with a result that says what went wrong, so that the model can do better, or with a
// Go error when it couldn't work at all. No text names a path of the host.
//
// Tools of MCP servers, browsers and web services are packages of their own. Begin with builtin.go, then ls.go.
package tools
