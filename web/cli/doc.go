// Package cli has the commands that a person or a program gives to Fawn beside serving: looking after an
// installation (doctor, backup, fsck, import), doing one task, and being an MCP server on standard input.
// Each exported function is one of them; package main reads their flags.
//
// Commands about accounts are in package web: a running server carries them out, too.
package cli
