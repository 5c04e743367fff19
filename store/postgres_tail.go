package store

import (
	"context"
	"time"
)

// tailStays is how long others may want to read rows of the tail that nobody needs any more.
const tailStays = 30 * time.Second

// tailRow is the row of a group: one that was sent before, and arrives late, finds it there, or a later one. Its
// row stays until there is one.
const tailRow = `INSERT INTO tail(id, data) SELECT CAST(?1 AS bigint), CAST(?2 AS bytea)
	WHERE NOT EXISTS (SELECT 1 FROM tail WHERE id >= ?1 AND id < ?3) ON CONFLICT DO NOTHING`

// opening begins a group: the fence, then its row in the tail, if it has one, and the rows of its threads where
// other servers may want them, too.
func (e *postgresEngine) opening(g *group, data []byte) []stmt {
	list := append([]stmt{e.fence()}, e.whole()...)
	if g.row > 0 {
		list = append(list, stmt{what: "write", of: "tail", sql: tailRow,
			args: []any{g.row, blob(data), spanOf(e.node.id).end}, must: errWritten})
	}
	if e.cluster != nil {
		list = append(list, g.lockThreads()...)
	}
	return list
}

func (e *postgresEngine) tail(ctx context.Context) (span tailSpan, last int64, err error) {
	span = spanOf(e.node.id)
	err = e.raw.QueryRow(ctx, `SELECT coalesce(max(id), 0) FROM `+e.of("tail")+` WHERE id >= $1 AND id < $2`,
		span.first, span.end).Scan(&last)
	return span, last, translate(err)
}

func (e *postgresEngine) everyGroup() bool { return true }

// keeps gives others time for rows that they have not read yet, as long as there are others.
func (e *postgresEngine) keeps() time.Duration {
	if e.node.others.Load() == 0 {
		return 0
	}
	return tailStays
}
