package postgres

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgtype"
)

// errPooler means that a pooler doesn't preserve the state of connections.
var errPooler = errors.New("database.url leads to a connection pooler, which must not stand between the leases of " +
	"servers and PostgreSQL: set database.listen_url to the address of PostgreSQL itself")

// pooled returns the settings of connections through a pooler, which may use another connection to PostgreSQL for each
// transaction: nothing is prepared, and settings apply to one transaction.
func pooled(direct *pgx.ConnConfig, cfg Config) (*pgx.ConnConfig, error) {
	conf, err := pgx.ParseConfig(cfg.URL)
	if err != nil { // without the password
		return nil, fmt.Errorf("address of the database: %w", err)
	}
	if conf.ConnectTimeout == 0 {
		conf.ConnectTimeout = dialTime
	}
	conf.DialFunc = direct.DialFunc
	// The only setting passed on by poolers, used by queries for the active server.
	conf.RuntimeParams = map[string]string{"application_name": direct.RuntimeParams["application_name"]}
	conf.DefaultQueryExecMode = pgx.QueryExecModeExec
	conf.StatementCacheCapacity, conf.DescriptionCacheCapacity = 0, 0
	return conf, nil
}

// settings returns connection settings as statements that apply them to one transaction.
func (e *Engine) settings(idle string) string {
	var calls []string
	for _, name := range []string{"search_path", "statement_timeout", "jit", "idle_in_transaction_session_timeout"} {
		value := e.direct.RuntimeParams[name]
		if strings.HasPrefix(name, "idle") {
			value = idle
		}
		calls = append(calls, "set_config("+quoteText(name)+", "+quoteText(value)+", true)")
	}
	return strings.Join(calls, ", ")
}

func quoteText(s string) string { return "'" + strings.ReplaceAll(s, "'", "''") + "'" }

// goPooled sends all transactions through the pooler from now on.
func (e *Engine) goPooled(ctx context.Context, cfg Config) (err error) {
	if e.cfg, err = pooled(e.direct, cfg); err != nil {
		return err
	}
	e.Lease.pooled.Store(true)
	e.drop()
	if err := e.pool.Close(); err != nil {
		return err
	}
	e.pool = sql.OpenDB(&poolWire{conf: e.cfg})
	e.pool.SetMaxOpenConns(1)
	return e.first(ctx, func(ctx context.Context, conn *pgx.Conn) error {
		if err := poolerFit(ctx, conn); err != nil {
			return err
		}
		var same bool
		err := conn.QueryRow(ctx, `SELECT to_regclass($1) IS NOT NULL`, e.of("node")).Scan(&same)
		if err == nil && same {
			err = conn.QueryRow(ctx, `SELECT EXISTS (SELECT 1 FROM `+e.of("node")+` WHERE id = $1 AND folder = $2)`,
				e.Lease.id, cfg.Folder).Scan(&same)
		}
		if err == nil && !same {
			err = errors.New("database.url and database.listen_url lead to different databases")
		}
		return err
	})
}

// poolerFit refuses a pooler that breaks transactions.
func poolerFit(ctx context.Context, conn *pgx.Conn) error {
	var level, commit string
	err := conn.QueryRow(ctx, `SELECT current_setting('default_transaction_isolation'),
		current_setting('synchronous_commit')`).Scan(&level, &commit)
	switch {
	case err != nil:
		return fmt.Errorf("ask the database through the pooler: %w", err)
	case level != "read committed":
		return fmt.Errorf("default_transaction_isolation is %s for connections through the pooler, and must be "+
			"read committed: ALTER ROLE %s SET default_transaction_isolation TO 'read committed'", level,
			quoteName(conn.Config().User))
	case commit == "off":
		return errors.New("synchronous_commit is off: confirmed commits could be lost")
	}
	return nil
}

// of qualifies a table or function with the schema, where no search path applies.
func (e *Engine) of(name string) string { return quoteName(e.schema) + "." + name }

