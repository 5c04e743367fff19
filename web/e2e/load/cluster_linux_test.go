package load

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"fawn/store/pgtest"
	"fawn/web/e2e/scriptmodel"
)

// clusterBench is three servers on one PostgreSQL, and beside them one on SQLite.
type clusterBench struct {
	bench
	url      string
	conn     *pgx.Conn
	servers  []*Target
	procs    []*Process
	again    map[*Target]func() (*Process, error) // starts a server that has ended
	single   *Target
	direct   *Target // the model alone
	postgres int     // process that has all others of PostgreSQL's as children, 0 where it is not on this machine
}

// BenchmarkCluster prints what three servers on one PostgreSQL take, next to one on SQLite in the same run. Limits
// are for a quiet machine with four processors; late tokens say when one was asked for more than it can do.
// FAWN_BENCH_QUICK=1 is one short round. FAWN_BENCH_MODEL is the address of a scripted model that is there already.
// FAWN_BENCH_AEGRA is a Python environment with aegra, which is measured, too.
func BenchmarkCluster(tb *testing.B) {
	b := newClusterBench(tb)
	ctx := tb.Context()
	beside := func(ctx context.Context) error {
		venv := os.Getenv("FAWN_BENCH_AEGRA")
		if venv == "" {
			return nil
		}
		r := newRival(tb, b, venv)
		defer r.stop()
		return r.measure(ctx)
	}
	for _, measure := range []func(context.Context) error{b.idle, b.firstTokens, b.paced, b.shortRuns,
		beside, b.claims, b.lives, b.restart, b.drain, b.takeOver} {
		if err := measure(ctx); err != nil {
			tb.Fatal(errors.Join(err, table(os.Stdout, "3 servers | beside", b.report.Rows)))
		}
	}
	tb.ReportMetric(0, "ns/op") // the table says more
	fmt.Printf("%s, PostgreSQL %s, fsync %s\n", b.report.Machine, b.ask("SHOW server_version"), b.ask("SHOW fsync"))
	if err := table(os.Stdout, "3 servers | beside", b.report.Rows); err != nil {
		tb.Fatal(err)
	}
}

func newClusterBench(tb *testing.B) *clusterBench {
	bin, err := filepath.Abs(cmp.Or(os.Getenv("FAWN_BENCH_BIN"), "../../../bin/fawn"))
	if err != nil {
		tb.Fatal(err)
	}
	b := &clusterBench{again: map[*Target]func() (*Process, error){}, bench: bench{Options: Options{Bin: bin,
		Dir: tb.TempDir(), Seconds: 10, Quick: os.Getenv("FAWN_BENCH_QUICK") == "1"}}}
	if b.Quick {
		b.Seconds = 3
	}
	b.report.Machine = fmt.Sprintf("%s/%s, %d CPUs, %s", runtime.GOOS, runtime.GOARCH, runtime.NumCPU(),
		time.Now().UTC().Format(time.DateOnly))
	if b.model = os.Getenv("FAWN_BENCH_MODEL"); b.model == "" {
		b.model = scriptmodel.Start(tb).URL
	}
	b.direct = NewTarget("model", b.model)
	b.direct.Direct = true
	b.url = os.Getenv("FAWN_TEST_PG")
	if b.url == "" {
		b.url = pgtest.StartDurable(tb).URL
	}
	if b.conn, err = pgx.Connect(tb.Context(), b.url); err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { b.conn.Close(context.Background()) })
	if pid, err := strconv.Atoi(b.ask("SELECT pg_backend_pid()::text")); err == nil {
		b.postgres = parent(pid)
	}
	shared := tb.TempDir()
	for i := range 4 {
		more := fmt.Sprintf("database: {url: %q}\ncluster: {enabled: true, lease: 10}\nfiles: {dir: %q}\n", b.url,
			shared)
		if i == 3 {
			more = ""
		}
		t, p := b.start(tb, fmt.Sprint("server-", i+1), more)
		if i == 3 {
			b.single = t
		} else {
			b.servers, b.procs = append(b.servers, t), append(b.procs, p)
		}
	}
	return b
}

