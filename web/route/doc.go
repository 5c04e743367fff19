// Package route is what the handlers of the API share: the parts of the server they work with, the rows of
// tables of routes, how the threads and runs that a path names are found and found to be the asker's, pages
// of lists, and the bounds of what clients send.
//
// It answers nothing itself.
package route