// behindPooler reports whether a connection's settings didn't arrive, or the server uses another process number.
func behindPooler(ctx context.Context, conn *pgx.Conn) (lost, other bool, err error) {
	var path string
	var pid uint32
	err = conn.QueryRow(ctx, `SELECT current_setting('search_path'), pg_backend_pid()`).Scan(&path, &pid)
	return path != conn.Config().RuntimeParams["search_path"], pid != conn.PgConn().PID(), translate(err)
}

// poolerSays recognises errors of a pooler.
func poolerSays(err error) bool {
	pg, ok := errors.AsType[*pgconn.PgError](err)
	return ok && pg.Code == "08P01" && strings.Contains(pg.Message, "startup parameter")
}

// poolWire opens connections of database/sql to a pooler. before is selected ahead of a statement outside of a
// transaction, in one transaction; inside of one, its beginning has done so.
type poolWire struct {
	conf   *pgx.ConnConfig
	before string // "" for the writing connection, which begins transactions itself
}

// Connect implements driver.Connector.
func (p *poolWire) Connect(ctx context.Context) (driver.Conn, error) {
	conn, err := pgx.ConnectConfig(ctx, p.conf)
	if err != nil {
		return nil, err
	}
	return &poolConn{Conn: conn, before: p.before}, nil
}

// Driver implements driver.Connector.
func (p *poolWire) Driver() driver.Driver { return noDriver{} }

type noDriver struct{}

// Open implements driver.Driver.
func (noDriver) Open(string) (driver.Conn, error) { return nil, errors.ErrUnsupported }

type poolConn struct {
	*pgx.Conn
	before string
	tx     bool
}

// Close implements driver.Conn.
func (c *poolConn) Close() error { return c.Conn.Close(context.Background()) }

// Prepare implements driver.Conn.
func (c *poolConn) Prepare(query string) (driver.Stmt, error) { return &poolStmt{c, query}, nil }

// Begin implements driver.Conn.
func (c *poolConn) Begin() (driver.Tx, error) { return nil, errors.ErrUnsupported }

// CheckNamedValue implements driver.NamedValueChecker.
func (c *poolConn) CheckNamedValue(*driver.NamedValue) error { return nil }

// ResetSession implements driver.SessionResetter.
func (c *poolConn) ResetSession(context.Context) error {
	if c.IsClosed() || c.PgConn().TxStatus() != 'I' {
		return driver.ErrBadConn
	}
	c.tx = false
	return nil
}

// BeginTx implements driver.ConnBeginTx, for a view of one moment.
func (c *poolConn) BeginTx(ctx context.Context, opts driver.TxOptions) (driver.Tx, error) {
	if !opts.ReadOnly {
		return nil, errors.ErrUnsupported
	}
	begin := "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY; SELECT " + c.before
	if _, err := c.PgConn().Exec(ctx, begin).ReadAll(); err != nil {
		return nil, err
	}
	c.tx = true
	return (*poolTx)(c), nil
}

type poolTx poolConn

// Commit implements driver.Tx.
func (t *poolTx) Commit() error { return t.end("COMMIT") }

// Rollback implements driver.Tx.
func (t *poolTx) Rollback() error { return t.end("ROLLBACK") }

func (t *poolTx) end(how string) error {
	t.tx = false
	_, err := t.PgConn().Exec(context.Background(), how).ReadAll()
	return err
}

// ExecContext implements driver.ExecerContext.
func (c *poolConn) ExecContext(ctx context.Context, query string, args []driver.NamedValue) (driver.Result, error) {
	if c.tx || c.before == "" {
		tag, err := c.Exec(ctx, query, plainArgs(args)...)
		return driver.RowsAffected(tag.RowsAffected()), err
	}
	results, err := c.both(ctx, query, args)
	if err != nil {
		return nil, err
	}
	tag, err := results.Exec()
	return driver.RowsAffected(tag.RowsAffected()), errors.Join(err, results.Close())
}

