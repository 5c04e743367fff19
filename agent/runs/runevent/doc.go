// Package runevent defines the events of a run as readers see them, and their stored form: frames while a step is open,
// then one packed row that refers to the messages the step stored.
//
// Everything here is a pure function of bytes. Writing, storing and reading events is the work of packages recorder and
// eventlog. Begin with event.go, then fold.go.
package runevent
