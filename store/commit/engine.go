package commit

import (
	"context"
	"database/sql"
	"time"
)

// Engine is the part that differs between databases; everything else is written once. What writes is
// called by the writer's goroutine only.
type Engine interface {
	// Reads are the connections that read.
	Reads() *sql.DB
	// Bind translates a query to this database's dialect, see dialect.go.
	Bind(query string) string

	// Write carries out a group in one transaction: additions to the tail, its jobs in order, removals
	// from the tail. After the statements of a job it calls rest. A job that fails for its own reason
	// keeps its error and leaves nothing; a returned error means that nothing at all was written. It
	// removes frames from g that needn't be in the tail.
	Write(g *Group, rest func(*Job) error) error
	// Run, Change and Stmt are for jobs, inside Write: a list of statements, one statement with its
	// number of changed rows, a prepared query.
	Run(list []Stmt) error
	Change(query string, args []any) (int64, error)
	Stmt(query string) (*sql.Stmt, error)
	// Overwriting runs deletions after which the rows' old content is no longer in the file.
	Overwriting(do func() error) error
	// Works counts the statements that were carried out.
	Works() uint64

	// Now returns the time by the clock that all servers of the database share.
	Now() time.Time
	// Cause returns what an error of the database means to callers, nil for nothing that they know.
	Cause(err error) error
	// Self returns the number of this server among all that ever used the database.
	Self() int64

	// Tail returns the range of this server's rows in the tail, which ends before the next server's, and the last
	// row that an earlier process left there, 0 for none.
	Tail(ctx context.Context) (span Span, last int64, err error)
	// EveryGroup reports whether each group has a row in the tail, which also records the folded
	// numbers.
	EveryGroup() bool
	// Keeps returns how long unneeded rows of the tail stay for other readers.
	Keeps() time.Duration
	// Upkeep does housekeeping in a pause. With forget, deleted content must not survive anywhere;
	// forgotten reports that this is done. It stops when there is work again.
	Upkeep(forget bool, busy func() bool) (forgotten bool, err error)
	// Relieve makes room after a write failed for want of it, so that how things ended can still
	// be written. Probe tries whether writes are taken again, by a row of the tail that does not
	// stay, and takes that room back.
	Relieve()
	Probe(row int64) error

	// Shape returns the number of the last migration, and the names of all tables in order. Damage is
	// the problem that the database itself finds in its files.
	Shape(ctx context.Context) (schema int, tables []string, err error)
	Damage(ctx context.Context, tx *sql.Tx) ([]string, error)
	Size(ctx context.Context) (int64, error)
	Room(ctx context.Context) (Room, error)
	GiveBack(pages int) error
	Backup(ctx context.Context, path string) error
	// Close ends all connections, after the writer has ended.
	Close() error
}

// Room is the used part of the database file, in bytes.
type Room struct {
	Used int64
	Free int64 // unused pages in the file
}

// Texts reads a column.
func Texts(ctx context.Context, q interface {
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
