package store

import (
	"context"
	"encoding/json"
	"fmt"
	"time"
)

// Spending is a model call other than a run's answers: a title, a summary, a suggestion.
type Spending struct {
	Owner                string // owner of a call without a thread; "" is written as [DefaultOwner]
	Thread, Run          string // "" for none
	Purpose, Model       string
	Input, Output, Total int
	Cost                 float64 // at the price at the time of the call, 0 if unknown
	Currency             string
}

// putSpending adds rows. They belong to the thread's owner, and are dropped if the thread was deleted meanwhile.
func (p *batch) putSpending() {
	const columns = `INSERT INTO spending(owner, thread, run, purpose, model, input, output, total,
		cost, currency, at) `
	now := p.now.UnixMilli()
	for _, s := range p.Spending {
		if s.Thread == "" {
			p.add("write spending on", s.Purpose, columns+`VALUES (?, '', ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
				orDefault(s.Owner, DefaultOwner), s.Run, s.Purpose, s.Model, s.Input, s.Output, s.Total, s.Cost,
				s.Currency, now)
			continue
		}
		p.add("write spending on", s.Purpose,
			columns+`SELECT owner, id, ?, ?, ?, ?, ?, ?, ?, ?, ? FROM thread WHERE id = ?`, s.Run, s.Purpose, s.Model,
			s.Input, s.Output, s.Total, s.Cost, s.Currency, now, s.Thread)
	}
}

// helperSums selects the cost of a run's side calls as the value of Run.Helpers. id is the column with the run's id.
func helperSums(id string) string {
	return `(SELECT {array}(count(*), coalesce(sum(input), 0), coalesce(sum(output), 0), coalesce(sum(total), 0))
		FROM spending WHERE spending.run = ` + id + `)`
}

// Helpers sums the side calls of a run.
type Helpers struct{ Calls, Input, Output, Total int }

func helpersOf(raw []byte) (h Helpers, err error) {
	err = json.Unmarshal(raw, &[]any{&h.Calls, &h.Input, &h.Output, &h.Total})
	return h, err
}

// Spent is a sum spent on one model in one currency. Money without a known price is in the currency "".
type Spent struct {
	Date                 string // YYYY-MM-DD, if requested
	Caller, Model        string
	Currency             string
	Runs                 int // number of runs the model worked for
	Total, Input, Output int64
	Cost                 float64
}

// SideCalls sums a run's side calls with one purpose.
type SideCalls struct {
	Spending
	Calls int
}

const spentSums = `count(DISTINCT nullif(run, '')), sum(total), sum(input), sum(output), sum(cost) FROM spent `

// SpentByDay adds up everything owner spent since a moment, for each day of clocks that are
// ahead of UTC by ahead, and by currency. Days without spending are left out.
func (db *DB) SpentByDay(ctx context.Context, owner string, since time.Time, ahead time.Duration) ([]Spent, error) {
	return db.spent(ctx, `SELECT {day}at + ?{day end}, '', '', currency, `+spentSums+
		`WHERE owner = ? AND at >= ? GROUP BY 1, 4 ORDER BY 1, 4`, ahead.Milliseconds(), orDefault(owner, DefaultOwner),
		millis(since))
}

// SpentByModel adds up everything owner spent since a moment, by model and currency.
func (db *DB) SpentByModel(ctx context.Context, owner string, since time.Time) ([]Spent, error) {
	return db.spent(ctx, `SELECT '', '', model, currency, `+spentSums+
		`WHERE owner = ? AND at >= ? GROUP BY 3, 4 ORDER BY 3, 4`,
		orDefault(owner, DefaultOwner), millis(since))
}

// SpentIn sums the spending in a thread, by caller, model and currency; unended runs are included only with active.
func (db *DB) SpentIn(ctx context.Context, thread string, active bool) ([]Spent, error) {
	return db.spent(ctx, `SELECT '', caller, model, currency, `+spentSums+`WHERE thread = ? AND
		(? = 1 OR NOT EXISTS (SELECT 1 FROM run r WHERE r.id = spent.run AND r.status IN ('pending', 'running')))
		GROUP BY 2, 3, 4 ORDER BY 2, 3, 4`,
		thread, active)
}

// SideCalls sums the side calls of a thread's runs, by run, purpose, model and currency. Calls outside of runs have the
// run "".
func (db *DB) SideCalls(ctx context.Context, thread string) ([]SideCalls, error) {
	list, err := rowsOf(ctx, db, `SELECT run, purpose, model, currency, count(*), sum(input), sum(output), sum(total), sum(cost)
		FROM spending WHERE thread = ? GROUP BY 1, 2, 3, 4 ORDER BY 1, 2, 3, 4`,
		[]any{thread}, func(rows scanner) (s SideCalls, err error) {
			err = rows.Scan(&s.Run, &s.Purpose, &s.Model, &s.Currency, &s.Calls, &s.Input, &s.Output,
				&s.Total, &s.Cost)
			return s, err
		})
	if err != nil {
		return nil, fmt.Errorf("read side calls of thread %s: %w", thread, err)
	}
	return list, nil
}

func (db *DB) spent(ctx context.Context, query string, args ...any) ([]Spent, error) {
	list, err := rowsOf(ctx, db, query, args, func(rows scanner) (s Spent, err error) {
		err = rows.Scan(&s.Date, &s.Caller, &s.Model, &s.Currency, &s.Runs, &s.Total, &s.Input, &s.Output, &s.Cost)
		return s, err
	})
	if err != nil {
		return nil, fmt.Errorf("read spending: %w", err)
	}
	return list, nil
}

// SpentByAgent sums owner's spending in runs since a moment, by agent, as Caller, and currency. Helpers count towards
// their kind, side calls towards their run's agent.
func (db *DB) SpentByAgent(ctx context.Context, owner string, since time.Time) ([]Spent, error) {
	return db.spent(ctx, `SELECT '', agent, '', currency, count(DISTINCT run),
			sum(total), sum(input), sum(output), sum(cost)
		FROM (SELECT spent.*, (SELECT coalesce({json}r.metadata{json end} ->> 'subagent_type',
			{json}r.kwargs{json end} -> 'context' ->> 'agent_name',
			{json}r.kwargs{json end} -> 'config' -> 'configurable' ->> 'agent_name', 'lead_agent')
			FROM run r WHERE r.id = spent.run) AS agent
		FROM spent WHERE owner = ? AND at >= ? AND run <> '') s WHERE agent IS NOT NULL GROUP BY 2, 4 ORDER BY 2, 4`,
		orDefault(owner, DefaultOwner), millis(since))
}

// SpentByUser adds up spending since a moment per user, as Caller, and currency.
func (db *DB) SpentByUser(ctx context.Context, since time.Time) ([]Spent, error) {
	return db.spent(ctx, `SELECT '', owner, '', currency, `+spentSums+`WHERE at >= ? GROUP BY 2, 4 ORDER BY 2, 4`,
		millis(since))
}

// ThreadSpent is a thread's spending without side calls, as budgets count it.
type ThreadSpent struct {
	Thread, Title, Currency string
	Tokens                  int64
	Cost                    float64
}

// SpentMost returns owner's threads with the highest spending, at most limit, except those in the trash.
func (db *DB) SpentMost(ctx context.Context, owner string, limit int) ([]ThreadSpent, error) {
	list, err := rowsOf(ctx, db, `SELECT t.id, t.title, max(s.currency), sum(s.total), sum(s.cost)
		FROM spent s JOIN thread t ON t.id = s.thread AND t.deleted_at = 0 AND t.temporary = 0
		WHERE s.owner = ? AND s.caller <> 'middleware' GROUP BY t.id HAVING sum(s.total) > 0 ORDER BY 4 DESC, 1 LIMIT ?`,
		[]any{orDefault(owner, DefaultOwner), limit}, func(rows scanner) (s ThreadSpent, err error) {
			err = rows.Scan(&s.Thread, &s.Title, &s.Currency, &s.Tokens, &s.Cost)
			return s, err
		})
	if err != nil {
		return nil, fmt.Errorf("read the spending of threads: %w", err)
	}
	return list, nil
}
