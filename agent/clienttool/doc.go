// Package clienttool holds the tools that the client of a run carries out, such as an editor on another machine. A call
// is shown to the readers of the run, and its result is accepted at any server.
package clienttool
