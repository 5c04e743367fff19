package load

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"math"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"
)

// Limits of the cost of a run and of a token; docs/observability.md has their reasons. A busy machine hardly changes
// these figures, so they are close to the measured values.
const (
	limitQueries     = 4.5  // per run: four, and those of the server's jobs
	limitStatements  = 44   // per run
	limitCommits     = 4    // per run
	limitAllocs      = 4200 // per run
	limitAllocated   = 650  // KB per run
	limitTokenAllocs = 8    // per token
	limitTokenBytes  = 800  // per token
	limitTokenSQL    = 600  // statements per 1,000 tokens
)

// counters holds totals of a server since its start.
type counters struct {
	queries, statements, commits, allocs, bytes float64
	cpu                                         float64   // µs
	written                                     float64   // bytes
	asked                                       float64   // times these totals were read
	reading                                     *counters // of reading them once, if known
}

func (c counters) minus(d counters) counters { return c.plus(d, -1) }

func (c counters) plus(d counters, times float64) counters {
	return counters{c.queries + times*d.queries, c.statements + times*d.statements, c.commits + times*d.commits,
		c.allocs + times*d.allocs, c.bytes + times*d.bytes, c.cpu + times*d.cpu, c.written + times*d.written,
		c.asked + times*d.asked, c.reading}
}

// since returns what a server did after d, without what reading its totals took it.
func (c counters) since(d counters) counters {
	did := c.minus(d)
	if c.reading != nil {
		r := *c.reading
		did.allocs, did.bytes, did.cpu = did.allocs-did.asked*r.allocs, did.bytes-did.asked*r.bytes, did.cpu-did.asked*r.cpu
	}
	return did
}

func (c counters) over(n float64) counters { return counters{}.plus(c, 1/n) }

// counters reads the totals. A server without a database lacks the database's.
func (t *Target) counters(ctx context.Context) (c counters, err error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, t.Base+"/metrics", nil)
	if err != nil {
		return c, err
	}
	res, err := t.client.Do(req)
	if err != nil {
		return c, err
	}
	defer res.Body.Close()
	if res.StatusCode != http.StatusOK {
		return c, fmt.Errorf("%s /metrics: status %d", t.Name, res.StatusCode)
	}
	series := map[string]*float64{"fawn_store_queries_total": &c.queries, "fawn_store_statements_total": &c.statements,
		`fawn_store_commits_total{outcome="ok"}`: &c.commits, "go_memstats_mallocs_total": &c.allocs,
		"go_memstats_alloc_bytes_total": &c.bytes}
	lines := bufio.NewScanner(res.Body)
	for lines.Scan() {
		name, value, _ := strings.Cut(lines.Text(), " ")
		if into := series[name]; into != nil {
			if *into, err = strconv.ParseFloat(value, 64); err != nil {
				return c, fmt.Errorf("%s /metrics: %s: %w", t.Name, name, err)
			}
		}
	}
	used, err := cpuTime(t.PID)
	c.cpu, c.written = float64(used.Microseconds()), float64(storageWrites(t.PID))
	t.asked++
	c.asked = float64(t.asked)
	if err == nil {
		err = lines.Err()
	}
	return c, err
}

// settled returns the counters once background work of runs is over: titles, traces, housekeeping.
func (t *Target) settled(ctx context.Context) (counters, error) {
	const quiet, longest = 2 * time.Second, 20 * time.Second
	var last, before counters
	var readings []counters // while nothing else happens
	since, end := time.Now(), time.Now().Add(longest)
	for {
		now, err := t.counters(ctx)
		if err != nil {
			return now, err
		}
		if now.commits != last.commits || last.allocs == 0 {
			since, last, readings = time.Now(), now, nil
		} else {
			readings = append(readings, now.minus(before))
		}
		before = now
		if time.Since(since) > quiet || time.Now().After(end) {
			last.reading = typical(readings)
			return last, nil
		}
		if err := sleep(ctx, 100*time.Millisecond); err != nil {
			return now, err
		}
	}
}

// typical returns the medians of what reading totals took, nil without any.
func typical(readings []counters) *counters {
	if len(readings) == 0 {
		return nil
	}
	median := func(of func(counters) float64) float64 {
		var list []float64
		for _, r := range readings {
			list = append(list, of(r))
		}
		return quantile(list, 0.5)
	}
	var mean float64 // the kernel's unit is longer than a reading takes
	for _, r := range readings {
		mean += r.cpu / float64(len(readings))
	}
	return &counters{allocs: median(func(c counters) float64 { return c.allocs }),
		bytes: median(func(c counters) float64 { return c.bytes }), cpu: mean}
}

