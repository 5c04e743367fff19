package store

import (
	"fawn/store/wake"
)

// WakePoll for [Config.Wake] makes servers poll more often instead of notifying each other.
const WakePoll = "poll"

// Wakes are hints between servers that share a database, and within one. [DB] implements them.
type Wakes interface {
	// Hear calls f for each wake-up of a kind for or about a server, 0 for those for all, until stop is called; f may
	// be running then. f must return at once. When hints may have been lost it is called with All.
	Hear(kind WakeKind, server int64, f func(Wake)) (stop func())
	// Say wakes the listeners of a kind on all servers. It never waits. Hints in quick succession are combined.
	Say(kind WakeKind, server int64, ids ...string)
	// Polls reports whether other servers send no hints, which requires frequent polling.
	Polls() bool
}

var _ Wakes = (*DB)(nil)

// Hear implements [Wakes].
func (db *DB) Hear(kind WakeKind, server int64, f func(Wake)) (stop func()) {
	return db.w.wakes.Hear(wake.Topic{Kind: kind, Server: server}, f)
}

// Say implements [Wakes].
func (db *DB) Say(kind WakeKind, server int64, ids ...string) {
	db.w.wakes.Say(wake.Topic{Kind: kind, Server: server}, ids...)
}

// Polls implements [Wakes].
func (db *DB) Polls() bool { return db.Shared() && !db.w.wakes.Wired() }
