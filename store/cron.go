package store

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"time"
)

// Kinds of a [Cron].
const (
	CronRepeats = "cron" // at every time Schedule names
	CronOnce    = "once" // at RunAt
)

// Cron starts runs at given times. Times have millisecond resolution; a zero time means
// none.
type Cron struct {
	ID        string
	Owner     string // "" is written as [DefaultOwner]
	Kind      string
	Assistant string
	Thread    string // "" creates a new thread for each run
	Schedule  string // five fields, for CronRepeats
	Timezone  string // IANA name
	RunAt     time.Time
	EndAt     time.Time // nothing starts after it
	NextAt    time.Time // when a run is due
	Enabled   bool
	After     string // "keep" or "delete": handling of a thread created for a run
	Overlap   string // "skip" doesn't start while the last run is active
	Title     string
	Task      bool            // created as one of DeerFlow's scheduled tasks
	Deliver   string          // the chat for its results, as JSON; "" is none
	Payload   json.RawMessage // the request for a run; nil is written as {}, like Metadata
	Metadata  json.RawMessage
	CreatedAt time.Time
	UpdatedAt time.Time
}

const cronColumns = `id, owner, kind, assistant, thread, schedule, timezone, run_at, end_at, next_at, enabled,
	"after", "overlap", title, task, deliver, payload, metadata, created_at, updated_at`

func scanCron(row scanner) (c Cron, err error) {
	var runAt, endAt, nextAt, created, updated int64
	var payload, meta []byte
	err = row.Scan(&c.ID, &c.Owner, &c.Kind, &c.Assistant, &c.Thread, &c.Schedule, &c.Timezone, &runAt, &endAt, &nextAt,
		&c.Enabled,
		&c.After, &c.Overlap, &c.Title, &c.Task, &c.Deliver, &payload, &meta, &created, &updated)
	c.Payload, c.Metadata = payload, meta
	c.RunAt, c.EndAt, c.NextAt, c.CreatedAt, c.UpdatedAt = fromMillis(runAt), fromMillis(endAt), fromMillis(nextAt),
		fromMillis(created), fromMillis(updated)
	return c, translate(err)
}

// millis returns t in its stored form, 0 for none.
func millis(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return t.UnixMilli()
}

func (w *writer) putCron(c Cron) error {
	return w.exec(`INSERT INTO cron(`+cronColumns+`) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
		ON CONFLICT(id) DO UPDATE SET kind = excluded.kind, assistant = excluded.assistant, thread = excluded.thread,
		schedule = excluded.schedule, timezone = excluded.timezone,
		run_at = excluded.run_at, end_at = excluded.end_at, next_at = excluded.next_at, enabled = excluded.enabled,
		"after" = excluded."after", "overlap" = excluded."overlap", title = excluded.title,
		deliver = excluded.deliver, payload = excluded.payload, metadata = excluded.metadata, updated_at = excluded.updated_at`,
		c.ID, c.Owner, c.Kind, c.Assistant, c.Thread, c.Schedule, c.Timezone, millis(c.RunAt), millis(c.EndAt),
		millis(c.NextAt), c.Enabled, c.After, c.Overlap, c.Title, c.Task, c.Deliver,
		object(c.Payload), object(c.Metadata), millis(c.CreatedAt), millis(c.UpdatedAt))
}

// CreateCron stores a new cron and returns it as stored. ErrNotFound if its thread doesn't exist.
func (db *DB) CreateCron(ctx context.Context, c Cron) (Cron, error) {
	c.Owner = orDefault(c.Owner, DefaultOwner)
	c.CreatedAt = db.Now().UTC().Truncate(time.Millisecond)
	c.UpdatedAt = c.CreatedAt
	err := db.w.do(ctx, &job{apply: func(w *writer) error {
		if c.Thread != "" {
			if err := w.engine.Run([]stmt{askThread(c.Thread)}); err != nil {
				return err
			}
		}
		return w.putCron(c)
	}})
	if err != nil {
		return c, fmt.Errorf("create cron %s: %w", c.ID, err)
	}
	return c, nil
}

const selectCron = `SELECT ` + cronColumns + ` FROM cron WHERE id = ? AND (? = '' OR owner = ?)`

