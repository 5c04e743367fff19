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

// GoneNodes begins a statement with the missing nodes that still have runs. It skips from one number to the next,
// however many runs they have.
const GoneNodes = `WITH RECURSIVE had(node) AS ((SELECT node FROM run WHERE node > 0 ORDER BY node LIMIT 1)
		UNION ALL SELECT (SELECT r.node FROM run r WHERE r.node > 0 AND r.node > had.node ORDER BY r.node LIMIT 1)
			FROM had WHERE had.node IS NOT NULL),
	gone AS (SELECT had.node FROM had
		WHERE had.node IS NOT NULL AND NOT EXISTS (SELECT 1 FROM node n WHERE n.id = had.node))`

// indexesOnly makes a claim use indexes and stop early, regardless of the planner's estimates: with low ones it would
// sort all waiting rows again and again.
const indexesOnly = `SELECT set_config('plan_cache_mode', 'force_generic_plan', true),
	set_config('enable_sort', 'off', true), set_config('enable_seqscan', 'off', true),
	set_config('enable_bitmapscan', 'off', true), set_config('enable_hashjoin', 'off', true),
	set_config('enable_mergejoin', 'off', true)`

// mayBegin is the condition under which this node may begin a waiting run. OFFSET prevents evaluating the subquery for
// all threads at once.
const mayBegin = `r.status = 'pending'
		AND NOT EXISTS (SELECT 1 FROM thread t JOIN node h ON h.id = t.hold WHERE t.id = r.thread)
		AND (r.ready <= extract(epoch FROM clock_timestamp()) * 1000 - ` + boxMillis + ` OR NOT EXISTS
			(SELECT 1 FROM thread t JOIN node b ON b.id = t.box WHERE t.id = r.thread AND b.id <> $1 OFFSET 0))`

// A claim takes runs of dead nodes first, since those never return, and then unassigned ones. Rows being changed by
// another transaction are skipped: waiting for one while holding others could deadlock. A row changed since the
// statement began is checked again before it is locked. An owner's runs are selected by range, so that run_waiting_of
// alone orders them, even if the database expects a single owner.
var (
	claimWaiting = claimOf(mayBegin, `run.thread`)
	claimShares  = claimFrom(mayBegin, `run.thread`, `SELECT r.id, r.node FROM unnest($3::text[], $4::bigint[]) AS share(owner, n),
			LATERAL (SELECT r.id, r.node FROM run r WHERE r.owner BETWEEN share.owner AND share.owner
				AND r.node = 0 AND r.front = 1 AND `+mayBegin+` ORDER BY r.owner, r.created_at, r.id LIMIT share.n FOR NO KEY UPDATE OF r SKIP LOCKED) r
			LIMIT $2 - (SELECT count(*) FROM behind)`)
	claimOrphans = claimOf(`r.status = 'running'`, `run.id, claimed.node`)
)

func claimOf(which, returning string) string {
	return claimFrom(which, returning, `SELECT r.id, r.node FROM run r WHERE r.node = 0 AND r.front = 1 AND `+which+`
			ORDER BY r.created_at, r.id LIMIT $2 - (SELECT count(*) FROM behind)
			FOR NO KEY UPDATE OF r SKIP LOCKED`)
}

// claimFrom builds a claim from a query for free runs.
func claimFrom(which, returning, free string) string {
	return GoneNodes + `,
		behind AS MATERIALIZED (SELECT r.id, r.node FROM gone, LATERAL (SELECT r.id, r.node FROM run r
			WHERE r.node > 0 AND r.node = gone.node AND r.front = 1 AND ` + which + `
			LIMIT $2 FOR NO KEY UPDATE OF r SKIP LOCKED) r LIMIT $2),
		free AS MATERIALIZED (` + free + `),
		claimed AS MATERIALIZED (SELECT id, node FROM behind UNION ALL SELECT id, node FROM free)` + moveOn + `
		UPDATE run SET node = $1 FROM claimed WHERE run.id = claimed.id RETURNING ` + returning
}

// Orphan is an active run whose server is gone.
type Orphan struct {
	Run    string
	Handed bool // by a stopping server, at the end of a step
}

// PlanSpace holds requested plan changes for runs of other servers.
const PlanSpace = "plan_edit"

// ClaimWaiting assigns this server up to n waiting runs at the front of their lines, and returns their threads.
func (c *Cluster) ClaimWaiting(ctx context.Context, n int) (threads []string, err error) {
	take := func(query string, args ...any) error {
		return c.claim(ctx, query, args, func(rows pgx.Rows) error {
			var thread string
			err := rows.Scan(&thread)
			threads = append(threads, thread)
			return err
		})
	}
	owners, shares, err := c.queue.shares(ctx, c, n)
	if err == nil && len(owners) > 0 {
		err = take(claimShares, c.e.Lease.id, n, owners, shares)
	}
	if err == nil && len(threads) < n { // including those another server was changing, or of owners with few runs
		err = take(claimWaiting, c.e.Lease.id, n-len(threads))
	}
	if err != nil && len(threads) == 0 {
		return nil, fmt.Errorf("claim runs that wait: %w", err)
	}
	return threads, nil
}

// ClaimOrphans assigns this server up to n active runs without a living server.
func (c *Cluster) ClaimOrphans(ctx context.Context, n int) (list []Orphan, err error) {
	handed := 0
	err = c.claim(ctx, claimOrphans, []any{c.e.Lease.id, n}, func(rows pgx.Rows) error {
		var o Orphan
		var node int64
		err := rows.Scan(&o.Run, &node)
		if o.Handed = node == 0; o.Handed {
			handed++
		}
		list = append(list, o)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("claim abandoned runs: %w", err)
	}
	c.e.Meter.TakeOver("drain", handed)
	c.e.Meter.TakeOver("eviction", len(list)-handed)
	return list, nil
}

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
