// Package clienttool has the tools that the client of a run carries out, such as an editor on another machine: it shows a
// call to the readers of the run and waits for the result, at whichever server that comes in.
package clienttool
