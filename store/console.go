package store

import (
	"context"
	"database/sql"
	"fmt"
	"time"
)

// Totals are the counts and usage of an owner.
type Totals struct {
	Threads, Assistants      int
	Runs, ActiveRuns, Failed int
	Tokens                   int64
}

// Totals counts an owner's rows and usage.
func (db *DB) Totals(ctx context.Context, owner string) (Totals, error) {
	owner = orDefault(owner, DefaultOwner)
	var t Totals
	err := db.queryRow(ctx, `SELECT (SELECT count(*) FROM thread WHERE owner = ? AND deleted_at = 0 AND temporary = 0),
		(SELECT count(*) FROM assistant WHERE owner = ?), count(*),
		count(*) FILTER (WHERE status IN ('pending', 'running')),
		count(*) FILTER (WHERE status IN ('error', 'timeout')),
		(SELECT coalesce(sum(total), 0) FROM spent WHERE owner = ?) FROM run WHERE owner = ? AND parent = ''`,
		[]any{owner, owner, owner, owner},
		&t.Threads, &t.Assistants, &t.Runs, &t.ActiveRuns, &t.Failed, &t.Tokens)
	if err != nil {
		return t, fmt.Errorf("read totals: %w", err)
	}
	return t, nil
}

// TitledRun is a run with the title of its thread.
type TitledRun struct {
	Run
	Title string
}

// RecentRuns returns a page of the runs of owner on all threads, newest first. An empty
// status means any.
func (db *DB) RecentRuns(ctx context.Context, owner, status string, limit, offset int) ([]TitledRun, error) {
	list, err := rowsOf(ctx, db, `SELECT r.id, r.thread, r.assistant, r.status, r.stop_reason, r.error, r.usage,
			r.created_at, r.updated_at, t.title, `+helperSums("r.id")+`
		FROM run r JOIN thread t ON t.id = r.thread AND t.deleted_at = 0 AND t.temporary = 0
		WHERE r.owner = ? AND r.parent = '' AND (? = '' OR r.status = ?)
		ORDER BY r.created_at DESC, r.id DESC LIMIT ? OFFSET ?`,
		[]any{orDefault(owner, DefaultOwner), status, status, limit, offset}, func(rows scanner) (r TitledRun, err error) {
			var usage, helpers []byte
			var created, updated int64
			err = rows.Scan(&r.ID, &r.ThreadID, &r.AssistantID, &r.Status, &r.StopReason, &r.Error, &usage,
				&created, &updated, &r.Title, &helpers)
			if err == nil {
				r.Helpers, err = helpersOf(helpers)
			}
			r.Usage, r.CreatedAt, r.UpdatedAt = usage, fromMillis(created), fromMillis(updated)
			return r, err
		})
	if err != nil {
		return nil, fmt.Errorf("list recent runs: %w", err)
	}
	return list, nil
}

// RunsByDay counts the runs of owner since a moment for each day (YYYY-MM-DD) of clocks
// that are ahead of UTC by ahead.
func (db *DB) RunsByDay(ctx context.Context, owner string, since time.Time,
	ahead time.Duration) (map[string]int, error) {
	days := map[string]int{}
	err := db.each(ctx, `SELECT {day}created_at + ?{day end}, count(*)
		FROM run WHERE owner = ? AND parent = '' AND created_at >= ? GROUP BY 1`,
		[]any{ahead.Milliseconds(), orDefault(owner, DefaultOwner), millis(since)}, func(rows *sql.Rows) (bool, error) {
			var day string
			var n int
			err := rows.Scan(&day, &n)
			days[day] = n
			return true, err
		})
	if err != nil {
		return nil, fmt.Errorf("count runs by day: %w", err)
	}
	return days, nil
}
