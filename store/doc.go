// Package store keeps threads, runs and their logs in SQLite or PostgreSQL.
//
// # Cards over logs
//
// A thread's messages and the versions of its state fields are append-only logs, numbered separately. A checkpoint is a small card that lists the rows of a state: ranges of message numbers in the order of the
// conversation and one version of each field. Replacing a message appends a row and splits a range, going back moves
// the thread's head to an older card, and every card, old or new, is read the same way. Nothing is ever replayed, and
// storage grows with the content, not with the number of steps.
//
// Bodies are JSON in exactly the form of the API, so a state is sent by concatenating them.
//
// # Events and the tail
//
// Everything a run publishes has a number, counted per thread and never reused. Finished steps are
// rows of the table event; a row may stand for many numbers. Deltas of an answer that is still growing are too many and
// too small for rows of their own: all deltas of all runs between two commits are packed into one row of the table
// tail. When a step is done, its event row contains the deltas and they are folded: their tail rows are no longer needed and deleted in bulk. The tail is read only at the next start, to
// find what a crash interrupted.
//
// In a shared database each server has its own rows in the tail, one for each group it commits, in order and without gaps. A row also records up to where threads are folded, so readers of another server's rows know everything that server has published. Rows stay for half a minute after they are needed, and those of a dead server until its runs have been taken over.
//
// # One writer
//
// A single goroutine owns the only writing connection and commits groups: the deltas of all lanes and the batches that
// wait, in one transaction. Deltas alone are committed at most every 3 ms, or 6 ms when there are many; a batch or a
// flush at once. A batch is atomic, and an invalid batch fails alone. When the transaction itself
// fails, as on a full disk, nothing of the group is durable: its batches and lanes get the error, a reserve file is
// deleted so that the end of the runs can still be written, and DB.Healthy tells until a commit works and the reserve
// is back.
//
// Readers have their own connections and never wait for the writer.
//
// # Engines
//
// A batch is planned before it is queued: plan turns it into statements with their arguments and the expected outcome
// of each, without reading anything. An engine carries out a group of batches in one transaction: sqliteEngine or
// postgresEngine. Statements are written once; words that differ between databases stand in braces (dialect.go).
//
// # Files of a data folder
//
// fawn.db with its -wal and -shm files (SQLite only), lock (held by the process that has the folder open), reserve, and
// copies of the database made before a change of the schema.
//
// # Where to begin
//
// The files are in four groups:
//
//   - rows: one file per table or question, such as threads.go, runs.go, checkpoints.go and cron.go. Each has the type,
//     its queries, and the statements that a plan writes for it. db.go has the helpers for queries, migrate.go the
//     schema.
//   - the event log: batch.go (what is committed), plan.go (as statements), writer.go and group.go (one commit for many
//     batches), lane.go (deltas of a run), tail.go and tail_read.go (deltas between steps), events.go (finished steps),
//     line.go and claim.go (the order of runs on a thread).
//   - SQLite: sqlite.go, sqlite_file.go, sqlite_log.go, lock.go.
//   - PostgreSQL: postgres_*.go. postgres_open.go connects, postgres_node.go is a server's lease, postgres_pulse.go the
//     question each server asks every second, postgres_duty.go the election of a leader, postgres_share.go hands out
//     runs, postgres_wake.go notifies other servers.
//
// Read threads.go, checkpoints.go, batch.go and writer.go, in this order.
//
// # What belongs here
//
// All SQL, and nothing else. Callers decide what rows mean: the store knows neither agents, nor policies, nor pages.
package store
