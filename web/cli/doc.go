// Package cli holds the commands beside serving: looking after an installation (doctor, backup, fsck, import), doing
// one task, and being an MCP server on standard input. Each exported function is one command; package main reads their
// flags.
//
// Commands about accounts are in package web, because a running server carries them out too.
package cli
