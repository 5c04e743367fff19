package store

import (
	"context"
	"encoding/json"
	"slices"
	"time"
)

// tailStays is how long other servers may read tail rows that are otherwise no longer needed.
const tailStays = 30 * time.Second

// tailRow is the row of a group: a group sent earlier that arrives late finds it, or a later one, there. Its row stays
// until there is a later one.
const tailRow = `INSERT INTO tail(id, data) SELECT CAST(?1 AS bigint), CAST(?2 AS bytea)
	WHERE NOT EXISTS (SELECT 1 FROM tail WHERE id >= ?1 AND id < ?3) ON CONFLICT DO NOTHING`

// opening begins a group: the fence, then its tail row, if it has one, and its threads' rows if other servers may want
// them too.
func (e *postgresEngine) opening(g *Group, data []byte) []stmt {
	if data == nil { // never NULL
		data = []byte{}
	}
	list := append([]stmt{e.fence()}, e.whole()...)
	if g.row > 0 {
		list = append(list, stmt{what: "write", of: "tail", sql: tailRow,
			args: []any{g.row, data, spanOf(e.node.id).end}, must: errWritten})
	}
	if e.cluster != nil {
		list = append(list, lockThreads(g)...)
	}
	return list
}

func (e *postgresEngine) tail(ctx context.Context) (span tailSpan, last int64, err error) {
	span = spanOf(e.node.id)
	err = e.raw.QueryRow(ctx, `SELECT coalesce(max(id), 0) FROM `+e.of("tail")+` WHERE id >= $1 AND id < $2`,
		span.first, span.end).Scan(&last)
	return span, last, translatePostgres(err)
}

func (e *postgresEngine) everyGroup() bool { return true }

// keeps returns how long rows stay for other servers to read, if there are any.
func (e *postgresEngine) keeps() time.Duration {
	if e.node.others.Load() == 0 {
		return 0
	}
	return tailStays
}

// lockThreads locks the rows of a group's threads in an order common to all nodes, which prevents deadlocks between two
// groups. A single one needs no order.
func lockThreads(g *Group) []stmt {
	var ids []string
	for _, j := range g.jobs {
		if j.plan != nil && j.plan.target != "" {
			ids = append(ids, j.plan.target)
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
	return []stmt{{what: "lock", of: "threads", sql: `SELECT 1 FROM thread WHERE id IN {list} ORDER BY id{lock}`,
		args: []any{string(list)}}}
}
