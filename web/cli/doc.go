// Package cli implements the commands other than serving: maintenance (doctor, backup, fsck, import), running one task,
// and an MCP server on standard input. Each exported function is one command; package main parses the flags.
//
// Commands about accounts are in package web, because a running server carries them out too.
package cli
