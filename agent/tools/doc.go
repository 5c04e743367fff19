// Package tools contains the built-in tools. [Builtin] lists them; each has its description for the model in a file
// next to it.
//
// A tool fails in one of two ways: with a result that explains the error, so that the model can correct it, or with a
// Go error if it couldn't work at all. No text contains a host path.
//
// Tools of MCP servers, browsers and web services are in other packages. Begin with builtin.go, then ls.go.
package tools
