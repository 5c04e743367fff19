package store

import (
	"context"
	"database/sql"
	"time"
)

// engine is the part that differs between databases; everything else in this package is written once. What writes is
// called by the writer's goroutine only.
type engine interface {
	// reads are the connections that read.
	reads() *sql.DB
	// bind puts a query into the words of this kind, see dialect.go.
	bind(query string) string

	// write carries out a group in one transaction: what it puts into the tail, its jobs in
	// order, what it takes out of the tail. After the statements of a job it calls rest. A job
	// that fails for a reason of its own keeps its error and leaves nothing; the error returned
	// means that nothing at all was written. Frames that need not be in the tail are taken out of g.
	write(g *group, rest func(*job) error) error
	// run, change and stmt are for jobs, inside write: a list of statements, one of them with
	// the number of rows it changed, a prepared query.
	run(list []stmt) error
	change(query string, args []any) (int64, error)
	stmt(query string) (*sql.Stmt, error)
	// overwriting runs deletions after which what the rows held is not in the file any more.
	overwriting(do func() error) error
	// works counts the statements that were carried out.
	works() uint64

	// self is the number of this server among those that ever had the database.
	self() int64

	// tail is where the rows of this server in the tail begin, which end before the next server's, and the last
	// one that a process before has left there, 0 for none.
	tail(ctx context.Context) (span tailSpan, last int64, err error)
	// everyGroup says that each group has a row in the tail, which also says what is folded by then.
	everyGroup() bool
	// keeps is how long rows of the tail stay after they are needed, for others who read them.
	keeps() time.Duration
	// upkeep does what is good for the database in a pause. With forget, what was deleted is not
	// to live on anywhere; forgotten says that this is done. It stops when there is work again.
	upkeep(forget bool, busy func() bool) (forgotten bool, err error)
	// relieve makes room after a write failed for want of it, so that how things ended can still
	// be written. probe tries whether writes are taken again, by a row of the tail that does not
	// stay, and takes that room back.
	relieve()
	probe(row int64) error

	// shape is the number of the last migration, and the names of all tables in order. damage is
	// what the database itself finds wrong with its files.
	shape(ctx context.Context) (schema int, tables []string, err error)
	damage(ctx context.Context, tx *sql.Tx) ([]string, error)
	size(ctx context.Context) (int64, error)
	room(ctx context.Context) (Room, error)
	giveBack(pages int) error
	backup(ctx context.Context, path string) error
	// close ends all connections, after the writer has ended.
	close() error
}
