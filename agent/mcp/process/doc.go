// Package process runs MCP servers as children: with a pace for what they say, lines for what they
// complain of, and an end that reaches all they have started.
//
// What they say means nothing here: the protocol is that of package mcp.
package process
