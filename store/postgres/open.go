package postgres

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"net"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/stdlib"

	"fawn/store/commit"
	"fawn/store/migrations"
)

const (
	leastVersion  = 15 // oldest version of the server
	defaultSchema = "fawn"
	dialTime      = 5 * time.Second
	pgLeaving     = 2 * time.Second  // how long the lock of an exited process may last
	wireTime      = 10 * time.Second // how long sent bytes may stay unacknowledged
	poolPatience  = 30 * time.Second // twice the time for which PgBouncer rejects connections
	writerIdle    = "5s"             // limit of an idle writing transaction
	statementTime = time.Minute      // no page waits longer; a lock held that long is stuck
	lockClass     = 0x4641574e       // class of the start-up lock
)

var (
	// errTaken means that another process writes to the database.
	errTaken  = errors.New("the database is in use by another Fawn")
	ErrNoFile = errors.New("the data are in PostgreSQL; copy them with pg_dump")
	// errEvicted means that another process has taken the database over.
	errEvicted = fmt.Errorf("%w: another server has taken over", ErrFenced)
)

// Config has the address of the database and what this server publishes to others.
type Config struct {
	URL, ListenURL    string // with ListenURL, URL leads to a pooler
	Schema            string // "" for the default
	NoMigrate         bool
	Readers           int    // limit of connections that read
	Addr, Folder      string // served address; id of the locked data folder, "" for none
	Version, Settings string
	Log               *slog.Logger // nil for the default
	Lease             time.Duration
	Cluster           bool
	Lost              func(error) // called once when this process may no longer write; may be nil
	Timeout           time.Duration
	Meter             commit.Meter // may be nil
	Migrations        fs.FS        // nil for those of this program

	ReadTime, SayTime time.Duration // override readPatience and wakeTime; 0 keeps them
}

// Open connects to the database of cfg.URL, migrates its schema, and makes this process its node.
func Open(ctx context.Context, cfg Config) (_ *Engine, err error) {
	e, err := dial(ctx, cfg)
	if err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			if e.Cluster != nil {
				e.Cluster.leave()
			}
			if e.Lease != nil {
				e.Lease.leave()
			}
			e.drop()
			e.pool.Close()
		}
	}()
	if err := e.enter(ctx, cfg); err != nil {
		return nil, err
	}
	if cfg.ListenURL != "" {
		if err := e.goPooled(ctx, cfg); err != nil {
			return nil, err
		}
	}
	e.readers = e.openReaders()
	e.readers.SetMaxOpenConns(cfg.Readers)
	e.readers.SetMaxIdleConns(cfg.Readers)
	e.readers.SetConnMaxIdleTime(5 * time.Minute)
	return e, nil
}

// dial connects, and checks whether the server is suitable.
func dial(ctx context.Context, cfg Config) (*Engine, error) {
	conf, err := connConfig(cfg)
	if err != nil {
		return nil, err
	}
	all := &wires{dial: conf.DialFunc, open: map[*wire]bool{}}
	conf.DialFunc = all.connect
	e := &Engine{cfg: conf, direct: conf, wires: all, schema: cmp.Or(cfg.Schema, defaultSchema),
		log: cfg.Log, readTime: cfg.ReadTime, sayTime: cfg.SayTime, stmts: map[string]*sql.Stmt{}, bound: map[string]string{}}
	if e.log == nil {
		e.log = slog.Default()
	}
	if e.Meter = cfg.Meter; e.Meter == nil {
		e.Meter = commit.NoMeter{}
	}
	if cfg.Migrations == nil {
		cfg.Migrations = migrations.Postgres
	}
	if e.known, err = readMigrations(cfg.Migrations); err != nil {
		return nil, err
	}
	e.pool = stdlib.OpenDB(*conf)
	e.pool.SetMaxOpenConns(1)
	if err = e.first(ctx, fit); err != nil {
		e.drop()
		return nil, errors.Join(err, e.pool.Close())
	}
	return e, nil
}

func (e *Engine) openReaders() *sql.DB {
	const idle = "60s" // an idle view holds no locks
	if e.cfg != e.direct {
		return sql.OpenDB(aheadWire{&poolWire{conf: e.cfg, before: e.settings(idle)}})
	}
	readers := e.cfg.Copy()
	readers.RuntimeParams["default_transaction_isolation"] = "repeatable read" // readers see a consistent snapshot
	readers.RuntimeParams["idle_in_transaction_session_timeout"] = idle
	return sql.OpenDB(aheadWire{stdlib.GetConnector(*readers)})
}

