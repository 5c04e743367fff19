// Package route is shared by the handlers of the API: the parts of the server, rows of route tables, looking up the
// threads and runs of a path for their owner, pages of lists, and bounds of input.
//
// It answers nothing itself. Begin with parts.go and owned.go.
package route
