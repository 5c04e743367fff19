package postgres

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"fawn/store/commit"
)

// A standby that takes over may lack the last commits. A server whose own commits are missing stops, so that its runs
// are taken over as stored. Since clients saw more, all threads skip to unused numbers, including those of servers that
// failed at the same time and can't be asked. A new incarnation prevents confusion with remembered rows.

// errBehind means that the database lacks commits it had confirmed.
var errBehind = fmt.Errorf("%w: commits were lost: a standby without them has taken over", ErrFenced)

const (
	// Leap is the number of event numbers skipped: more than a thread uses within the possible lag of a standby.
	Leap = 1 << 20
	// failoverRecent is how long after a takeover another failed server may be detected.
	failoverRecent = time.Hour
	// failoverSpace has a row for each takeover by a standby: the timeline, with the time of its detection.
	failoverSpace = "failover"
)

// noTimeline lists the error codes of services with their own replication, or without access to it: an unsupported
// feature, a missing function, a missing right.
var noTimeline = []string{"0A000", "42883", "42501"}

// moveOn is part of a statement that claims runs: if stored data of their servers may have been lost, it makes their
// threads skip to unused numbers.
var moveOn = fmt.Sprintf(`, moved AS (UPDATE thread SET seq = seq + %[1]d, top = top + %[1]d,
	incarnation = incarnation + 1
	WHERE id IN (SELECT r.thread FROM run r JOIN claimed c ON c.id = r.id WHERE c.node <> 0)
		AND EXISTS (SELECT 1 FROM kv WHERE owner = '' AND space = '%[2]s'
			AND key > lpad((extract(epoch FROM clock_timestamp() - make_interval(secs => %[3]d))
				* 1000)::bigint::text, 15, '0')))`, Leap, failoverSpace,
	int(failoverRecent.Seconds()))

// checkDatabase checks on a new connection whether it leads to another database than the previous one.
func (e *Engine) checkDatabase(ctx context.Context) error {
	if !e.fresh {
		return nil
	}
	if e.cfg == e.direct { // otherwise the connection that renews the lease notices it
		if err := failedOver(ctx, e.raw, e.log); err != nil {
			return err
		}
	}
	if last := e.Lease.acked.Load(); last > 0 {
		var there bool
		err := e.raw.QueryRow(ctx, `SELECT EXISTS (SELECT 1 FROM `+e.of("tail")+` WHERE id >= $1 AND id < $2)`, last,
			commit.SpanOf(e.Lease.id).End).Scan(&there)
		if err != nil {
			return err
		}
		if !there {
			return errBehind
		}
	}
	e.fresh = false
	return nil
}

// whole refuses a group where the last one is missing. Only through a pooler it is asked each time, as connections to
// that stay when another server is after it.
func (e *Engine) whole() []commit.Stmt {
	last := e.Lease.acked.Load()
	if e.cfg == e.direct || last == 0 {
		return nil
	}
	return []commit.Stmt{{What: "find", Of: "tail", SQL: `SELECT 1 FROM tail WHERE id >= ? AND id < ? LIMIT 1`,
		Args: []any{last, commit.SpanOf(e.Lease.id).End}, Must: errBehind}}
}

// failedOver detects a takeover by a standby, which starts a new timeline, and makes threads skip numbers. Threads
// active on a server are exempt: if their server lost nothing they stay, and otherwise they are moved when taken over.
func failedOver(ctx context.Context, conn *pgx.Conn, log *slog.Logger) error {
	tx, err := conn.Begin(ctx)
	if err != nil {
		return err
	}
	defer tx.Rollback(context.WithoutCancel(ctx))
	_, err = tx.Exec(ctx, `SELECT pg_advisory_xact_lock($1, hashtext(current_schema() || ' failover'))`,
		int32(lockClass))
	if err != nil {
		return err
	}
	var now, known, at string
	err = tx.QueryRow(ctx, `SELECT substr(pg_walfile_name(pg_current_wal_lsn()), 1, 8),
		lpad((extract(epoch FROM clock_timestamp()) * 1000)::bigint::text, 15, '0'),
		coalesce((SELECT convert_from(body, 'UTF8') FROM kv WHERE owner = '' AND space = $1 ORDER BY key DESC LIMIT 1),
			'')`, failoverSpace).Scan(&now, &at, &known)
	if pg, ok := errors.AsType[*pgconn.PgError](err); ok && slices.Contains(noTimeline, pg.Code) {
		log.Warn("couldn't read PostgreSQL's timeline; commits lost in a failover go unnoticed",
			"err", err)
		return nil
	}
	if err != nil {
		return fmt.Errorf("query the database's timeline: %w", err)
	}
	if known == now {
		return nil
	}
	moved := int64(0)
	if known == "" { // the first check
		at = ""
	} else {
		tag, err := tx.Exec(ctx, `UPDATE thread SET seq = seq + $1, top = top + $1, incarnation = incarnation + 1
			WHERE NOT EXISTS (SELECT 1 FROM run r JOIN node n ON n.id = r.node
				WHERE r.thread = thread.id AND r.front = 1)`, Leap)
		if err != nil {
			return fmt.Errorf("move the numbers of threads on: %w", err)
		}
		moved = tag.RowsAffected()
	}
	_, err = tx.Exec(ctx, `INSERT INTO kv(owner, space, key, body) VALUES ('', $1, $2, convert_to($3, 'UTF8'))`,
		failoverSpace, at, now)
	if err == nil {
		err = tx.Commit(ctx)
	}
	if err == nil && known != "" {
		log.Warn("PostgreSQL failed over; skipping event numbers to stay unique",
			"timeline", now, "before", known, "threads", moved)
	}
	return err
}
