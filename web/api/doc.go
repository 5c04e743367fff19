// Package api is the HTTP API that SDKs speak, LangGraph's, under any prefix. It has one file of handlers per subject.
// DeerFlow's additional routes are package gateway, and shared parts are package route.
//
// Handlers parse requests, use the store and the run manager, and write responses. The formats of messages, states and
// checkpoints are defined in one file each: thread.go, snapshot.go, run.go, and for streams in package wire.
//
// Rules that pages share are in the packages below, for package ui to use.
package api
