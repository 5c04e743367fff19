package load

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"os"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"fawn/store"
)

func (b *clusterBench) atLeast(name, unit string, fawn, relay, limit float64) {
	b.report.Rows = append(b.report.Rows, Row{name, unit, fawn, relay, limit, true})
}

// idle is what servers without work ask of PostgreSQL. One of the three looks after what only one has to.
func (b *clusterBench) idle(ctx context.Context) error {
	count := func() float64 {
		n, err := strconv.ParseFloat(b.ask(`SELECT (xact_commit + xact_rollback)::text FROM pg_stat_database
			WHERE datname = current_database()`), 64)
		if err != nil {
			return math.NaN()
		}
		return n
	}
	took := time.Duration(b.Seconds) * time.Second
	if err := sleep(ctx, 15*time.Second); err != nil { // until all connections have told what they did at the start
		return err
	}
	before := count()
	if err := sleep(ctx, took); err != nil {
		return err
	}
	asked := (count() - before) / took.Seconds() / 3
	// Two, two, and five of the one with the duties.
	b.add("transactions a second of an idle server, mean of three", "1/s", asked, math.NaN(), 3)
	return nil
}

// firstElsewhere is n times to the first token of a run that is started at one server and read at another, in ms.
func (b *clusterBench) firstElsewhere(ctx context.Context, n int) (list []float64, err error) {
	here, there := b.servers[0], b.servers[1]
	for range n {
		thread, err := here.Thread(ctx)
		if err != nil {
			return nil, err
		}
		began := time.Now()
		path, err := here.background(ctx, thread, "echo 3 tokens at 0 tok/s")
		if err != nil {
			return nil, err
		}
		res, err := there.join(ctx, path, "")
		if err != nil {
			return nil, err
		}
		s, err := read(res.Body, began, false)
		res.Body.Close()
		if err != nil || s.Tokens == 0 {
			return nil, fmt.Errorf("%d tokens at another server: %w", s.Tokens, err)
		}
		list = append(list, float64(s.First)/1e6)
	}
	return list, nil
}

// stores opens the database as three servers do, in a schema of its own.
func (b *clusterBench) stores(ctx context.Context) (list []*store.DB, end func(), err error) {
	end = func() {
		for _, db := range list {
			db.Close()
		}
	}
	// An earlier run may have left it.
	if _, err := b.conn.Exec(ctx, `DROP SCHEMA IF EXISTS fawn_bench CASCADE`); err != nil {
		return nil, end, err
	}
	for range 3 {
		dir, err := os.MkdirTemp(b.Dir, "store-")
		if err != nil {
			return nil, end, err
		}
		db, err := store.Open(ctx, store.Config{Dir: dir, URL: b.url, Schema: "fawn_bench", Cluster: true,
			Log: slog.New(slog.DiscardHandler)})
		if err != nil {
			return nil, end, err
		}
		list = append(list, db)
	}
	return list, end, nil
}

// atOnce runs f for 0 to n-1, each by itself.
func atOnce(n int, f func(i int) error) error {
	errs := make([]error, n)
	var wg sync.WaitGroup
	for i := range n {
		wg.Go(func() { errs[i] = f(i) })
	}
	wg.Wait()
	return errors.Join(errs...)
}

func emptyRun(thread string, n int, status string) store.Batch {
	now := time.Now()
	return store.Batch{ThreadID: thread, Run: &store.Run{ID: fmt.Sprint(thread, "-", n), ThreadID: thread,
		Status: status, CreatedAt: now, UpdatedAt: now}}
}

// claims is how many runs a second three servers take that wait for one.
func (b *clusterBench) claims(ctx context.Context) error {
	list, end, err := b.stores(ctx)
	defer end()
	if err != nil {
		return err
	}
	for _, c := range []struct {
		runs, each int
		least      float64
	}{{1000, 1, 500}, {4000, 10, 3000}} {
		const makers = 50
		err := atOnce(makers, func(i int) error {
			list[0].Crowded(true) // so that its runs are for others
			for n := range c.runs / makers {
				r := emptyRun(fmt.Sprintf("claim-%d-%d-%d", c.each, i, n), 0, "pending")
				r.Thread, r.NewThread, r.NewRun, r.Line = &store.Thread{ID: r.ThreadID}, true, true, &store.Line{}
				if err := list[0].Commit(ctx, r); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			return err
		}
		var taken atomic.Int64
		began, before := time.Now(), b.cpuOfPostgres()
		err = atOnce(len(list), func(i int) error {
			for int(taken.Load()) < c.runs && time.Since(began) < time.Minute {
				got, err := list[i].ClaimWaiting(ctx, c.each)
				if err != nil {
					return err
				}
				taken.Add(int64(len(got)))
			}
			return nil
		})
		if err != nil {
			return err
		}
		n := float64(taken.Load())
		b.atLeast(fmt.Sprintf("claims of %d, 3 servers", c.each), "runs/s", n/time.Since(began).Seconds(), math.NaN(),
			c.least)
		b.add(fmt.Sprintf("claims of %d: CPU of PostgreSQL a run", c.each), "µs", (b.cpuOfPostgres()-before)/n,
			math.NaN(), math.NaN())
	}
	return nil
}

// lives is runs that only start and end, one after the other in each thread.
func (b *clusterBench) lives(ctx context.Context) error {
	list, end, err := b.stores(ctx)
	defer end()
	if err != nil {
		return err
	}
	for _, c := range []struct {
		threads int
		least   float64
	}{{200, 1500}, {5, 400}} {
		var lived atomic.Int64
		began, took := time.Now(), time.Duration(b.Seconds)*time.Second
		err := atOnce(c.threads, func(i int) error {
			thread := fmt.Sprintf("life-%d-%d", c.threads, i)
			if err := list[0].Commit(ctx, store.Batch{Thread: &store.Thread{ID: thread}, NewThread: true}); err != nil {
				return err
			}
			for n := 0; time.Since(began) < took; n++ {
				db := list[(i+n)%len(list)]
				start, stop := emptyRun(thread, n, "pending"), emptyRun(thread, n, "success")
				start.NewRun, start.Line = true, &store.Line{Strategy: "reject"}
				stop.Line = &store.Line{Rest: "idle", Promote: true}
				if err := errors.Join(db.Commit(ctx, start), db.Commit(ctx, stop)); err != nil {
					return err
				}
				lived.Add(1)
			}
			return nil
		})
		if err != nil {
			return err
		}
		b.atLeast(fmt.Sprintf("whole lives of empty runs, 3 servers, %d threads", c.threads), "runs/s",
			float64(lived.Load())/time.Since(began).Seconds(), math.NaN(), c.least)
	}
	return nil
}
