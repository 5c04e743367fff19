// Package runevent has the events of a run as readers see them, and their stored form: frames while
// a step is open, packed into one row with references to the messages it stored once it is over.
//
// Everything here is a pure function of bytes. Who writes events, keeps them in rows and reads them
// again is the business of packages runs and eventlog.
package runevent
