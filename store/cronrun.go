package store

import (
	"context"
	"fmt"
	"time"
)

// Statuses of a [CronRun]. All but the first two are final.
const (
	CronStarting    = "starting" // stored before its run exists
	CronRunning     = "running"
	CronSuccess     = "success"
	CronFailed      = "failed"
	CronInterrupted = "interrupted"
	CronSkipped     = "skipped"
)

// CronRun is one start of a cron.
type CronRun struct {
	ID         string
	Cron       string
	Run        string // id of the run, set before it exists
	Thread     string
	Trigger    string // "scheduled" or "manual"
	Status     string
	Error      string
	DueAt      time.Time
	StartedAt  time.Time // zero if nothing was started
	FinishedAt time.Time // zero until everything is done
}

// keptCronRuns is the number of starts kept per cron.
const keptCronRuns = 1000

const cronRunColumns = `id, cron, run, thread, "trigger", status, error, due_at, started_at, finished_at`

func scanCronRun(row scanner) (r CronRun, err error) {
	var due, started, finished int64
	err = row.Scan(&r.ID, &r.Cron, &r.Run, &r.Thread, &r.Trigger, &r.Status, &r.Error, &due, &started, &finished)
	r.DueAt, r.StartedAt, r.FinishedAt = fromMillis(due), fromMillis(started), fromMillis(finished)
	return r, translate(err)
}

// ClaimCron records that a cron is being started for its due time, together with the next due time.
// ErrConflict if its NextAt is no longer was, so that nothing is started twice. A zero was leaves
// NextAt unchanged: the start isn't from the schedule.
func (db *DB) ClaimCron(ctx context.Context, r CronRun, was, next time.Time) error {
	err := db.w.do(ctx, &job{apply: func(w *writer) error {
		if !was.IsZero() {
			if err := w.changeOr(ErrConflict, `UPDATE cron SET next_at = ? WHERE id = ? AND next_at = ?`,
				millis(next), r.Cron, millis(was)); err != nil {
				return err
			}
		}
		if err := w.exec(`INSERT INTO cron_run(`+cronRunColumns+`) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
			r.ID, r.Cron, r.Run, r.Thread, r.Trigger, r.Status, r.Error, millis(r.DueAt), millis(r.StartedAt),
			millis(r.FinishedAt)); err != nil {
			return err
		}
		return w.exec(`DELETE FROM cron_run WHERE cron = ? AND finished_at > 0 AND due_at <
			(SELECT due_at FROM cron_run WHERE cron = ? ORDER BY due_at DESC, id DESC LIMIT 1 OFFSET ?)`,
			r.Cron, r.Cron, keptCronRuns-1)
	}})
	if err != nil {
		return fmt.Errorf("claim cron %s: %w", r.Cron, err)
	}
	return nil
}

// PutCronRun stores the progress of a start, together with messages about it for a chat. A start of a deleted cron is
// dropped.
func (db *DB) PutCronRun(ctx context.Context, r CronRun, told ...Outbound) error {
	err := db.w.do(ctx, &job{apply: func(w *writer) error {
		for _, o := range told {
			if err := w.putOutbound(o, true); err != nil {
				return err
			}
		}
		return w.exec(`UPDATE cron_run SET status = ?, error = ?, started_at = ?, finished_at = ? WHERE id = ?`,
			r.Status, r.Error, millis(r.StartedAt), millis(r.FinishedAt), r.ID)
	}})
	if err != nil {
		return fmt.Errorf("start %s of cron %s: %w", r.ID, r.Cron, err)
	}
	return nil
}

// OpenCronRuns returns the unfinished starts of all crons, oldest first.
func (db *DB) OpenCronRuns(ctx context.Context) ([]CronRun, error) {
	return db.cronRuns(ctx, `SELECT `+cronRunColumns+` FROM cron_run WHERE finished_at = 0 ORDER BY due_at, id`)
}

// CronRuns returns a page of the starts of a cron, newest first.
func (db *DB) CronRuns(ctx context.Context, cron string, limit, offset int) ([]CronRun, error) {
	return db.cronRuns(ctx, `SELECT `+cronRunColumns+
		` FROM cron_run WHERE cron = ? ORDER BY due_at DESC, id DESC LIMIT ? OFFSET ?`, cron, limit, offset)
}

// CountCronRuns returns the number of recorded starts of a cron that started something, and the number of open ones.
func (db *DB) CountCronRuns(ctx context.Context, cron string) (started, open int, err error) {
	err = db.queryRow(ctx, `SELECT count(*) FILTER (WHERE started_at > 0), count(*) FILTER (WHERE finished_at = 0)
		FROM cron_run WHERE cron = ?`, []any{cron}, &started, &open)
	if err != nil {
		err = fmt.Errorf("count starts of cron %s: %w", cron, err)
	}
	return started, open, err
}

func (db *DB) cronRuns(ctx context.Context, query string, args ...any) ([]CronRun, error) {
	list, err := rowsOf(ctx, db, query, args, scanCronRun)
	if err != nil {
		return nil, fmt.Errorf("list starts of crons: %w", err)
	}
	return list, nil
}
