// Package process runs MCP servers as child processes: it limits their output rate, splits their error output into
// lines, and ends all their descendants.
//
// It doesn't interpret the output: package mcp implements the protocol.
package process
