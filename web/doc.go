// Package web builds the whole program from its parts and serves it: pages, the REST gateway and the
// LangGraph-compatible API, all from one process. Handlers are in the packages below.
//
// Begin with open.go (the parts in order), routes.go (the route table) and serve.go (listening and stopping).
package web
