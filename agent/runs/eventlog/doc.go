// Package eventlog keeps the events of runs and reads them: from rows of the store and, for a live run, from memory. A
// [Reader] is a cursor over both, so live, joined, resumed and finished runs are read the same way.
//
// Events are written by package recorder; their packed form is package runevent. Begin with reader.go; remote.go reads
// runs of other servers.
package eventlog
