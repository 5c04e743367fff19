package load

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"net/http"
	"net/url"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// rival is two servers of aegra with Redis, on the PostgreSQL of ours.
type rival struct {
	*clusterBench
	servers []*Target
	procs   []*Process // Redis first
	redis   *Target
	log     func(format string, args ...any)
}

// newRival starts aegra as setup of ./aegra has installed it. It logs warnings only, otherwise it has its defaults.
func newRival(tb testing.TB, b *clusterBench, venv string) *rival {
	r := &rival{clusterBench: b, log: tb.Logf}
	run := func(name, path string, env []string, args ...string) *Process {
		p, err := start(filepath.Join(b.Dir, name+".log"), env, path, args...)
		if err != nil {
			tb.Fatal(err)
		}
		tb.Cleanup(p.Stop)
		r.procs = append(r.procs, p)
		return p
	}
	broker, _ := freePort(tb)
	r.redis = &Target{Name: "redis", PID: run("redis", "redis-server", nil, "--bind", "127.0.0.1", "--port", broker,
		"--save", "", "--appendonly", "no", "--dir", b.Dir).PID()}
	b.ask(`DROP DATABASE IF EXISTS aegra`) // an earlier run may have left it
	b.ask(`CREATE DATABASE aegra`)
	at, err := url.Parse(b.url)
	if err != nil {
		tb.Fatal(err)
	}
	here, err := filepath.Abs("aegra")
	if err != nil {
		tb.Fatal(err)
	}
	for i := range 2 {
		port, addr := freePort(tb)
		p := run(fmt.Sprint("aegra-", i+1), filepath.Join(venv, "bin", "uvicorn"), []string{
			"AEGRA_CONFIG=" + filepath.Join(here, "aegra.json"), "PYTHONPATH=" + here, "PYTHONDONTWRITEBYTECODE=1",
			"DATABASE_URL=postgresql://" + at.User.String() + "@" + at.Host + "/aegra", "MODEL=" + b.model,
			"REDIS_BROKER_ENABLED=true", "REDIS_URL=redis://127.0.0.1:" + broker + "/0", "LOG_LEVEL=WARNING",
			"HOST=127.0.0.1", "PORT=" + port},
			"aegra_api.main:app", "--host", "127.0.0.1", "--port", port, "--no-access-log", "--log-level", "warning")
		t := NewTarget("aegra", "http://"+addr)
		t.PID = p.PID()
		if err := p.answers(tb.Context(), t.Base+"/health"); err != nil {
			tb.Fatal(err)
		}
		r.servers = append(r.servers, t)
	}
	return r
}

// stop ends it, so that it takes nothing while other things are measured.
func (r *rival) stop() {
	for _, p := range r.procs {
		p.Stop()
	}
}

func freePort(tb testing.TB) (port, addr string) {
	addr, err := freeAddr()
	if err != nil {
		tb.Fatal(err)
	}
	at, err := url.Parse("//" + addr)
	if err != nil {
		tb.Fatal(err)
	}
	return at.Port(), addr
}

// measure compares two of our servers with the rival's two, in turns.
func (r *rival) measure(ctx context.Context) error {
	sides := [2][]*Target{r.clusterBench.servers[:2], r.servers}
	var first, rates, costs, lost [2][]float64
	var model []float64
	for range r.rounds(3) {
		list, err := firstTokens(ctx, r.direct, 20)
		if err != nil {
			return err
		}
		model = append(model, list...)
		for i, side := range sides {
			if list, err = firstTokens(ctx, side[0], 20); err != nil {
				return err
			}
			first[i] = append(first[i], list...)
			before := r.cpu(r.redis)
			runs, cost, err := r.rate(ctx, side...)
			if err != nil {
				return err
			}
			if i == 1 {
				cost += (r.cpu(r.redis) - before) / (runs * float64(r.Seconds)) / 1000
			}
			rates[i], costs[i] = append(rates[i], runs), append(costs[i], cost)
			n, err := r.elsewhere(ctx, side)
			if err != nil {
				return err
			}
			lost[i] = append(lost[i], n)
		}
	}
	least := quantile(model, .5)
	beside := quantile(first[1], .5) - least
	r.add("first token over the model's, p50 (beside: aegra)", "ms", quantile(first[0], .5)-least, beside, beside/4)
	beside = quantile(costs[1], .5)
	r.add("CPU with PostgreSQL a short run (beside: aegra)", "ms", quantile(costs[0], .5), beside, beside/5)
	beside = quantile(rates[1], .5)
	r.atLeast("short runs a second, 2 servers (beside: aegra)", "1/s", quantile(rates[0], .5), beside, 5*beside)
	r.add("tokens lost or doubled when a reader goes to another server (beside: aegra)", "",
		quantile(lost[0], 1), quantile(lost[1], 1), 0)
	return r.takeOvers(ctx, sides)
}