// Cron returns a cron, or ErrNotFound. An empty owner matches any.
func (db *DB) Cron(ctx context.Context, owner, id string) (Cron, error) {
	c, err := scanCron(db.one(ctx, selectCron, id, owner, owner))
	if err != nil {
		return Cron{}, fmt.Errorf("cron %s: %w", id, err)
	}
	return c, nil
}

// EachCron calls f with the crons of owner, newest first, without their payload, until f
// returns false.
func (db *DB) EachCron(ctx context.Context, owner string, f func(Cron) bool) error {
	err := db.each(ctx, `SELECT id, owner, kind, assistant, thread, schedule, timezone, run_at, end_at, next_at,
		enabled, "after", "overlap", title, task, deliver, '{}', metadata, created_at, updated_at
		FROM cron WHERE owner = ? ORDER BY created_at DESC, id DESC`,
		[]any{orDefault(owner, DefaultOwner)}, func(rows *sql.Rows) (bool, error) {
			c, err := scanCron(rows)
			return err == nil && f(c), err
		})
	if err != nil {
		return fmt.Errorf("list crons: %w", err)
	}
	return nil
}

// ChangeCron lets change edit a cron of owner. change runs inside the transaction: it must not call
// the store, and its error leaves everything unchanged. ErrNotFound if the cron or its new thread
// doesn't exist.
func (db *DB) ChangeCron(ctx context.Context, owner, id string, change func(*Cron) error) (Cron, error) {
	var c Cron
	err := db.w.do(ctx, &job{apply: func(w *writer) error {
		s, err := w.stmt(selectCron)
		if err != nil {
			return err
		}
		if c, err = scanCron(s.QueryRowContext(context.Background(), id, owner, owner)); err != nil {
			return err
		}
		if err := change(&c); err != nil {
			return err
		}
		if c.Thread != "" {
			if err := w.engine.Run([]stmt{askThread(c.Thread)}); err != nil {
				return err
			}
		}
		c.UpdatedAt = db.Now().UTC().Truncate(time.Millisecond)
		return w.putCron(c)
	}})
	if err != nil {
		return c, fmt.Errorf("change cron %s: %w", id, err)
	}
	return c, nil
}

// DeleteCron removes a cron of owner with its list of runs; the runs themselves stay.
// ErrNotFound if there is none.
func (db *DB) DeleteCron(ctx context.Context, owner, id string) error {
	err := db.w.do(ctx, &job{apply: func(w *writer) error {
		err := w.changeOr(ErrNotFound, `DELETE FROM cron WHERE id = ? AND owner = ?`, id, orDefault(owner, DefaultOwner))
		if err != nil {
			return err
		}
		return w.exec(`DELETE FROM cron_run WHERE cron = ?`, id)
	}})
	if err != nil {
		return fmt.Errorf("delete cron %s: %w", id, err)
	}
	return nil
}

// ofEnabled leaves out the crons of disabled accounts. They keep their times, and are due once the account is enabled.
const ofEnabled = `NOT EXISTS (SELECT 1 FROM "user" u WHERE u.id = cron.owner AND u.disabled <> 0)`

// DueCrons returns due crons of enabled owners, the longest due first.
func (db *DB) DueCrons(ctx context.Context, now time.Time, limit int) ([]Cron, error) {
	due, err := rowsOf(ctx, db, `SELECT `+cronColumns+` FROM cron
		WHERE next_at > 0 AND next_at <= ? AND `+ofEnabled+` ORDER BY next_at, id LIMIT ?`,
		[]any{millis(now), limit}, scanCron)
	if err != nil {
		return nil, fmt.Errorf("list due crons: %w", err)
	}
	return due, nil
}

// NextCron returns the next due time among crons, the zero time if there is none.
func (db *DB) NextCron(ctx context.Context) (time.Time, error) {
	var at int64
	query := `SELECT coalesce(min(next_at), 0) FROM cron WHERE next_at > 0 AND ` + ofEnabled
	if err := db.queryRow(ctx, query, nil, &at); err != nil {
		return time.Time{}, fmt.Errorf("find next cron: %w", err)
	}
	return fromMillis(at), nil
}
