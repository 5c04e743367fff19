// Package runs drives agents on threads: the manager owns "one active run per thread", and
// any number of readers follow a run by a cursor.
//
// A thread is one append-only log. Every event has a number (seq) that counts per thread
// and is never used twice. An event is stored before any reader sees it, a run outlives
// its readers, and live, joined, resumed and finished runs are all read the same way, with
// [Manager.Follow].
//
// What an agent does in a step belongs to packages agent and lead, what a run is asked for to
// request, how steps become rows to recorder, what an event is to runevent, how events are kept
// and read to eventlog, how rows are written to store, and what a client sees of an event to
// web/api/wire and web/ui.
package runs
