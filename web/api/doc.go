// Package api is the HTTP API that SDKs speak, LangGraph's, under any prefix. It is a flat list of
// handlers: one file for each thing that routes are about. What DeerFlow has beside it is package gateway,
// and what both share is package route.
//
// Handlers read requests, ask the store and the run manager, and write answers. What a
// message, a state or a checkpoint looks like on the wire is decided in one file each:
// thread.go, snapshot.go, run.go, and for streams in package wire.
//
// A handler decides nothing that a page must decide the same way: such rules stand in the
// packages below, where package ui finds them, too.
package api
