package load

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"time"
)

// Options select the measurements and their duration.
type Options struct {
	Bin     string         // path of Fawn's binary
	Base    string         // binary of an earlier version to compare with; "" = none
	Helper  []string       // command that serves "model" and "relay -upstream URL" with -addr, see cmd
	Dir     string         // scratch folder; logs stay in it
	Quick   bool           // one short round to check that everything runs
	Seconds int            // length of the paced streams; 0 = 10, or 3 when quick
	Only    *regexp.Regexp // scenarios by name; nil = all
	Pprof   string         // loopback address at which Fawn's profiles are served meanwhile; "" = nowhere
	Log     io.Writer      // receives progress
}

// Limits are the red lines of the report.
const (
	limitFirstToken = 10   // ms more than asking the model directly
	limitCPU        = 13   // µs per token at 200 unpaced streams
	limitStore      = 2    // µs per token at 200 paced streams
	limitGap        = 30   // ms, p99 at 50 tok/s
	limitOrder      = 1.15 // exponent of disk size over turns
	limitIdle       = 32   // MB resident
	limitPeak       = 110  // MB resident at 200 paced streams of up to 10 s
	limitPeakMany   = 240  // MB resident at 1,000 of them
	limitHeld       = 40   // bytes per further token: open answers are held in memory, also for readers
	limitCrowded    = 150  // ms to the first answer with 10,000 threads
	limitColdStart  = 120  // ms; 60 on a quiet machine
	limitLate       = 1    // % of paced tokens
	limitUnshared   = 5    // % of a request
)

type bench struct {
	Options
	report Report
	model  string
	title  string // model for titles; "" uses the first words
	learn  string // settings of memory besides its model; "" = defaults
}

// Run measures everything requested and returns the report.
func Run(ctx context.Context, o Options) (*Report, error) {
	if o.Seconds == 0 {
		o.Seconds = 10
		if o.Quick {
			o.Seconds = 3
		}
	}
	b := &bench{Options: o}
	b.report.Machine = fmt.Sprintf("%s/%s, %d CPUs, %s", runtime.GOOS, runtime.GOARCH, runtime.NumCPU(),
		time.Now().UTC().Format(time.DateOnly))
	addr, err := freeAddr()
	if err != nil {
		return nil, err
	}
	b.model = "http://" + addr
	p, err := start(filepath.Join(o.Dir, "model.log"), nil, o.Helper[0],
		append(o.Helper[1:], "model", "-addr", addr)...)
	if err != nil {
		return nil, err
	}
	defer p.Stop()
	if err := p.ready(ctx, b.model); err != nil {
		return nil, err
	}
	for _, s := range []struct {
		name string
		run  func(context.Context) error
	}{
		{"start", b.coldStart},
		{"first", b.firstToken},
		{"counts", b.counts},
		{"against", b.against},
		{"unpaced", b.unpaced},
		{"paced", b.paced},
		{"many", b.many},
		{"day", b.day},
		{"thread", b.longThread},
		{"prefix", b.prefix},
		{"crowd", b.crowd},
		{"lists", b.lists},
		{"recovery", b.recovery},
		{"helpers", b.helpers},
		{"chaos", b.chaos},
		{"documents", b.documents},
		{"sandbox", b.sandboxes},
	} {
		if o.Only != nil && !o.Only.MatchString(s.name) {
			continue
		}
		fmt.Fprintf(o.Log, "%s %s\n", time.Now().Format(time.TimeOnly), s.name)
		if err := s.run(ctx); err != nil {
			return &b.report, fmt.Errorf("%s: %w", s.name, err)
		}
	}
	return &b.report, nil
}

func (b *bench) rounds(full int) int {
	if b.Quick {
		return 1
	}
	return full
}

func (b *bench) add(name, unit string, fawn, relay, limit float64) {
	b.report.Rows = append(b.report.Rows, Row{name, unit, fawn, relay, limit, false})
}

// server starts a Fawn with its own data folder.
func (b *bench) server(ctx context.Context, name, data string, env ...string) (*Target, *Process, error) {
	return b.serverOf(ctx, b.Bin, name, data, env...)
}

// serverOf is server for a binary.
func (b *bench) serverOf(ctx context.Context, bin, name, data string, env ...string) (*Target, *Process, error) {
	addr, err := freeAddr()
	if err != nil {
		return nil, nil, err
	}
	if err := os.MkdirAll(data, 0o700); err != nil {
		return nil, nil, err
	}
	config := filepath.Join(b.Dir, "config.yaml")
	text := "title: {model_name: " + cmp.Or(b.title, "offline") + "}\nmemory: {model_name: offline" + b.learn + "}\nmodels:\n  - {name: script, use: \"langchain_openai:ChatOpenAI\", model: script, base_url: " +
		b.model + "/v1, api_key: test}\n"
	if err := os.WriteFile(config, []byte(text), 0o600); err != nil {
		return nil, nil, err
	}
	env = append(env, "FAWN_CONFIG="+config, "FAWN_HOME="+data)
	args := []string{"serve", "--addr", addr}
	if b.Pprof != "" && bin == b.Bin {
		args = append(args, "--pprof", b.Pprof)
	}
	p, err := start(filepath.Join(b.Dir, name+".log"), env, bin, args...)
	if err != nil {
		return nil, nil, err
	}
	t := NewTarget(name, "http://"+addr)
	t.PID, t.Data = p.PID(), data
	if err := p.ready(ctx, t.Base); err != nil {
		p.Stop()
		return nil, nil, err
	}
	return t, p, nil
}