func (b *clusterBench) start(tb *testing.B, name, more string) (*Target, *Process) {
	addr, err := freeAddr()
	if err != nil {
		tb.Fatal(err)
	}
	data := tb.TempDir()
	conf := filepath.Join(data, "config.yaml")
	text := "title: {enabled: false}\nmemory: {enabled: false}\nsandbox: {provider: off}\n" +
		"models: [{name: script, use: openai, model: script, base_url: \"" + b.model + "/v1\", api_key: test}]\n" + more
	if err := os.WriteFile(conf, []byte(text), 0o600); err != nil {
		tb.Fatal(err)
	}
	t := NewTarget(name, "http://"+addr)
	t.Data = data
	b.again[t] = func() (*Process, error) {
		p, err := start(filepath.Join(b.Dir, name+".log"), []string{"FAWN_CONFIG=" + conf, "FAWN_HOME=" + data}, b.Bin,
			"serve", "--addr", addr)
		if err != nil {
			return nil, err
		}
		tb.Cleanup(p.Stop)
		t.PID = p.PID()
		return p, p.ready(tb.Context(), t.Base)
	}
	p, err := b.again[t]()
	if err != nil {
		tb.Fatal(err)
	}
	return t, p
}

func (b *clusterBench) ask(query string) (answer string) {
	if err := b.conn.QueryRow(context.Background(), query).Scan(&answer); err != nil {
		return err.Error()
	}
	return answer
}

func (b *clusterBench) firstTokens(ctx context.Context) error {
	n := 40 / (1 + 3*btoi(b.Quick))
	var here, there, alone, model []float64
	for range b.rounds(3) {
		for _, m := range []struct {
			t    *Target
			into *[]float64
		}{{b.direct, &model}, {b.servers[0], &here}, {b.single, &alone}} {
			list, err := firstTokens(ctx, m.t, n)
			if err != nil {
				return err
			}
			*m.into = append(*m.into, list...)
		}
		list, err := b.firstElsewhere(ctx, n)
		if err != nil {
			return err
		}
		there = append(there, list...)
	}
	least := quantile(model, .5)
	b.add("first token over the model's, p50 (beside: SQLite)", "ms", quantile(here, .5)-least,
		quantile(alone, .5)-least, 6)
	b.add("the same, read at another server", "ms", quantile(there, .5)-least, math.NaN(), 12)
	return nil
}

// paced is streams at 50 tokens a second, of one server and of all three.
func (b *clusterBench) paced(ctx context.Context) error {
	type load struct {
		servers, each int
		cost          float64 // of PostgreSQL, at most
		beside        bool    // SQLite is measured, too
	}
	loads := []load{{1, 50, 30, true}, {1, 200, 12, true}, {3, 100, 12, false}}
	if runtime.NumCPU() >= 8 {
		loads = append(loads, load{1, 1000, 4, false})
	}
	if b.Quick {
		loads = []load{{3, 10, 30, true}}
	}
	for _, l := range loads {
		if err := b.pacedAt(ctx, b.servers[:l.servers], l.each, l.cost, l.beside); err != nil {
			return err
		}
	}
	return nil
}

func (b *clusterBench) pacedAt(ctx context.Context, servers []*Target, each int, limit float64, beside bool) error {
	tokens := 50 * b.Seconds
	before, wal := b.cpu(servers...), b.ask("SELECT pg_current_wal_lsn()::text")
	postgres, page := b.cpuOfPostgres(), servers[0].Base+"/metrics"
	seen := map[string]histogram{}
	for _, name := range []string{durable, commits} {
		h, err := scrape(ctx, page, name)
		if err != nil {
			return err
		}
		seen[name] = h
	}
	var wg sync.WaitGroup
	bursts, errs := make([]burst, len(servers)), make([]error, len(servers))
	for i, t := range servers {
		wg.Go(func() { bursts[i], errs[i] = streams(ctx, t, each, tokens, 50) })
	}
	wg.Wait()
	late := 0.0
	for i := range bursts {
		if errs[i] != nil {
			return errs[i]
		}
		late += (1 - bursts[i].delivered) / float64(len(bursts)) * 100
	}
	all := float64(len(servers) * each * tokens)
	spent, cost := (b.cpu(servers...)-before)/all, (b.cpuOfPostgres()-postgres)/all
	bytes, err := strconv.ParseFloat(b.ask("SELECT pg_wal_lsn_diff(pg_current_wal_lsn(), '"+wal+"')::text"), 64)
	if err != nil {
		return err
	}
	name := fmt.Sprintf("%d runs of %d servers, 50 tok/s: ", each*len(servers), len(servers))
	alone, twice := burst{cpuPerToken: math.NaN(), delivered: math.NaN()}, math.NaN()
	if beside {
		if alone, err = streams(ctx, b.single, each, tokens, 50); err != nil {
			return err
		}
		twice = 2 * alone.cpuPerToken
	}
	b.add(name+"CPU of servers a token (beside: SQLite)", "µs", spent, alone.cpuPerToken, twice)
	b.add(name+"CPU of PostgreSQL a token", "µs", cost, math.NaN(), limit)
	b.add(name+"WAL a token", "B", bytes/all, math.NaN(), 90)
	b.add(name+"late tokens", "%", late, (1-alone.delivered)*100, 1)
	for _, m := range []struct {
		name, metric string
		q, limit     float64
	}{{"oldest token of a commit durable, p50", durable, .5, 12},
		{"oldest token of a commit durable, p99", durable, .99, 40}, {"commit, p50", commits, .5, 3}} {
		h, err := scrape(ctx, page, m.metric)
		if err != nil {
			return err
		}
		b.add(name+m.name+", at most", "ms", h.since(seen[m.metric]).quantile(m.q)*1000, math.NaN(), m.limit)
	}
	return nil
}

