// Package mcp offers the tools of MCP servers to agents.
//
// A [Pool] knows the configured servers. It starts each in the background to learn its tools, and once more for every
// thread that calls one, so that threads never share a server's memory. No model call waits for this package: tools
// come from the last list a server sent, which survives restarts, and a server that hangs or dies affects only its
// callers.
//
// Servers are not trusted. Their output is bounded in bytes, a tool whose description has changed since it was first
// seen is withheld until the owner agrees, and no secret appears in a result, an error or a log line.
//
// Processes, questions to people, long calls and OAuth are packages below. Begin with pool.go, then session.go and
// call.go.
package mcp
