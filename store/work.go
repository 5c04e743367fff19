package store

// Work counts what a database was asked for since it was opened. Times depend on the machine and on what else it does;
// these numbers do not, so that budgets can be compared with them.
type Work struct {
	Queries    uint64 // statements that read, outside of what writes
	Statements uint64 // of the writer, with those that begin and end its transactions
	Commits    uint64 // transactions; with Sync "full" each waits for the disk once
}

// Work returns the counts of this moment.
func (db *DB) Work() Work {
	return Work{Queries: db.queries.Load(), Statements: db.engine.works(), Commits: db.w.commits.Load()}
}