// withTargets runs f against a fresh relay, Fawn and, if requested, a Fawn that doesn't write events.
func (b *bench) withTargets(ctx context.Context, noStore bool, f func(relay, fawn, bare *Target) error) error {
	addr, err := freeAddr()
	if err != nil {
		return err
	}
	p, err := start(filepath.Join(b.Dir, "relay.log"), nil, b.Helper[0],
		append(b.Helper[1:], "relay", "-addr", addr, "-upstream", b.model)...)
	if err != nil {
		return err
	}
	defer p.Stop()
	relay := NewTarget("relay", "http://"+addr)
	relay.PID = p.PID()
	if err := p.ready(ctx, relay.Base); err != nil {
		return err
	}
	data, err := os.MkdirTemp(b.Dir, "data-")
	if err != nil {
		return err
	}
	fawn, p2, err := b.server(ctx, "fawn", data)
	if err != nil {
		return err
	}
	defer p2.Stop()
	var bare *Target
	if noStore {
		data, err := os.MkdirTemp(b.Dir, "data-")
		if err != nil {
			return err
		}
		var p3 *Process
		if bare, p3, err = b.server(ctx, "nostore", data, "FAWN_BENCH_NOSTORE=1"); err != nil {
			return err
		}
		defer p3.Stop()
	}
	return f(relay, fawn, bare)
}

func (b *bench) coldStart(ctx context.Context) error {
	var fresh, again []float64
	var idle Memory
	n := b.rounds(7)
	for range n {
		data, err := os.MkdirTemp(b.Dir, "cold-")
		if err != nil {
			return err
		}
		for i, list := range []*[]float64{&fresh, &again} {
			begin := time.Now()
			t, p, err := b.server(ctx, "cold", data)
			if err != nil {
				return err
			}
			*list = append(*list, float64(time.Since(begin))/1e6)
			if i == 1 && len(again) == n {
				idle, err = rested(ctx, t.PID)
			}
			p.Stop()
			if err != nil {
				return err
			}
		}
	}
	none := math.NaN()
	b.add("cold start, empty data folder", "ms", quantile(fresh, 0.5), none, limitColdStart)
	b.add("cold start, used data folder", "ms", quantile(again, 0.5), none, limitColdStart)
	b.add("idle memory, RSS", "MB", float64(idle.RSS)/1e6, none, limitIdle)
	b.add("idle memory, PSS", "MB", float64(idle.PSS)/1e6, none, none)
	b.add("pages of the binary in it", "MB", float64(idle.Binary)/1e6, none, none)
	return nil
}

func (b *bench) firstToken(ctx context.Context) error {
	return b.withTargets(ctx, false, func(relay, fawn, _ *Target) error {
		direct := NewTarget("model", b.model)
		direct.Direct = true
		times := map[*Target][]float64{}
		for range b.rounds(5) {
			for _, t := range []*Target{direct, relay, fawn} {
				if _, err := firstTokens(ctx, t, 3); err != nil {
					return err
				}
				list, err := firstTokens(ctx, t, 30)
				if err != nil {
					return err
				}
				times[t] = append(times[t], list...)
			}
		}
		for _, q := range []struct {
			name  string
			at    float64
			limit float64
		}{{"p50", 0.5, limitFirstToken}, {"p95", 0.95, math.NaN()}} {
			base := quantile(times[direct], q.at)
			b.add("first token over direct, "+q.name, "ms", quantile(times[fawn], q.at)-base,
				quantile(times[relay], q.at)-base, q.limit)
		}
		return nil
	})
}

func (b *bench) unpaced(ctx context.Context) error {
	return b.withTargets(ctx, false, func(relay, fawn, _ *Target) error {
		median := map[*Target]map[int]float64{relay: {}, fawn: {}}
		const long = 3000
		for _, c := range []struct {
			n, tokens int
			limit     float64
		}{{1, 8000, math.NaN()}, {50, 600, math.NaN()}, {200, long, math.NaN()}, {200, 300, limitCPU}} {
			rounds := b.rounds(5)
			if c.tokens*c.n > 100_000 {
				rounds = b.rounds(2)
			}
			cost := map[*Target][]float64{}
			for range rounds {
				for _, t := range []*Target{relay, fawn} {
					got, err := streams(ctx, t, c.n, c.tokens, 0)
					if err != nil {
						return err
					}
					cost[t] = append(cost[t], got.cpuPerToken)
				}
			}
			name := fmt.Sprintf("CPU, %d unpaced streams", c.n)
			if c.tokens == long {
				name += fmt.Sprintf(" of %d tokens", long)
			}
			median[relay][c.tokens], median[fawn][c.tokens] = quantile(cost[relay], 0.5), quantile(cost[fawn], 0.5)
			b.add(name, "µs/token", median[fawn][c.tokens], median[relay][c.tokens], c.limit)
		}
		// The cost of a run is what makes tokens of short answers dearer.
		perRun := func(t *Target) float64 { return (median[t][300] - median[t][long]) * 300 * long / (long - 300) / 1e3 }
		b.add("CPU of a run among 200, without its tokens", "ms", perRun(fawn), perRun(relay), math.NaN())
		return nil
	})
}

func sleep(ctx context.Context, d time.Duration) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(d):
		return nil
	}
}
