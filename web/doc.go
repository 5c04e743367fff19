// Package web builds the whole program from its parts and serves it: pages, the REST
// gateway and the LangGraph-compatible API, all from one process. What answers a request is in
// the packages below.
package web
