package store

// Work counts the operations of a database since it was opened. Unlike times, these numbers don't depend on the machine,
// so they can be compared with budgets.
type Work struct {
	Queries    uint64 // reading statements outside of transactions that write
	Statements uint64 // statements of the writer, including BEGIN and COMMIT
	Commits    uint64 // transactions; with Sync "full" each syncs the disk
}

// Work returns the current counts.
func (db *DB) Work() Work {
	return Work{Queries: db.queries.Load(), Statements: db.engine.Works(), Commits: db.w.CommitCount()}
}
