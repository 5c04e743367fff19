// Package mcp offers the tools of MCP servers to agents.
//
// A [Pool] holds the configured servers. It starts each in the background to list its tools, and once more for every
// thread that calls one, so threads never share a server's memory. No model call waits for this package: tools come
// from the last list of a server, which survives restarts, and a hanging or dead server affects only its callers.
//
// Servers are not trusted. Their output is limited, a tool with a changed description is withheld until the owner
// approves it, and no secret appears in a result, an error or a log line.
//
// Processes, questions to people, long calls and OAuth are packages below. Begin with pool.go, then session.go and
// call.go.
package mcp
