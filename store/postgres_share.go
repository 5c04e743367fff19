package store

import (
	"cmp"
	"context"
	"database/sql"
	"fmt"
	"slices"
	"sync"
	"time"
)

// queueFor is how long it counts that the runs of a single owner wait, so that those claims ask nothing else.
const queueFor = 200 * time.Millisecond

// queue knows whether several owners wait.
type queue struct {
	mu   sync.Mutex
	lone time.Time // when at most one did
}

// waiter is an owner whose runs wait for a server with room.
type waiter struct {
	owner   string
	waiting int64
	working int64 // runs that servers have
	since   int64 // when the oldest that waits was made
}

// shares are how many of the next n runs are whose, none where at most one owner's wait.
func (q *queue) shares(ctx context.Context, db *DB, n int) (owners []string, counts []int64, err error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if time.Since(q.lone) < queueFor {
		return nil, nil, nil
	}
	var list []waiter
	err = db.each(ctx, `SELECT owner, count(*) FILTER (WHERE node = 0 AND status = 'pending'),
			count(*) FILTER (WHERE node > 0), coalesce(min(created_at) FILTER (WHERE node = 0 AND status = 'pending'), 0)
		FROM run WHERE front = 1 GROUP BY owner`, nil, func(rows *sql.Rows) (bool, error) {
		var w waiter
		err := rows.Scan(&w.owner, &w.waiting, &w.working, &w.since)
		if w.waiting > 0 {
			list = append(list, w)
		}
		return true, err
	})
	if err != nil {
		return nil, nil, fmt.Errorf("whose runs wait: %w", err)
	}
	if len(list) < 2 {
		q.lone = time.Now()
		return nil, nil, nil
	}
	owners, counts = shareOut(list, n)
	return owners, counts, nil
}

// shareOut hands out n places, each to the owner of whom the fewest runs are at work by then; of those to who has waited
// for the longest time.
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
