package postgres

import (
	"context"
	"encoding/json"
	"slices"
	"time"

	"fawn/store/commit"
)

// tailStays is how long other servers may read tail rows that are otherwise no longer needed.
const tailStays = 30 * time.Second

// tailRow is the row of a group: a group sent earlier that arrives late finds it, or a later one, there. Its row stays
// until there is a later one.
const tailRow = `INSERT INTO tail(id, data) SELECT CAST(?1 AS bigint), CAST(?2 AS bytea)
	WHERE NOT EXISTS (SELECT 1 FROM tail WHERE id >= ?1 AND id < ?3) ON CONFLICT DO NOTHING`

// opening begins a group: the fence, then its tail row, if it has one, and its threads' rows if other servers may want
// them too.
func (e *Engine) opening(g *commit.Group, data []byte) []commit.Stmt {
	if data == nil { // never NULL
		data = []byte{}
	}
	list := append([]commit.Stmt{e.fence()}, e.whole()...)
	if g.Row > 0 {
		list = append(list, commit.Stmt{What: "write", Of: "tail", SQL: tailRow,
			Args: []any{g.Row, data, commit.SpanOf(e.Lease.id).End}, Must: errWritten})
	}
	if e.Cluster != nil {
		list = append(list, lockThreads(g)...)
	}
	return list
}

func (e *Engine) Tail(ctx context.Context) (span commit.Span, last int64, err error) {
	span = commit.SpanOf(e.Lease.id)
	err = e.raw.QueryRow(ctx, `SELECT coalesce(max(id), 0) FROM `+e.of("tail")+` WHERE id >= $1 AND id < $2`,
		span.First, span.End).Scan(&last)
	return span, last, translate(err)
}

func (e *Engine) EveryGroup() bool { return true }

// Keeps returns how long rows stay for other servers to read, if there are any.
func (e *Engine) Keeps() time.Duration {
	if e.Lease.Others.Load() == 0 {
		return 0
	}
	return tailStays
}

// lockThreads locks the rows of a group's threads in an order common to all nodes, which prevents deadlocks between two
// groups. A single one needs no order.
func lockThreads(g *commit.Group) []commit.Stmt {
	var ids []string
	for _, j := range g.Jobs {
		if j.Plan != nil && j.Plan.Target != "" {
			ids = append(ids, j.Plan.Target)
		}
	}
	slices.Sort(ids)
	if ids = slices.Compact(ids); len(ids) < 2 {
		return nil
	}
	list, err := json.Marshal(ids)
	if err != nil { // texts always encode
		return nil
	}
	return []commit.Stmt{{What: "lock", Of: "threads", SQL: `SELECT 1 FROM thread WHERE id IN {list} ORDER BY id{lock}`,
		Args: []any{string(list)}}}
}