// counts measures the cost of a short run with a title and of a token, in numbers that don't depend on the machine.
// Runs are sequential, since concurrent ones share commits.
func (b *bench) counts(ctx context.Context) error {
	n := 100
	if b.Quick {
		n = 30
	}
	defer b.short()()
	return b.withTargets(ctx, false, func(relay, fawn, _ *Target) error {
		run, token := map[*Target]counters{}, map[*Target]counters{}
		for _, t := range []*Target{relay, fawn} {
			var err error
			if run[t], err = perRun(ctx, t, n, 1); err != nil {
				return err
			}
			if token[t], err = perToken(ctx, t, 100*b.Seconds); err != nil {
				return err
			}
		}
		none := math.NaN()
		r, f := run[relay], run[fawn]
		b.add("a short run with a title, queries", "1", f.queries, none, limitQueries)
		b.add("a short run with a title, statements of commits", "1", f.statements, none, limitStatements)
		b.add("a short run with a title, commits", "1", f.commits, none, limitCommits)
		b.add("a short run with a title, allocations", "1", f.allocs, r.allocs, limitAllocs)
		b.add("a short run with a title, allocated", "KB", f.bytes/1e3, r.bytes/1e3, limitAllocated)
		b.add("a short run with a title, written to the disk", "KB", f.written/1e3, none, none)
		b.add("a short run with a title, CPU", "µs", f.cpu, r.cpu, none)
		r, f = token[relay], token[fawn]
		b.add("a token, allocations", "1", f.allocs, r.allocs, limitTokenAllocs)
		b.add("a token, allocated", "bytes", f.bytes, r.bytes, limitTokenBytes)
		b.add("1,000 tokens of 20 streams, statements of commits", "1", 1000*f.statements, none, limitTokenSQL)
		b.add("1,000 tokens of 20 streams, commits", "1", 1000*f.commits, none, none)
		return nil
	})
}

// short prepares the measurement of short runs: with a title that a model finds, and with nothing learned of them before
// the server is stopped. By default that begins 30 s after a run, in the middle of a later measurement, whose tokens it
// would seem to double. The function returned restores the settings.
func (b *bench) short() (restore func()) {
	title, learn := b.title, b.learn
	b.title, b.learn = "script", ", debounce_seconds: 300"
	return func() { b.title, b.learn = title, learn }
}

// perRun returns the mean cost of n runs, each the first of its thread, with atOnce of them
// concurrent.
func perRun(ctx context.Context, t *Target, n, atOnce int) (counters, error) {
	if _, err := firstTokens(ctx, t, 20); err != nil { // warm up
		return counters{}, err
	}
	threads := make(chan string, n)
	for range n {
		thread, err := t.Thread(ctx)
		if err != nil {
			return counters{}, err
		}
		threads <- thread
	}
	close(threads)
	before, err := t.settled(ctx)
	if err != nil {
		return before, err
	}
	errs := make([]error, atOnce)
	var wg sync.WaitGroup
	for i := range errs {
		wg.Go(func() {
			for thread := range threads {
				s, err := t.Run(ctx, thread, "echo 3 tokens at 0 tok/s")
				if err == nil && s.Tokens != 3 {
					err = fmt.Errorf("%s: %d of 3 tokens arrived", t.Name, s.Tokens)
				}
				errs[i] = errors.Join(errs[i], err)
			}
		})
	}
	wg.Wait()
	after, err := t.settled(ctx)
	return after.since(before).over(float64(n)), errors.Join(append(errs, err)...)
}

// perToken returns the cost of a token in 20 streams: the difference between long and short answers. A server counts
// small allocations by the block, some megabyte too late, so that a thousand tokens tell far more than two hundred.
func perToken(ctx context.Context, t *Target, tokens int) (counters, error) {
	const n, rate = 20, 100
	lengths := []int{tokens / 5, tokens}
	var took [2]counters
	for i, length := range lengths {
		before, err := t.settled(ctx)
		if err != nil {
			return before, err
		}
		if _, err := streams(ctx, t, n, length, rate); err != nil {
			return before, err
		}
		after, err := t.settled(ctx)
		if err != nil {
			return after, err
		}
		took[i] = after.since(before)
	}
	return took[1].minus(took[0]).over(float64(n * (lengths[1] - lengths[0]))), nil
}
