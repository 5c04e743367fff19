// Package eventlog keeps the events of runs and reads them: rows of the store, and for a live run the
// memory of what comes. A [Reader] is a cursor on both, so live, joined, resumed and finished runs are
// read the same way.
//
// Who writes events and rows is the recorder of package runs; their packed form belongs to package
// runevent.
package eventlog
