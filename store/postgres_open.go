package store

import (
	"context"
	"database/sql"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/stdlib"
)

//go:embed migrations/postgres/*.sql
var postgresMigrations embed.FS

const (
	postgresNames  = "migrations/postgres/*.sql"
	postgresFirst  = 17 // number of the first migration
	postgresLeast  = 15 // oldest version of the server
	defaultSchema  = "fawn"
	postgresDialer = 5 * time.Second
	pgLeaving      = 2 * time.Second // how long a process that has ended may keep the lock
	lockClass      = 0x4641574e      // of the database's locks that are Fawn's
)

var (
	// errTaken means that another process writes to the database.
	errTaken  = errors.New("the database is in use by another Fawn")
	errNoFile = errors.New("the data are in PostgreSQL; copy them with pg_dump")
	// errReplaced means that another process has taken the database over.
	errReplaced = errors.New("another Fawn has taken the database over; this one must be started anew")
)

// openPostgres connects to the database of cfg.URL, takes it, and brings its schema up to date.
func openPostgres(ctx context.Context, cfg Config) (_ *postgresEngine, err error) {
	conf, err := pgx.ParseConfig(cfg.URL)
	if err != nil { // says nothing of the password
		return nil, fmt.Errorf("address of the database: %w", err)
	}
	e := &postgresEngine{cfg: conf, schema: orDefault(cfg.Schema, defaultSchema), addr: cfg.Addr, log: cfg.Log,
		stmts: map[string]*sql.Stmt{}, bound: map[string]string{}}
	if conf.ConnectTimeout == 0 {
		conf.ConnectTimeout = postgresDialer
	}
	for name, value := range map[string]string{"application_name": "fawn", "search_path": quoteName(e.schema),
		"jit": "off", "default_transaction_isolation": "read committed", "tcp_keepalives_idle": "30"} {
		conf.RuntimeParams[name] = value
	}
	// A database that is cut off is noticed in half a minute.
	dialer := net.Dialer{KeepAliveConfig: net.KeepAliveConfig{Enable: true, Idle: 10 * time.Second,
		Interval: 5 * time.Second, Count: 4}}
	conf.DialFunc = dialer.DialContext
	e.pool = stdlib.OpenDB(*conf)
	e.pool.SetMaxOpenConns(1)
	readers := conf.Copy()
	// A view of several queries sees one moment.
	readers.RuntimeParams["default_transaction_isolation"] = "repeatable read"
	e.readers = stdlib.OpenDB(*readers)
	e.readers.SetMaxOpenConns(cfg.Readers)
	e.readers.SetMaxIdleConns(cfg.Readers)
	e.readers.SetConnMaxIdleTime(5 * time.Minute)
	defer func() {
		if err != nil {
			e.drop()
			e.readers.Close()
			e.pool.Close()
		}
	}()
	if err := e.first(ctx); err != nil {
		return nil, err
	}
	if err := e.check(ctx); err != nil {
		return nil, err
	}
	if err := e.migrate(ctx); err != nil {
		return nil, err
	}
	return e, e.enter(ctx)
}

// first connects for the first time. A server that was killed a moment ago may still have the lock.
func (e *postgresEngine) first(ctx context.Context) error {
	for began := time.Now(); ; {
		err := e.connect(ctx)
		if !errors.Is(err, errTaken) || time.Since(began) > pgLeaving {
			return err
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-time.After(pgPause):
		}
	}
}

func quoteName(name string) string { return pgx.Identifier{name}.Sanitize() }

// connect makes the connection that writes unless it is there, and takes the lock of the database. Once
// we have a row in node it must still be there.
func (e *postgresEngine) connect(ctx context.Context) error {
	if e.raw != nil && !e.raw.IsClosed() {
		return nil
	}
	e.drop()
	conn, err := e.pool.Conn(ctx)
	if err != nil {
		return fmt.Errorf("connect to the database: %w", err)
	}
	if e.raw, err = rawOf(conn); err != nil {
		return errors.Join(err, conn.Close())
	}
	e.conn = conn
	if err := e.take(ctx); err != nil {
		e.drop()
		return err
	}
	e.pid = e.raw.PgConn().PID()
	return nil
}

// take takes the lock, if need be from what the server still keeps of a connection that we have lost.
func (e *postgresEngine) take(ctx context.Context) error {
	var free bool
	const try = `SELECT pg_try_advisory_lock($1, hashtext($2))`
	err := e.raw.QueryRow(ctx, try, int32(lockClass), e.schema).Scan(&free)
	if err == nil && !free && e.pid != 0 {
		_, err = e.raw.Exec(ctx, `SELECT pg_terminate_backend($1) FROM pg_locks WHERE locktype = 'advisory' AND granted
			AND pid = $1 AND database = (SELECT oid FROM pg_database WHERE datname = current_database())
			AND classid = $2::bigint AND objid::bigint = hashtext($3)::bigint & 4294967295`,
			int32(e.pid), int64(lockClass), e.schema)
		if err == nil {
			err = e.raw.QueryRow(ctx, try, int32(lockClass), e.schema).Scan(&free)
		}
	}
	switch {
	case err != nil:
		return fmt.Errorf("lock the database: %w", err)
	case !free:
		return e.holder(ctx)
	case e.node == 0:
		return nil
	}
	err = e.raw.QueryRow(ctx, `SELECT true FROM node WHERE id = $1`, e.node).Scan(&free)
	if errors.Is(err, pgx.ErrNoRows) {
		return errReplaced
	}
	return err
}

