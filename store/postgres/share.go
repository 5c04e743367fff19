package postgres

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
)

// queueFor is how long a single waiting owner is assumed to stay the only one, which simplifies claims.
const queueFor = 200 * time.Millisecond

// maxWaiters limits the owners compared by a claim. The next claim continues after them.
const maxWaiters = 64

// queue records whether several owners wait.
type queue struct {
	mu   sync.Mutex
	lone time.Time // last time at most one did
	from string    // owner with whom the next search begins
}

// waiter is an owner with waiting runs.
type waiter struct {
	owner   string
	waiting int64 // number of waiting runs counted
	working int64 // number of runs that servers have
	since   int64 // creation time of the oldest waiting run
}

// waitersQuery iterates over the owners with waiting runs, from $1 on and at most $2 of them, and counts at most $3
// runs of each. Its cost doesn't depend on further runs.
const waitersQuery = `WITH RECURSIVE
	whose(owner) AS ((SELECT r.owner FROM run r WHERE ` + waits + ` AND r.owner >= $1 ORDER BY r.owner LIMIT 1)
		UNION ALL SELECT (SELECT r.owner FROM run r WHERE ` + waits + ` AND r.owner > whose.owner ORDER BY r.owner LIMIT 1)
			FROM whose WHERE whose.owner IS NOT NULL),
	ones AS MATERIALIZED (SELECT owner FROM whose LIMIT $2),
	work AS MATERIALIZED (SELECT owner, count(*) AS n FROM run WHERE node > 0 AND front = 1 GROUP BY owner)
	SELECT ones.owner, first.n, coalesce((SELECT work.n FROM work WHERE work.owner = ones.owner), 0), first.since
	FROM ones, LATERAL (SELECT count(*) AS n, coalesce(min(made), 0) AS since FROM
		(SELECT r.created_at AS made FROM run r WHERE ` + waits + ` AND r.owner BETWEEN ones.owner AND ones.owner
			ORDER BY r.owner, r.created_at, r.id LIMIT $3) r) first
	WHERE ones.owner IS NOT NULL`

// waits is the condition of the index run_waiting_of.
const waits = `r.front = 1 AND r.node = 0 AND r.status = 'pending'`

// shares distributes the next n runs among owners; nil where at most one owner has waiting runs.
func (q *queue) shares(ctx context.Context, c *Cluster, n int) (owners []string, counts []int64, err error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if time.Since(q.lone) < queueFor {
		return nil, nil, nil
	}
	var list []waiter
	look := func(from string) error {
		return c.beside(ctx, nil, indexesOnly, waitersQuery, []any{from, maxWaiters, n}, func(rows pgx.Rows) error {
			var w waiter
			err := rows.Scan(&w.owner, &w.waiting, &w.working, &w.since)
			if !slices.ContainsFunc(list, func(o waiter) bool { return o.owner == w.owner }) {
				list = append(list, w)
			}
			return err
		})
	}
	err = look(q.from)
	switch {
	case err == nil && len(list) == maxWaiters:
		q.from = list[len(list)-1].owner
	case err == nil && q.from != "": // at the end, continue with the first
		q.from = ""
		err = look("")
	}
	if err != nil {
		return nil, nil, fmt.Errorf("list owners of waiting runs: %w", err)
	}
	if len(list) < 2 {
		q.lone = time.Now()
		return nil, nil, nil
	}
	owners, counts = shareOut(list, n)
	return owners, counts, nil
}

// shareOut assigns n places, each to the owner with the fewest active runs at that point, and among equals to the
// longest waiting.
func shareOut(list []waiter, n int) (owners []string, counts []int64) {
	given := make([]int64, len(list))
	for range n {
		best := -1
		for i, w := range list {
			if w.waiting == given[i] {
				continue
			}
			if best < 0 || cmp.Or(cmp.Compare(w.working+given[i], list[best].working+given[best]),
				cmp.Compare(w.since, list[best].since), cmp.Compare(w.owner, list[best].owner)) < 0 {
				best = i
			}
		}
		if best < 0 {
			break
		}
		given[best]++
	}
	for i, w := range list {
		if given[i] > 0 {
			owners, counts = append(owners, w.owner), append(counts, given[i])
		}
	}
	return slices.Clip(owners), counts
}