// rate is how many runs of 20 tokens a second targets end, by requests that take turns at them, and what CPU each takes
// with PostgreSQL's, in ms.
func (b *clusterBench) rate(ctx context.Context, list ...*Target) (runs, cost float64, err error) {
	const workers = 24
	before, postgres := b.cpu(list...), b.cpuOfPostgres()
	var done atomic.Int64
	var wg sync.WaitGroup
	errs := make([]error, workers)
	began := time.Now()
	for i := range workers {
		wg.Go(func() {
			for n := i; time.Since(began) < time.Duration(b.Seconds)*time.Second && errs[i] == nil; n++ {
				t := list[n%len(list)]
				var thread string
				if thread, errs[i] = t.Thread(ctx); errs[i] == nil {
					_, errs[i] = t.Run(ctx, thread, "echo 20 tokens at 0 tok/s")
					done.Add(1)
				}
			}
		})
	}
	wg.Wait()
	n, took := float64(done.Load()), time.Since(began).Seconds()
	return n / took, (b.cpu(list...) - before + b.cpuOfPostgres() - postgres) / n / 1000, errors.Join(errs...)
}

// shortRuns is runs of 20 tokens as fast as they go.
func (b *clusterBench) shortRuns(ctx context.Context) error {
	runs, cost, err := b.rate(ctx, b.servers...)
	if err != nil {
		return err
	}
	alone, aloneCost, err := b.rate(ctx, b.single)
	if err != nil {
		return err
	}
	b.atLeast("short runs a second (beside: SQLite, one server)", "1/s", runs, alone, 250)
	b.add("CPU of servers and PostgreSQL a short run (beside: SQLite)", "ms", cost, aloneCost, 4*aloneCost)
	return nil
}

// cpu is what servers have used, in µs.
func (b *clusterBench) cpu(list ...*Target) (sum float64) {
	for _, t := range list {
		if used, err := cpuTime(t.PID); err == nil {
			sum += float64(used.Microseconds())
		}
	}
	return sum
}

// cpuOfPostgres is what PostgreSQL's processes that live have used, in µs.
func (b *clusterBench) cpuOfPostgres() (sum float64) {
	if b.postgres == 0 {
		return math.NaN()
	}
	all, err := filepath.Glob("/proc/[0-9]*")
	if err != nil {
		return math.NaN()
	}
	for _, dir := range all {
		pid, err := strconv.Atoi(filepath.Base(dir))
		if err == nil && (pid == b.postgres || parent(pid) == b.postgres) {
			if used, err := cpuTime(pid); err == nil {
				sum += float64(used.Microseconds())
			}
		}
	}
	return sum
}

// parent is the process that started another, 0 for none that is seen here.
func parent(pid int) int {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0
	}
	fields := strings.Fields(string(stat[strings.LastIndexByte(string(stat), ')')+1:]))
	n, _ := strconv.Atoi(fields[1])
	return n
}

func btoi(yes bool) int {
	if yes {
		return 1
	}
	return 0
}