// holder says who has the database.
func (e *postgresEngine) holder(ctx context.Context) error {
	var host, address string
	var pid int64
	const last = `SELECT host, pid, address FROM node ORDER BY id DESC LIMIT 1`
	err := e.raw.QueryRow(ctx, last).Scan(&host, &pid, &address)
	if err != nil {
		return fmt.Errorf("%w (schema %s); one at a time can", errTaken, e.schema)
	}
	return fmt.Errorf("%w: process %d on %s serving %s (schema %s); stop it first, as one at a time can",
		errTaken, pid, host, address, e.schema)
}

// check refuses servers that would not do.
func (e *postgresEngine) check(ctx context.Context) error {
	var version, encoding, commit string
	err := e.raw.QueryRow(ctx, `SELECT current_setting('server_version_num'), current_setting('server_encoding'),
		current_setting('synchronous_commit')`).Scan(&version, &encoding, &commit)
	if err != nil {
		return translate(err)
	}
	n, err := strconv.Atoi(version)
	switch {
	case err != nil || n/10_000 < postgresLeast:
		return fmt.Errorf("PostgreSQL %d is needed, or a newer one", postgresLeast)
	case encoding != "UTF8":
		return fmt.Errorf("the database has the encoding %s, and must have UTF8", encoding)
	case commit == "off":
		return errors.New("synchronous_commit is off: what was shown could be lost")
	}
	return nil
}

// enter puts us down as who is at work. Whoever was there before is not any more.
func (e *postgresEngine) enter(ctx context.Context) error {
	host, err := os.Hostname()
	if err != nil {
		host = "unknown"
	}
	if _, err := e.raw.Exec(ctx, `DELETE FROM node`); err != nil {
		return translate(err)
	}
	err = e.raw.QueryRow(ctx, `INSERT INTO node(host, pid, address, started_at) VALUES ($1, $2, $3, $4) RETURNING id`,
		host, os.Getpid(), e.addr, time.Now().UnixMilli()).Scan(&e.node)
	return translate(err)
}

// migrate brings the schema to the newest version, each file in one transaction.
func (e *postgresEngine) migrate(ctx context.Context) error {
	names, err := fs.Glob(postgresMigrations, postgresNames) // sorted
	if err != nil {
		return err
	}
	var there bool
	err = e.raw.QueryRow(ctx, `SELECT EXISTS (SELECT 1 FROM pg_namespace WHERE nspname = $1)`, e.schema).Scan(&there)
	if err == nil && !there {
		_, err = e.raw.Exec(ctx, "CREATE SCHEMA "+quoteName(e.schema))
	}
	if err == nil {
		_, err = e.raw.Exec(ctx, `CREATE TABLE IF NOT EXISTS migration (number bigint PRIMARY KEY, at bigint NOT NULL)`)
	}
	have := 0
	if err == nil {
		err = e.raw.QueryRow(ctx, `SELECT coalesce(max(number), 0) FROM migration`).Scan(&have)
	}
	if err != nil {
		return fmt.Errorf("prepare schema %s: %w", e.schema, translate(err))
	}
	if have > Schema() {
		return fmt.Errorf("the database has schema version %d, written by a newer program, and this one knows only "+
			"up to %d. Use the newer program", have, Schema())
	}
	for _, name := range names {
		number, err := strconv.Atoi(path.Base(name)[:4])
		if err == nil && number > have {
			err = e.migrateOne(ctx, name, number)
		}
		if err != nil {
			return fmt.Errorf("migration %s: %w", name, err)
		}
	}
	return nil
}

func (e *postgresEngine) migrateOne(ctx context.Context, name string, number int) error {
	script, err := fs.ReadFile(postgresMigrations, name)
	if err != nil {
		return err
	}
	whole := fmt.Sprintf("BEGIN;\n%s;\nINSERT INTO migration(number, at) VALUES (%d, %d);\nCOMMIT", script, number,
		time.Now().UnixMilli())
	_, err = e.raw.PgConn().Exec(ctx, whole).ReadAll()
	if err != nil && !e.raw.IsClosed() {
		err = errors.Join(err, e.exec("ROLLBACK"))
	}
	return err
}

// translatePostgres is the sentinel that an error of PostgreSQL means, nil for none.
func translatePostgres(err error) error {
	pg, ok := errors.AsType[*pgconn.PgError](err)
	switch {
	case !ok:
		return nil
	case strings.HasPrefix(pg.Code, "23"):
		return ErrConflict
	case pg.Code == "53100" || pg.Code == "58030":
		return ErrFull
	case pg.Code == "54000":
		return ErrConflict
	}
	return nil
}

// goOn lets the numbers that a table gives by itself begin behind those that are there.
func (e *postgresEngine) goOn(table, column string) error {
	_, err := e.raw.Exec(context.Background(), fmt.Sprintf(`SELECT setval(pg_get_serial_sequence('%s', '%s'),
		(SELECT coalesce(max(%s), 0) + 1 FROM %s), false)`, table, column, column, table))
	return err
}
