package files

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"math"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

const (
	// Maximum share of the time spent on counting.
	countShare = 20
	// Unseen is the number of bytes written after which the usage is counted again.
	Unseen = 64 << 20
	// CountTime limits a count that a command waits for.
	CountTime = 2 * time.Second
	// A tree nested deeper than this is not counted and exceeds the quota.
	maxNesting = 256
)

// ErrNesting means that a tree is nested too deeply to be counted.
var ErrNesting = errors.New("folders are nested too deeply")

// Quota tracks the storage used by threads. Counting walks all files, so it caches the result and adds later writes. It
// is safe for concurrent use.
type Quota struct {
	limit  atomic.Int64
	mu     sync.Mutex
	meters map[string]*Meter // guarded by mu
}

// NewQuota returns the account for the threads of one Dirs, each of which may have limit bytes on the disk; 0 means no
// limit.
func NewQuota(limit int64) *Quota {
	q := &Quota{meters: map[string]*Meter{}}
	q.limit.Store(limit)
	return q
}

// SetLimit sets each thread's limit in bytes from now on; 0 means none.
func (q *Quota) SetLimit(limit int64) { q.limit.Store(limit) }

// Limit returns each thread's limit in bytes; 0 means none.
func (q *Quota) Limit() int64 { return q.limit.Load() }

// Full returns the number of threads without space at their last count.
func (q *Quota) Full() (n int) {
	limit := q.Limit()
	q.mu.Lock()
	all := slices.Collect(maps.Values(q.meters))
	q.mu.Unlock()
	for _, m := range all {
		m.mu.Lock()
		if limit > 0 && m.known && (m.used+m.gone >= limit || m.deep) {
			n++
		}
		m.mu.Unlock()
	}
	return n
}

// Meter returns a thread's meter.
func (q *Quota) Meter(thread string) *Meter {
	q.mu.Lock()
	defer q.mu.Unlock()
	m := q.meters[thread]
	if m == nil {
		m = &Meter{walk: make(chan struct{}, 1)}
		q.meters[thread] = m
	}
	return m
}

// Forget drops a thread's cached usage.
func (q *Quota) Forget(thread string) {
	q.mu.Lock()
	defer q.mu.Unlock()
	delete(q.meters, thread)
}

// spend refuses to write n bytes more than a thread may have, with an error
// that matches ErrQuota.
func (q *Quota) spend(ctx context.Context, d Dirs, thread string, n int64) error {
	if q == nil || q.Limit() <= 0 {
		return nil
	}
	limit := q.Limit()
	m := q.Meter(thread)
	used, err := m.Count(ctx, d, thread)
	if err != nil && !errors.Is(err, ErrNesting) {
		return err
	}
	if err != nil || used+n > limit {
		return refuse(ErrQuota, fullNote(used, limit, err))
	}
	m.mu.Lock()
	m.used += n
	m.mu.Unlock()
	return nil
}

// reserve returns the part of a quota reserved for deliberate writes.
func reserve(limit int64) int64 { return min(max(limit/20, 1<<20), limit/2) }

// room returns the space available without touching the reserve.
func (q *Quota) room(ctx context.Context, d Dirs, thread string) (int64, error) {
	limit := int64(0)
	if q != nil {
		limit = q.Limit()
	}
	if limit <= 0 {
		return math.MaxInt64, nil
	}
	used, err := q.Meter(thread).Count(ctx, d, thread)
	if errors.Is(err, ErrNesting) {
		return 0, nil
	}
	return max(0, limit-reserve(limit)-used), err
}

// Meter remembers the use of one thread.
type Meter struct {
	// One walk at a time: each opens folders that programs have closed, and closes them again.
	walk  chan struct{}
	mu    sync.Mutex
	used  int64         // guarded by mu, as all below
	gone  int64         // deleted, but still open in processes
	free  int64         // free bytes on the disk at that time
	at    time.Time     // time of the count
	took  time.Duration // duration of the count
	deep  bool          // too deep to be counted
	busy  bool          // a count is in progress
	known bool
}

// Hold records the size of deleted files that are still open.
func (m *Meter) Hold(gone int64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.gone = gone
}

// Last returns the count that was made last.
func (m *Meter) Last() (used int64, deep bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.used + m.gone, m.deep
}

// Count returns the bytes on disk: the current value, or a recent one if counting takes long.
func (m *Meter) Count(ctx context.Context, d Dirs, thread string) (int64, error) {
	free, _ := FreeSpace(d.Above())
	m.mu.Lock()
	recent := time.Since(m.at) < countShare*m.took && m.free-free < Unseen
	if m.known && (recent || m.busy) {
		defer m.mu.Unlock()
		if m.deep {
			return m.used + m.gone, ErrNesting
		}
		return m.used + m.gone, nil
	}
	m.busy = true
	m.mu.Unlock()
	defer func() {
		m.mu.Lock()
		defer m.mu.Unlock()
		m.busy = false
	}()
	return m.Recount(ctx, d, thread)
}

// Recount returns bytes on the disk as of now.
func (m *Meter) Recount(ctx context.Context, d Dirs, thread string) (int64, error) {
	select {
	case m.walk <- struct{}{}:
		defer func() { <-m.walk }()
	case <-ctx.Done():
		used, _ := m.Last()
		return used, ctx.Err()
	}
	free, _ := FreeSpace(d.Above())
	start := time.Now()
	used, err := d.Usage(ctx, thread)
	m.mu.Lock()
	defer m.mu.Unlock()
	if err != nil && !errors.Is(err, ErrNesting) {
		return m.used + m.gone, err
	}
	m.used, m.free, m.at, m.took, m.deep, m.known = used, free, start, time.Since(start), err != nil, true
	return used + m.gone, err
}

// Usage counts the disk usage in bytes of a thread's files, their former versions, its home and its temporary files. It
// doesn't follow links and stops with the context's error.
func (d Dirs) Usage(ctx context.Context, thread string) (int64, error) {
	base, err := d.Folder(thread)
	if err != nil {
		return 0, err
	}
	var sum int64
	for _, dir := range []string{filepath.Join(base, "user-data"), filepath.Join(base, versionsFolder),
		filepath.Join(base, "sandbox", "home"), filepath.Join(base, "sandbox", "tmp")} {
		n, err := diskUsage(ctx, dir)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return sum + n, OpError("count files of thread", thread, err)
		}
		sum += n
	}
	return sum, nil
}

// FullNote reports when a thread that may have limit bytes has no room left; "" otherwise.
func (m *Meter) FullNote(ctx context.Context, d Dirs, thread string, limit int64) string {
	if limit <= 0 {
		return ""
	}
	ctx, cancel := context.WithTimeout(ctx, CountTime)
	defer cancel()
	used, err := m.Count(ctx, d, thread)
	if err != nil || used > limit {
		// The command may have deleted since.
		used, err = m.Recount(ctx, d, thread)
	}
	if err != nil && !errors.Is(err, ErrNesting) || err == nil && used <= limit {
		return ""
	}
	return fullNote(used, limit, err)
}

func fullNote(used, limit int64, deep error) string {
	if deep != nil {
		return "Thread storage cannot be counted: folders are nested too deeply. Delete them before writing."
	}
	return fmt.Sprintf("Thread storage is full (%s of %s). Delete files under %s before writing.", Amount(used),
		Amount(limit), UserData)
}

// Amount writes a number of bytes for people.
func Amount(n int64) string {
	if n < 1<<30 {
		return fmt.Sprintf("%.1f MiB", float64(n)/(1<<20))
	}
	return fmt.Sprintf("%.1f GiB", float64(n)/(1<<30))
}