// QueryContext implements driver.QueryerContext.
func (c *poolConn) QueryContext(ctx context.Context, query string, args []driver.NamedValue) (driver.Rows, error) {
	if c.tx || c.before == "" {
		rows, err := c.Query(ctx, query, plainArgs(args)...)
		return newPoolRows(rows, nil, err)
	}
	results, err := c.both(ctx, query, args)
	if err != nil {
		return nil, err
	}
	rows, err := results.Query()
	return newPoolRows(rows, results, err)
}

// both sends the settings of a transaction and a statement, and reads the result of the first.
func (c *poolConn) both(ctx context.Context, query string, args []driver.NamedValue) (pgx.BatchResults, error) {
	var both pgx.Batch
	both.Queue("SELECT " + c.before)
	both.Queue(query, plainArgs(args)...)
	results := c.SendBatch(ctx, &both)
	if _, err := results.Exec(); err != nil {
		results.Close() // returns the same error
		return nil, err
	}
	return results, nil
}

func plainArgs(named []driver.NamedValue) []any {
	list := make([]any, len(named))
	for i := range named {
		list[i] = named[i].Value
	}
	return list
}

// poolStmt is only a statement's text, since a prepared statement of one connection doesn't exist on another.
type poolStmt struct {
	conn  *poolConn
	query string
}

// Close implements driver.Stmt.
func (s *poolStmt) Close() error { return nil }

// NumInput implements driver.Stmt.
func (s *poolStmt) NumInput() int { return -1 }

// Exec implements driver.Stmt.
func (s *poolStmt) Exec([]driver.Value) (driver.Result, error) { return nil, errors.ErrUnsupported }

// Query implements driver.Stmt.
func (s *poolStmt) Query([]driver.Value) (driver.Rows, error) { return nil, errors.ErrUnsupported }

// ExecContext implements driver.StmtExecContext.
func (s *poolStmt) ExecContext(ctx context.Context, args []driver.NamedValue) (driver.Result, error) {
	return s.conn.ExecContext(ctx, s.query, args)
}

// QueryContext implements driver.StmtQueryContext.
func (s *poolStmt) QueryContext(ctx context.Context, args []driver.NamedValue) (driver.Rows, error) {
	return s.conn.QueryContext(ctx, s.query, args)
}

// poolRows are rows with values that database/sql accepts.
type poolRows struct {
	rows    pgx.Rows
	results pgx.BatchResults // the batch the rows belong to, or nil
	begun   bool             // the first row was read
	more    bool
}

// newPoolRows reads up to the first row, so that a failing statement fails at once.
func newPoolRows(rows pgx.Rows, results pgx.BatchResults, err error) (driver.Rows, error) {
	r := &poolRows{rows: rows, results: results}
	if err == nil {
		r.more = rows.Next()
		err = rows.Err()
	}
	if err != nil {
		r.Close() // returns the same error
		return nil, err
	}
	return r, nil
}

// Columns implements driver.Rows.
func (r *poolRows) Columns() (names []string) {
	for _, f := range r.rows.FieldDescriptions() {
		names = append(names, f.Name)
	}
	return names
}

// Close implements driver.Rows.
func (r *poolRows) Close() error {
	if r.rows != nil {
		r.rows.Close()
	}
	if r.results != nil {
		return r.results.Close()
	}
	return r.rows.Err()
}

// Next implements driver.Rows.
func (r *poolRows) Next(dest []driver.Value) error {
	if r.begun {
		r.more = r.rows.Next()
	}
	r.begun = true
	if !r.more {
		if err := r.rows.Err(); err != nil {
			return err
		}
		return io.EOF
	}
	values, err := r.rows.Values()
	if err != nil {
		return err
	}
	for i, f := range r.rows.FieldDescriptions() {
		if raw := r.rows.RawValues()[i]; f.DataTypeOID == pgtype.JSONOID && raw != nil {
			dest[i] = string(raw)
		} else if dest[i], err = plainValue(values[i]); err != nil {
			return err
		}
	}
	return nil
}

func plainValue(v any) (driver.Value, error) {
	switch v := v.(type) {
	case int16:
		return int64(v), nil
	case int32:
		return int64(v), nil
	case uint32:
		return int64(v), nil
	case driver.Valuer:
		return v.Value()
	}
	return v, nil
}
