// Package runs drives agents on threads. The [Manager] guarantees one active run per thread; any number of readers
// follow a run by a cursor.
//
// A thread is one append-only log. Every event has a number (seq) that counts per thread and is never reused. An event
// is stored before any reader sees it, a run outlives its readers, and live, joined, resumed and finished runs are all
// read the same way, with [Manager.Follow].
//
// Not here: a step of the agent (packages agent and lead), the request for a run (request), steps as rows (recorder),
// events and their stored form (runevent), reading events (eventlog), SQL (store), events on the wire (web/api/wire,
// web/ui).
//
// Begin with manager.go (a run starts), stage.go (its states), execute.go and drive.go (it works), ending.go (it ends).
// Several servers: cluster.go, takeover.go and drain.go.
package runs
