// Package web builds the whole program from its parts and serves it: pages, the REST gateway and the
// LangGraph-compatible API, all from one process. Handlers are in the packages below.
//
// Begin with open.go (the groups of parts, in the order in which they open), routes.go (the route table) and serve.go
// (listening, stopping, and the order of closing). Each group has its struct, its opening and its closing in one file:
// insight.go, front.go, data.go, accounts.go (people), library.go, tools.go, engine.go and background.go. Parameters of an
// opening are the groups that it needs; openTools, openEngine and openBackground join all the others and are methods of App.
package web
