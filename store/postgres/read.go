package postgres

import (
	"cmp"
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"syscall"
	"time"

	"github.com/jackc/pgx/v5/pgconn"

	"fawn/store/commit"
)

const (
	readPatience = 5 * time.Second // how long a read is retried while the database is unreachable
	readPause    = 20 * time.Millisecond
	readPauseMax = 400 * time.Millisecond
	readAhead    = 256 << 10 // bytes of a result fetched before its first row is returned
)

// Again repeats a failed read on another connection after a lost one, until patience, the context or this
// server's lease ends. A read marked as final has returned rows that a repetition would duplicate.
func (e *Engine) Again(ctx context.Context, final bool, err error, read func() (final bool, err error)) error {
	pause, end := readPause, time.Now().Add(cmp.Or(e.readTime, readPatience))
	for !final && lostConnection(err) && time.Now().Before(end) {
		if e.Lease != nil && e.Lease.Ended() != nil {
			break
		}
		select {
		case <-ctx.Done():
			return err
		case <-time.After(pause):
		}
		pause = min(2*pause, readPauseMax)
		final, err = read()
	}
	return unreachable(err)
}

// unreachable marks err if the database is unreachable.
func unreachable(err error) error {
	if err != nil && lostConnection(err) {
		return fmt.Errorf("%w: %w", commit.ErrAway, err)
	}
	return err
}

// lostConnection reports whether a query failed because its connection was lost, or none was available.
func lostConnection(err error) bool {
	if pg, ok := errors.AsType[*pgconn.PgError](err); ok {
		return strings.HasPrefix(pg.Code, "08") || strings.HasPrefix(pg.Code, "57P0") || pg.Code == codeCrowded
	}
	if _, ok := errors.AsType[*pgconn.ConnectError](err); ok {
		return unanswered(err)
	}
	if _, ok := errors.AsType[*net.OpError](err); ok || pgconn.SafeToRetry(err) {
		return true
	}
	for _, lost := range []error{driver.ErrBadConn, pgconn.ErrConnClosed, io.EOF, io.ErrUnexpectedEOF, net.ErrClosed,
		syscall.ECONNRESET, syscall.EPIPE, syscall.ECONNREFUSED} {
		if errors.Is(err, lost) {
			return true
		}
	}
	return false
}

// aheadWire opens connections that fetch the start of a result, mostly all of it, before returning its first row: a
// loss before that allows a retry.
type aheadWire struct{ driver.Connector }

// Connect implements driver.Connector.
func (w aheadWire) Connect(ctx context.Context) (driver.Conn, error) {
	c, err := w.Connector.Connect(ctx)
	if err != nil {
		return nil, err
	}
	return aheadConn{c.(wireConn)}, nil
}

// wireConn is the common interface of connections to PostgreSQL and to a pooler.
type wireConn interface {
	driver.Conn
	driver.ConnBeginTx
	driver.ExecerContext
	driver.QueryerContext
	driver.SessionResetter
	driver.NamedValueChecker
}

type aheadConn struct{ wireConn }

// PrepareContext implements driver.ConnPrepareContext.
func (c aheadConn) PrepareContext(ctx context.Context, query string) (s driver.Stmt, err error) {
	if p, ok := c.wireConn.(driver.ConnPrepareContext); ok {
		s, err = p.PrepareContext(ctx, query)
	} else {
		s, err = c.Prepare(query)
	}
	if err != nil {
		return nil, err
	}
	return aheadStmt{s.(wireStmt)}, nil
}

// QueryContext implements driver.QueryerContext.
func (c aheadConn) QueryContext(ctx context.Context, query string, args []driver.NamedValue) (driver.Rows, error) {
	return fetch(c.wireConn.QueryContext(ctx, query, args))
}

type wireStmt interface {
	driver.Stmt
	driver.StmtExecContext
	driver.StmtQueryContext
}

type aheadStmt struct{ wireStmt }

// QueryContext implements driver.StmtQueryContext.
func (s aheadStmt) QueryContext(ctx context.Context, args []driver.NamedValue) (driver.Rows, error) {
	return fetch(s.wireStmt.QueryContext(ctx, args))
}

// aheadRows are rows of which the first have been read.
type aheadRows struct {
	columns []string
	first   []driver.Value // of whole rows
	next    int
	rest    driver.Rows // nil if there are no more rows
}

func fetch(rows driver.Rows, err error) (driver.Rows, error) {
	if err != nil {
		return nil, err
	}
	r := &aheadRows{columns: rows.Columns(), rest: rows}
	for bytes := 0; bytes < readAhead; {
		at := len(r.first)
		r.first = append(r.first, make([]driver.Value, len(r.columns))...)
		err := rows.Next(r.first[at:])
		if err != nil {
			closed := rows.Close()
			if err != io.EOF {
				return nil, err
			}
			r.first, r.rest = r.first[:at], nil
			return r, closed
		}
		bytes += size(r.first[at:])
	}
	return r, nil
}

func size(row []driver.Value) int {
	n := 16 * len(row)
	for _, v := range row {
		switch v := v.(type) {
		case []byte:
			n += len(v)
		case string:
			n += len(v)
		}
	}
	return n
}

// Columns implements driver.Rows.
func (r *aheadRows) Columns() []string { return r.columns }

// Next implements driver.Rows.
func (r *aheadRows) Next(dest []driver.Value) error {
	if r.next < len(r.first) {
		n := copy(dest, r.first[r.next:])
		clear(r.first[r.next : r.next+n])
		r.next += n
		return nil
	}
	if r.rest == nil {
		return io.EOF
	}
	return r.rest.Next(dest)
}

// Close implements driver.Rows.
func (r *aheadRows) Close() error {
	if r.rest == nil {
		return nil
	}
	return r.rest.Close()
}