// connConfig returns the settings of direct connections to PostgreSQL. Both sides detect a lost connection in less
// than half a minute, and idle transactions are ended, so they don't delay evictions.
func connConfig(cfg Config) (*pgx.ConnConfig, error) {
	conf, err := pgx.ParseConfig(cmp.Or(cfg.ListenURL, cfg.URL))
	if err != nil { // without the password
		return nil, fmt.Errorf("address of the database: %w", err)
	}
	if conf.ConnectTimeout == 0 {
		conf.ConnectTimeout = dialTime
	}
	for name, value := range map[string]string{"application_name": "fawn", "jit": "off",
		"search_path":                         quoteName(cmp.Or(cfg.Schema, defaultSchema)),
		"default_transaction_isolation":       "read committed",
		"statement_timeout":                   milliseconds(max(0, cmp.Or(cfg.Timeout, statementTime))),
		"idle_in_transaction_session_timeout": writerIdle,
		"tcp_keepalives_idle":                 "10", "tcp_keepalives_interval": "5", "tcp_keepalives_count": "3",
		"tcp_user_timeout": milliseconds(wireTime)} {
		conf.RuntimeParams[name] = value
	}
	dialer := net.Dialer{Control: limitWire, KeepAliveConfig: net.KeepAliveConfig{Enable: true, Idle: 10 * time.Second,
		Interval: 5 * time.Second, Count: 3}}
	conf.DialFunc = dialer.DialContext
	return conf, nil
}

func milliseconds(d time.Duration) string { return strconv.FormatInt(d.Milliseconds(), 10) }

func quoteName(name string) string { return pgx.Identifier{name}.Sanitize() }

// connect opens the writing connection if necessary. A transaction possibly still active on a lost one is ended first,
// so that it can't write concurrently.
func (e *Engine) connect(ctx context.Context) error {
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
	// A pooler ends a transaction of a lost client itself, and its process number isn't the server's.
	if e.Lease != nil && e.cfg == e.direct {
		if _, err := e.raw.Exec(ctx, `SELECT pg_terminate_backend(pid, 1000) FROM pg_stat_activity
			WHERE pid = $1 AND application_name = $2 AND datname = current_database()`, int32(e.pid),
			e.cfg.RuntimeParams["application_name"]); err != nil {
			e.drop()
			return fmt.Errorf("end the lost connection: %w", err)
		}
	}
	e.pid, e.fresh = e.raw.PgConn().PID(), true
	return nil
}

// drop closes the writing connection.
func (e *Engine) drop() {
	if e.raw == nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	e.raw.Close(ctx)
	e.conn.Close()
	e.conn, e.raw, e.stmts = nil, nil, map[string]*sql.Stmt{}
}

// rawOf returns the configuration of a pool's connections.
func rawOf(c *sql.Conn) (raw *pgx.Conn, err error) {
	err = c.Raw(func(driver any) error {
		switch c := driver.(type) {
		case *poolConn:
			raw = c.Conn
		case *stdlib.Conn:
			raw = c.Conn()
		}
		return nil
	})
	return raw, err
}

// first opens the first connection and runs the query of fit. It retries for some time without a response: servers are
// restarted together, and a pooler without a server rejects connections for a while, both at connecting and at first
// use.
func (e *Engine) first(ctx context.Context, fit func(context.Context, *pgx.Conn) error) error {
	patience := pgPatience
	if e.cfg != e.direct {
		patience = poolPatience
	}
	for began, said := time.Now(), false; ; said = true {
		err := e.connect(ctx)
		if err == nil {
			err = fit(ctx, e.raw)
		}
		if poolerSays(err) {
			return errPooler
		}
		if err == nil || !unanswered(err) && !lostConnection(err) || time.Since(began) > patience {
			return err
		}
		if !said {
			e.log.Warn("database unreachable; retrying", "for", patience, "err", err)
		}
		e.drop()
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-time.After(pgPause):
		}
	}
}

// unanswered reports whether an error means that no server answers, or not yet.
func unanswered(err error) bool {
	if pg, ok := errors.AsType[*pgconn.PgError](err); ok {
		return strings.HasPrefix(pg.Code, "57P") || pg.Code == codeCrowded
	}
	dns, ok := errors.AsType[*net.DNSError](err)
	_, connecting := errors.AsType[*pgconn.ConnectError](err)
	return connecting && !(ok && dns.IsNotFound)
}

