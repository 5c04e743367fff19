package load

import (
	"bufio"
	"cmp"
	"context"
	"fmt"
	"io"
	"math"
	"net/http"
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
	single   *Target
	direct   *Target // the model alone
	postgres int     // process that has all others of PostgreSQL's as children, 0 where it is not on this machine
}

// BenchmarkCluster prints what three servers on one PostgreSQL take, next to one server on SQLite in the same run.
// FAWN_BENCH_QUICK=1 is one short round. FAWN_BENCH_RIVAL is the address of another server that speaks the same API.
func BenchmarkCluster(tb *testing.B) {
	b := newClusterBench(tb)
	ctx := tb.Context()
	for _, measure := range []func(context.Context) error{b.firstTokens, b.paced, b.shortRuns, b.takeOver} {
		if err := measure(ctx); err != nil {
			tb.Fatal(err)
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
	b := &clusterBench{bench: bench{Options: Options{Bin: bin, Dir: tb.TempDir(), Seconds: 10,
		Quick: os.Getenv("FAWN_BENCH_QUICK") == "1"}}}
	if b.Quick {
		b.Seconds = 3
	}
	b.report.Machine = fmt.Sprintf("%s/%s, %d CPUs, %s", runtime.GOOS, runtime.GOARCH, runtime.NumCPU(),
		time.Now().UTC().Format(time.DateOnly))
	model := scriptmodel.Start(tb)
	b.model, b.direct = model.URL, NewTarget("model", model.URL)
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
	p, err := start(filepath.Join(b.Dir, name+".log"), []string{"FAWN_CONFIG=" + conf, "FAWN_HOME=" + data}, b.Bin,
		"serve", "--addr", addr)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(p.Stop)
	t := NewTarget(name, "http://"+addr)
	t.PID, t.Data = p.PID(), data
	if err := p.ready(tb.Context(), t.Base); err != nil {
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
	var here, alone, model []float64
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
	}
	least := quantile(model, .5)
	b.add("first token over the model's, p50 (beside: SQLite)", "ms", quantile(here, .5)-least,
		quantile(alone, .5)-least, 6)
	return nil
}

// paced is streams at 50 tokens a second, as many at each server.
func (b *clusterBench) paced(ctx context.Context) error {
	each := 50
	if b.Quick {
		each = 10
	}
	tokens := 50 * b.Seconds
	before, wal := b.cpu(b.servers...), b.ask("SELECT pg_current_wal_lsn()::text")
	postgres := b.cpuOfPostgres()
	var wg sync.WaitGroup
	bursts, errs := make([]burst, len(b.servers)), make([]error, len(b.servers))
	for i, t := range b.servers {
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
	all := float64(len(b.servers) * each * tokens)
	name := fmt.Sprintf("%d runs at 50 tok/s: ", len(b.servers)*each)
	alone, err := streams(ctx, b.single, each, tokens, 50)
	if err != nil {
		return err
	}
	b.add(name+"CPU of servers a token (beside: SQLite)", "µs", (b.cpu(b.servers...)-before)/all, alone.cpuPerToken,
		math.NaN())
	b.add(name+"CPU of PostgreSQL a token", "µs", (b.cpuOfPostgres()-postgres)/all, math.NaN(), 12)
	bytes, err := strconv.ParseFloat(b.ask("SELECT pg_wal_lsn_diff(pg_current_wal_lsn(), '"+wal+"')::text"), 64)
	if err != nil {
		return err
	}
	b.add(name+"WAL a token", "B", bytes/all, math.NaN(), 90)
	b.add(name+"late tokens", "%", late, (1-alone.delivered)*100, 1)
	for _, m := range []struct {
		name, metric string
		q, limit     float64
	}{{"oldest token of a commit durable, p50", "fawn_token_durable_seconds", .5, 12},
		{"oldest token of a commit durable, p99", "fawn_token_durable_seconds", .99, 40},
		{"commit, p50", "fawn_group_commit_seconds", .5, 3}} {
		at, err := bucket(ctx, b.servers[0].Base+"/metrics", m.metric, m.q)
		if err != nil {
			return err
		}
		b.add(name+m.name+", at most", "ms", at*1000, math.NaN(), m.limit)
	}
	return nil
}

// shortRuns is runs of 20 tokens as fast as they go, by requests that take turns at the servers.
func (b *clusterBench) shortRuns(ctx context.Context) error {
	const workers = 24
	rate := func(list ...*Target) (runs, cost float64, err error) {
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
		for _, e := range errs {
			err = cmp.Or(err, e)
		}
		return n / took, (b.cpu(list...) - before + b.cpuOfPostgres() - postgres) / n / 1000, err
	}
	runs, cost, err := rate(b.servers...)
	if err != nil {
		return err
	}
	alone, aloneCost, err := rate(b.single)
	if err != nil {
		return err
	}
	b.add("short runs a second (beside: SQLite, one server)", "1/s", runs, alone, math.NaN())
	b.add("CPU of servers and PostgreSQL a short run (beside: SQLite)", "ms", cost, aloneCost, 4*aloneCost)
	if address := os.Getenv("FAWN_BENCH_RIVAL"); address != "" {
		rival, _, err := rate(NewTarget("rival", address))
		if err != nil {
			return err
		}
		b.add("short runs a second (beside: FAWN_BENCH_RIVAL)", "1/s", runs, rival, math.NaN())
	}
	return nil
}

// takeOver kills the server of a run that is read at another one.
func (b *clusterBench) takeOver(ctx context.Context) error {
	thread, err := b.servers[2].Thread(ctx)
	if err != nil {
		return err
	}
	res, err := b.servers[2].say(ctx, thread, "echo 4000 tokens at 50 tok/s")
	if err != nil {
		return err
	}
	defer res.Body.Close()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet,
		b.servers[0].Base+res.Header.Get("Content-Location")+"/stream", nil)
	if err != nil {
		return err
	}
	follow, err := http.DefaultClient.Do(req)
	if err != nil {
		return err
	}
	defer follow.Body.Close()
	var killed time.Time
	lines, seen := bufio.NewReader(follow.Body), 0
	for {
		line, err := lines.ReadString('\n')
		if err != nil {
			return fmt.Errorf("the run's stream at another server: %w", err)
		}
		if !strings.HasPrefix(line, "event:") {
			continue
		}
		if seen++; seen == 50 {
			b.procs[2].cmd.Process.Kill()
			killed = time.Now()
		}
		if gap := time.Since(killed); seen > 50 && gap > time.Second { // what was on its way has come
			b.add("a server is killed: time to its run's next event elsewhere", "s", gap.Seconds(), math.NaN(), 12)
			return nil
		}
	}
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

// bucket is the bound below which a share of what a histogram has seen is.
func bucket(ctx context.Context, address, name string, q float64) (float64, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return 0, err
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return 0, err
	}
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	if err != nil {
		return 0, err
	}
	var bounds, counts []float64
	for line := range strings.Lines(string(body)) {
		rest, ok := strings.CutPrefix(line, name+`_bucket{le="`)
		if !ok {
			continue
		}
		le, n, _ := strings.Cut(strings.TrimSpace(rest), `"} `)
		bound, err1 := strconv.ParseFloat(le, 64) // also +Inf
		count, err2 := strconv.ParseFloat(n, 64)
		if err := cmp.Or(err1, err2); err != nil {
			return 0, err
		}
		bounds, counts = append(bounds, bound), append(counts, count)
	}
	for i, n := range counts {
		if n >= q*counts[len(counts)-1] {
			return bounds[i], nil
		}
	}
	return 0, fmt.Errorf("%s has no %s", address, name)
}

func btoi(yes bool) int {
	if yes {
		return 1
	}
	return 0
}
