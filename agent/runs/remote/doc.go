// Package remote has the logs of runs that are under way on other servers of the same database. One
// follower reads the tail of a server, however many readers its runs have here: what it finds is
// durable, as readers on the server itself see it, and has the same numbers.
//
// A log that nobody reads is let go of. So is one whose run has come to another server. Whoever reads
// it then asks for the log again, see [eventlog.NewOpener].
package remote