// lockStart serializes starts, and excludes old programs without leases, which hold this lock while they run. A just
// killed process may still hold it.
func (e *Engine) lockStart(ctx context.Context, cluster bool) error {
	patience := pgLeaving
	if cluster { // servers starting together do so one after the other
		patience = statementTime
	}
	for began := time.Now(); ; {
		var free bool
		err := e.raw.QueryRow(ctx, `SELECT pg_try_advisory_lock($1, hashtext($2))`, int32(lockClass),
			e.schema).Scan(&free)
		if err != nil {
			return fmt.Errorf("lock the database: %w", err)
		}
		if free {
			return nil
		}
		if time.Since(began) > patience {
			return e.holder(ctx)
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-time.After(pgPause):
		}
	}
}

func (e *Engine) endTurn(ctx context.Context) error {
	_, err := e.raw.Exec(ctx, `SELECT pg_advisory_unlock($1, hashtext($2))`, int32(lockClass), e.schema)
	return translate(err)
}

// holder names the holder of the start lock. A program without leases registered itself in node.
func (e *Engine) holder(ctx context.Context) error {
	taken := &TakenError{Schema: e.schema}
	var old bool
	err := e.raw.QueryRow(ctx, `SELECT to_regclass('node') IS NOT NULL
		AND to_regprocedure('node_class()') IS NULL`).Scan(&old)
	if err == nil && old {
		n := &taken.Node
		err = e.raw.QueryRow(ctx, `SELECT host, pid, address FROM node ORDER BY id DESC LIMIT 1`).Scan(&n.Host, &n.PID,
			&n.Addr)
	}
	if err != nil && !errors.Is(err, pgx.ErrNoRows) {
		return errors.Join(taken, err)
	}
	return taken
}

// fit refuses servers that would not do.
func fit(ctx context.Context, conn *pgx.Conn) error {
	if lost, _, err := behindPooler(ctx, conn); err != nil || lost {
		return cmp.Or(err, errPooler)
	}
	var version, encoding, commit string
	err := conn.QueryRow(ctx, `SELECT current_setting('server_version_num'), current_setting('server_encoding'),
		current_setting('synchronous_commit')`).Scan(&version, &encoding, &commit)
	if err != nil {
		return translate(err)
	}
	n, err := strconv.Atoi(version)
	switch {
	case err != nil || n/10_000 < leastVersion:
		return fmt.Errorf("PostgreSQL %d is needed, or a newer one", leastVersion)
	case encoding != "UTF8":
		return fmt.Errorf("the database has the encoding %s, and must have UTF8", encoding)
	case commit == "off":
		return errors.New("synchronous_commit is off: confirmed commits could be lost")
	}
	return nil
}

// Cause returns the sentinel that an error of PostgreSQL means, nil for none.
func Cause(err error) error {
	pg, ok := errors.AsType[*pgconn.PgError](err)
	switch {
	case !ok:
		return nil
	case pg.Code == codeFenced:
		return errEvicted
	case strings.HasPrefix(pg.Code, "23"):
		return commit.ErrConflict
	case pg.Code == "53100" || pg.Code == "58030":
		return commit.ErrFull
	case pg.Code == "54000":
		return commit.ErrConflict
	}
	return nil
}

func translate(err error) error { return commit.Translate(err, Cause) }

// AdvanceSequence advances a table's sequence past existing numbers.
func (e *Engine) AdvanceSequence(table, column string) error {
	_, err := e.raw.Exec(context.Background(), fmt.Sprintf(`SELECT setval(pg_get_serial_sequence('%s', '%s'),
		(SELECT coalesce(max(%s), 0) + 1 FROM %s), false)`, table, column, column, table))
	return err
}

// PrepareMove begins the transaction's part of a move of rows into this database: it may wait indefinitely for its next
// statement, and the last seen position of another database is forgotten.
func (e *Engine) PrepareMove() error {
	return e.Run([]commit.Stmt{e.fence(), {What: "lift", Of: "limit", SQL: `SET LOCAL idle_in_transaction_session_timeout = 0`},
		{What: "forget", Of: "failover", SQL: `DELETE FROM kv WHERE owner = '' AND space = ?`, Args: []any{failoverSpace}}})
}
