// Package store keeps threads, runs and their logs in SQLite or PostgreSQL.
//
// # Where to begin
//
// Read threads.go, checkpoints.go, batch.go and plan.go, in this order, then [fawn/store/commit]. The rest of this package
// is one file per table or question, such as runs.go, line.go and cron.go: the type, its queries, and the statements that
// a plan writes for it. db.go has the helpers for queries, write.go those for writing, open.go puts the parts together,
// events.go, recovery.go and tail_read.go read what runs publish, and cluster.go is for several servers. Below it are
//
//   - commit: the one writer, the lanes of runs, and the tail;
//   - sqlite and postgres: how each database opens, carries out a commit and is looked after;
//   - wake: hints that something has changed;
//   - folder: the lock of a data folder;
//   - migrations: the tables.
//
// # What belongs here
//
// Rows and the SQL about them, and nothing else. Callers decide what rows mean: the store knows neither agents, nor
// policies, nor pages. What only one kind of database has belongs in its package, and the order and the cost of commits in
// commit. names.go lists what of those packages the program sees.
//
// # Cards over logs
//
// A thread's messages and the versions of its state fields are append-only logs, numbered separately. A checkpoint is a
// small card that lists the rows of a state: ranges of message numbers in the order of the conversation and one version
// of each field. Replacing a message appends a row and splits a range, going back moves the thread's head to an older
// card, and every card, old or new, is read the same way. Nothing is ever replayed, and storage grows with the content,
// not with the number of steps.
//
// Bodies are JSON in exactly the form of the API, so a state is sent by concatenating them.
//
// # Batches
//
// A batch is planned before it is queued: plan turns it into statements with their arguments and the expected outcome
// of each, without reading anything. Statements are written once; words that differ between databases stand in braces,
// and each kind has them in its dialect.go.
//
// Readers have their own connections and never wait for the writer.
//
// # Files of a data folder
//
// fawn.db with its -wal and -shm files (SQLite only), lock (held by the process that has the folder open), reserve, and
// copies of the database made before a change of the schema.
package store
