package postgres

import (
	"cmp"
	"context"
	"crypto/tls"
	"fmt"
	"net"
	"strconv"
	"time"

	"github.com/jackc/pgx/v5"
)

// Report describes a PostgreSQL before a server starts with it.
type Report struct {
	Address string // host:port of the server, or its socket
	Name    string // name of the database
	User    string
	Version string
	Pooler  string // host:port of the pooler for transactions, "" for none
	TLS     bool
	Skew    time.Duration // how far our clock is ahead of the server's, approximately
	Away    time.Duration // round-trip time of a query
	Unfit   error         // reason why it is unsuitable, nil if it is suitable
	Rights  error         // missing rights of the user, nil if sufficient
	Owned   bool          // the schema exists and belongs to the user
	Nodes   []Node        // owners of rows, current or without an orderly exit
}

// Inspect examines the database of cfg.URL without changes.
func Inspect(ctx context.Context, cfg Config) (*Report, error) {
	conf, err := connConfig(cfg)
	if err != nil {
		return nil, err
	}
	conn, err := pgx.ConnectConfig(ctx, conf)
	if poolerSays(err) {
		return nil, errPooler
	}
	if err != nil {
		return nil, fmt.Errorf("connect to the database: %w", err)
	}
	defer conn.Close(ctx)
	r := &Report{Address: hostPort(conf), Name: conf.Database, User: conf.User}
	_, r.TLS = conn.PgConn().Conn().(*tls.Conn)
	began := time.Now()
	if err := conn.QueryRow(ctx, `SHOW server_version`).Scan(&r.Version); err != nil {
		return nil, fmt.Errorf("ask the database: %w", err)
	}
	r.Away = time.Since(began)
	var clock time.Time
	if err := conn.QueryRow(ctx, `SELECT clock_timestamp()`).Scan(&clock); err != nil {
		return nil, fmt.Errorf("ask the database: %w", err)
	}
	r.Skew = time.Since(clock) - r.Away/2
	r.Unfit = fit(ctx, conn)
	if cfg.ListenURL != "" && r.Unfit == nil {
		r.Pooler, r.Unfit = pooler(ctx, conf, cfg)
	}
	if r.Owned, r.Rights = rights(ctx, conn, cmp.Or(cfg.Schema, defaultSchema)); r.Rights != nil {
		return r, nil
	}
	if r.Nodes, err = nodes(ctx, conn); err != nil {
		return nil, fmt.Errorf("read the database's servers: %w", err)
	}
	return r, nil
}

// pooler checks whether the pooler of cfg.URL leads to the database that conn has.
func pooler(ctx context.Context, direct *pgx.ConnConfig, cfg Config) (address string, err error) {
	conf, err := pooled(direct, cfg)
	if err != nil {
		return "", err
	}
	conn, err := pgx.ConnectConfig(ctx, conf)
	if err != nil {
		return "", fmt.Errorf("connect to the pooler: %w", err)
	}
	defer conn.Close(ctx)
	return hostPort(conf), poolerFit(ctx, conn)
}

func hostPort(conf *pgx.ConnConfig) string {
	if network, path := pgAddress(conf); network != "tcp" {
		return path
	}
	return net.JoinHostPort(conf.Host, strconv.Itoa(int(conf.Port)))
}

// pgAddress returns where a server listens.
func pgAddress(conf *pgx.ConnConfig) (network, address string) {
	if len(conf.Host) > 0 && conf.Host[0] == '/' {
		return "unix", conf.Host
	}
	return "tcp", conf.Host
}

// rights checks whether the user may create the schema or change it.
func rights(ctx context.Context, conn *pgx.Conn, schema string) (owned bool, err error) {
	var owner, user *string
	var mine, create *bool
	var end bool
	err = conn.QueryRow(ctx, `SELECT current_user::text, pg_get_userbyid(nspowner)::text,
		pg_has_role(nspowner, 'USAGE'), has_database_privilege(current_database(), 'CREATE'),
		has_function_privilege((SELECT min(oid) FROM pg_proc WHERE proname = 'pg_terminate_backend'), 'EXECUTE')
		FROM (SELECT 1) one LEFT JOIN pg_namespace ON nspname = $1`, schema).Scan(&user, &owner, &mine, &create, &end)
	switch {
	case err != nil:
		return false, err
	case !end: // it may end its own unless that right was revoked
		return false, fmt.Errorf("%s may not end its own connections, as when a server is evicted: GRANT EXECUTE ON "+
			"FUNCTION pg_terminate_backend TO %s", *user, quoteName(*user))
	case owner == nil && !*create:
		return false, fmt.Errorf("%s may not create the schema %s: create it with AUTHORIZATION %s", *user, schema,
			*user)
	case owner != nil && !*mine:
		return false, fmt.Errorf("the schema %s belongs to %s, and must belong to %s", schema, *owner, *user)
	}
	return owner != nil, nil
}
