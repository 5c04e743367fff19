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

	// write carries out a group in one transaction: additions to the tail, its jobs in order, removals
	// from the tail. After the statements of a job it calls rest. A job that fails for its own reason
	// keeps its error and leaves nothing; a returned error means that nothing at all was written. It
	// removes frames from g that needn't be in the tail.
	write(g *Group, rest func(*Job) error) error
	// run, change and stmt are for jobs, inside write: a list of statements, one statement with its
	// number of changed rows, a prepared query.
	run(list []stmt) error
	change(query string, args []any) (int64, error)
	stmt(query string) (*sql.Stmt, error)
	// overwriting runs deletions after which the rows' old content is no longer in the file.
	overwriting(do func() error) error
	// works counts the statements that were carried out.
	works() uint64

	// now returns the time by the clock that all servers of the database share.
	now() time.Time
	// cause returns what an error of the database means to callers, nil for nothing that they know.
	cause(err error) error
	// self returns the number of this server among all that ever used the database.
	self() int64

	// tail returns the range of this server's rows in the tail, which ends before the next server's, and the last
	// row that an earlier process left there, 0 for none.
	tail(ctx context.Context) (span tailSpan, last int64, err error)
	// everyGroup reports whether each group has a row in the tail, which also records the folded
	// numbers.
	everyGroup() bool
	// keeps returns how long unneeded rows of the tail stay for other readers.
	keeps() time.Duration
	// upkeep does housekeeping in a pause. With forget, deleted content must not survive anywhere;
	// forgotten reports that this is done. It stops when there is work again.
	upkeep(forget bool, busy func() bool) (forgotten bool, err error)
	// relieve makes room after a write failed for want of it, so that how things ended can still
	// be written. probe tries whether writes are taken again, by a row of the tail that does not
	// stay, and takes that room back.
	relieve()
	probe(row int64) error

	// shape returns the number of the last migration, and the names of all tables in order. damage is
	// the problem that the database itself finds in its files.
	shape(ctx context.Context) (schema int, tables []string, err error)
	damage(ctx context.Context, tx *sql.Tx) ([]string, error)
	size(ctx context.Context) (int64, error)
	room(ctx context.Context) (Room, error)
	giveBack(pages int) error
	backup(ctx context.Context, path string) error
	// close ends all connections, after the writer has ended.
	close() error
}

// Room is the used part of the database file, in bytes.
type Room struct {
	Used int64
	Free int64 // unused pages in the file
}

// texts reads a column.
func texts(ctx context.Context, q interface {
	QueryContext(context.Context, string, ...any) (*sql.Rows, error)
}, query string, args ...any) (list []string, err error) {
	rows, err := q.QueryContext(ctx, query, args...)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	for rows.Next() {
		var s string
		if err := rows.Scan(&s); err != nil {
			return nil, err
		}
		list = append(list, s)
	}
	return list, rows.Err()
}
