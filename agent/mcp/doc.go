// Package mcp offers the tools of MCP servers to agents.
//
// A [Pool] knows the configured servers. It starts each in the background to learn its tools,
// and once more for every thread that calls one, so that no two threads share what a server
// keeps in mind. Nothing here makes a model call wait: tools come from what a server listed
// last, which outlives restarts, and a server that hangs or dies concerns nobody but its callers.
//
// Servers are not trusted. What they send is bounded in bytes, a tool whose description has
// changed since it was first seen is withheld until the owner agrees, and no value of a secret
// is in a result, an error or a log line.
package mcp