// takeOvers kills one of two servers of each side, and starts ours again.
func (r *rival) takeOvers(ctx context.Context, sides [2][]*Target) error {
	var gaps [2]float64
	for i, side := range sides {
		victim := r.procs[len(r.procs)-1]
		if i == 0 {
			victim = r.clusterBench.procs[1]
		}
		var err error
		if gaps[i], err = longestPause(ctx, side, victim.Kill); err != nil {
			r.log("%s: its server was killed: %v", side[0].Name, err)
			gaps[i] = math.NaN()
		}
	}
	r.add("a server is killed: longest pause in 6 streams read at the other (beside: aegra)", "s", gaps[0], gaps[1],
		gaps[1]*.4)
	ours := sides[0][1]
	p, err := r.again[ours]()
	r.clusterBench.procs[1] = p
	return err
}

// background starts a run that goes on without readers.
func (t *Target) background(ctx context.Context, thread, text string) (stream string, err error) {
	res, err := t.post(ctx, "/threads/"+thread+"/runs", map[string]any{"assistant_id": "lead_agent",
		"input":       map[string]any{"messages": []any{map[string]string{"type": "human", "content": text}}},
		"stream_mode": []string{"messages-tuple"}, "stream_resumable": true})
	if err != nil {
		return "", err
	}
	defer res.Body.Close()
	var run struct {
		ID string `json:"run_id"`
	}
	err = json.NewDecoder(res.Body).Decode(&run)
	return "/threads/" + thread + "/runs/" + run.ID + "/stream?stream_mode=messages-tuple", err
}

func (t *Target) join(ctx context.Context, path, after string) (*http.Response, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, t.Base+path, nil)
	if err != nil {
		return nil, err
	}
	if after != "" {
		req.Header.Set("Last-Event-ID", after)
	}
	res, err := t.client.Do(req)
	if err == nil && res.StatusCode != http.StatusOK {
		res.Body.Close()
		err = fmt.Errorf("%s: join a stream: status %d", t.Name, res.StatusCode)
	}
	return res, err
}

// elsewhere reads a third of a run at one server and the rest at the other, and says how many tokens that misses or
// has twice.
func (r *rival) elsewhere(ctx context.Context, side []*Target) (float64, error) {
	const all = 200
	thread, err := side[0].Thread(ctx)
	if err != nil {
		return 0, err
	}
	path, err := side[0].background(ctx, thread, fmt.Sprintf("echo %d tokens at 100 tok/s", all))
	if err != nil {
		return 0, err
	}
	seen, last := 0, ""
	for i, t := range side {
		res, err := t.join(ctx, path, last)
		if err != nil {
			return 0, err
		}
		err = frames(res.Body, func(f frame) bool {
			seen, last = seen+f.words, cmp.Or(f.id, last)
			return i > 0 || seen < all/3
		})
		res.Body.Close()
		if err != nil {
			return 0, err
		}
	}
	return math.Abs(float64(all - seen)), nil
}

// longestPause has six runs read at the first server of two while the other one is killed, and gives the longest
// time in seconds that any of them had nothing new.
func longestPause(ctx context.Context, side []*Target, kill func()) (float64, error) {
	const runs, enough = 6, 20
	ctx, cancel := context.WithTimeout(ctx, 2*time.Minute)
	defer cancel()
	var begun atomic.Int64
	var once sync.Once
	gaps := make([]time.Duration, runs)
	err := atOnce(runs, func(i int) error {
		thread, err := side[1].Thread(ctx)
		if err != nil {
			return err
		}
		path, err := side[1].background(ctx, thread, "echo 160 tokens at 20 tok/s")
		if err != nil {
			return err
		}
		res, err := side[0].join(ctx, path, "")
		if err != nil {
			return err
		}
		defer res.Body.Close()
		seen, last := 0, time.Time{}
		return frames(res.Body, func(f frame) bool {
			if f.words == 0 {
				return true
			}
			now := time.Now()
			if seen++; seen == enough && begun.Add(1) == runs {
				once.Do(kill)
			} else if seen > enough {
				gaps[i] = max(gaps[i], now.Sub(last))
			}
			last = now
			return true
		})
	})
	longest := 0.0
	for _, gap := range gaps {
		longest = max(longest, gap.Seconds())
	}
	if err == nil && begun.Load() < runs {
		err = errors.New("a run ended before all of them had begun")
	}
	return longest, err
}

// frame is an event of a stream that is there as a whole.
type frame struct {
	id    string
	words int
}

// frames calls f with each event until it says no or the stream ends.
func frames(body io.Reader, f func(frame) bool) error {
	var now frame
	failed := false
	lines := bufio.NewScanner(body)
	lines.Buffer(nil, 4<<20)
	for lines.Scan() {
		line := lines.Bytes()
		if id, ok := bytes.CutPrefix(line, []byte("id: ")); ok {
			now.id = string(id)
		} else if event, ok := bytes.CutPrefix(line, []byte("event: ")); ok {
			failed = string(event) == "error"
		} else if data, ok := bytes.CutPrefix(line, []byte("data: ")); ok {
			if failed {
				return fmt.Errorf("server said: %.300s", data)
			}
			now.words = bytes.Count(data, []byte(Word))
		} else if len(line) == 0 {
			if !f(now) {
				return nil
			}
			now = frame{}
		}
	}
	return lines.Err()
}
