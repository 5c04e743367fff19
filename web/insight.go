package web

import (
	"context"
	"crypto/subtle"
	"log/slog"
	"math"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/labstack/echo/v4"

	"fawn/agent/config"
	"fawn/agent/mcp"
	"fawn/agent/runs/trace"
	"fawn/agent/tracestore"
	"fawn/store"
	"fawn/web/api/wire"
	"fawn/web/audit"
	"fawn/web/metrics"
	"fawn/web/openapi"
	"fawn/web/principal"
	"fawn/web/redact"
	"fawn/web/storage"
	"fawn/web/traceexport"
)

// insight groups the parts that count, trace and write down what the program does.
type insight struct {
	secrets redact.Redactor     // of the configuration, for what is written down
	metrics *metrics.Metrics    // nil counts nothing
	tracer  *traceexport.Tracer // nil discards them
	trail   *audit.Trail
	inspect *tracestore.Service // nil keeps nothing
}

// open makes the counters, and starts to send traces to the collectors that the configuration or the environment
// names. The database and all above report to both.
func (i *insight) open(o Options, snap *config.Snapshot) {
	if snap.File.Metrics.Enabled {
		i.metrics = metrics.New(o.Version, o.Log)
	}
	c := snap.File.Tracing
	if targets := TraceTargets(snap); len(targets) > 0 {
		i.tracer = traceexport.New(traceexport.Config{Targets: targets, Service: c.ServiceName, Version: o.Version,
			Ratio: c.SampleRatio, Content: c.Content, Redact: i.secrets.Text,
			Agents: map[string]string{wire.LeadAssistant(): wire.GraphID}, Log: o.Log})
	}
}

// openRecords opens the audit, and the stored traces of calls unless the configuration turns them off. Both are rows
// of the database.
func (i *insight) openRecords(conf *config.Store, d *data, log *slog.Logger) {
	i.trail = audit.New(d.db, log)
	if conf.Current().File.Inspector.Enabled {
		i.inspect = tracestore.New(d.db, func() tracestore.Rules {
			c := conf.Current().File.Inspector
			return tracestore.Rules{Prompts: c.Prompts, Keep: c.Keep}
		}, log)
	}
}

// closeRecords writes pending rows of the audit and of stored traces.
func (i *insight) closeRecords() {
	if i.trail != nil {
		i.trail.Close()
	}
	if i.inspect != nil {
		i.inspect.Close()
	}
}

// closeTracing sends pending traces within a time limit: a collector must not delay the exit.
func (i *insight) closeTracing(limit time.Duration, log *slog.Logger) {
	if i.tracer == nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	if err := i.tracer.Close(ctx); err != nil {
		log.Warn("couldn't send traces", "err", err)
	}
}

// traceTime limits sending the last spans when the server stops.
const traceTime = 3 * time.Second

// orphanTime limits Prometheus's wait for a count.
const orphanTime = 2 * time.Second

// TraceTargets returns all collectors that receive traces.
func TraceTargets(snap *config.Snapshot) []traceexport.Target {
	targets := traceexport.Hosted(snap.Env)
	if c := snap.File.Tracing; c.Endpoint != "" {
		targets = append(targets, traceexport.OTLP(c.Endpoint, c.Headers.Plain()))
	}
	return targets
}

// meter counts the work of servers on a shared database; nil without metrics.
func (i *insight) meter(cfg store.Config) store.Meter {
	if i.metrics == nil || cfg.URL == "" {
		return nil
	}
	return i.metrics.Cluster()
}

// objectMeter counts calls of the object store; nil without one or without metrics.
func (i *insight) objectMeter(snap *config.Snapshot) storage.Meter {
	if i.metrics == nil || snap.File.Files.URL == "" {
		return nil
	}
	return i.metrics.Objects()
}

// committed returns the store's callback for commits, or nil.
func (i *insight) committed(o Options) func(time.Duration, error) {
	if wait := o.committed; wait != nil {
		return func(time.Duration, error) { wait() }
	}
	if i.metrics == nil {
		return nil
	}
	return i.metrics.Commit
}

// observer counts and traces runs; nil if neither is on.
func (i *insight) observer() trace.Observer {
	var all trace.Observers
	if i.tracer != nil { // first: what it puts into the context is for all
		all = append(all, i.tracer)
	}
	if i.metrics != nil {
		all = append(all, i.metrics)
	}
	if i.inspect != nil {
		all = append(all, i.inspect)
	}
	if len(all) == 0 {
		return nil
	}
	return all
}

// gauge adds the values that are read on request.
func (i *insight) gauge(d *data, f *front, t *tools, e *engine) {
	m := i.metrics
	if m == nil {
		return
	}
	m.Gauges("fawn_runs", "Runs that work, and runs that wait.", "state", func() map[string]float64 {
		c := e.runs.Counts()
		return map[string]float64{"active": float64(c.Active), "queued": float64(c.Waiting)}
	})
	m.Gauges("fawn_event_streams", "Open event streams.", "kind", func() map[string]float64 {
		return map[string]float64{"api": float64(f.readers.Open()), "page": float64(f.pages.Streams())}
	})
	m.Gauges("fawn_mcp_servers", "MCP servers by state.", "state", func() map[string]float64 {
		count := map[string]float64{mcp.StateReady: 0}
		for _, s := range t.mcp.Status() {
			count[s.State]++
		}
		return count
	})
	m.Counter("fawn_store_queries_total", "Statements that read from the database.",
		func() float64 { return float64(d.db.Work().Queries) })
	m.Counter("fawn_store_statements_total", "Statements that were part of commits of the database.",
		func() float64 { return float64(d.db.Work().Statements) })
	m.Gauge("fawn_store_queue", "Batches and deltas that wait for a commit.",
		func() float64 { return float64(d.db.Queued()) })
	m.Gauge("fawn_store_waiting_seconds", "How long a commit has been waiting for the disk or the database, above 2 s.",
		func() float64 { now, _ := d.db.Slow(); return now.Seconds() })
	m.Gauge("fawn_store_slow_commits", "Commits that have taken more than 2 s since the start.",
		func() float64 { _, times := d.db.Slow(); return float64(times) })
	if _, ok := d.db.Node(); ok {
		gaugeNode(m, d, f, e)
	}
	m.Gauge("fawn_memory_queue", "Threads whose conversation is still to be learned from.",
		func() float64 { return float64(e.memory.Queued()) })
	m.Gauge("fawn_audit_dropped", "Audit rows that were lost since the start.",
		func() float64 { return float64(i.trail.Lost()) })
}

// gaugeNode adds the values that only a shared database has.
func gaugeNode(m *metrics.Metrics, d *data, f *front, e *engine) {
	node := func() store.NodeStatus {
		s, _ := d.db.Node()
		return s
	}
	m.Gauge("fawn_node_lease_seconds", "How long this server's lease is good without being renewed.",
		func() float64 { return node().Lease.Seconds() })
	m.Counter("fawn_fenced_total", "Commits that were refused because another server has taken over.",
		func() float64 { return float64(node().Fenced) })
	m.Counter("fawn_pool_wait_seconds", "Time that queries have waited for a connection to the database.",
		func() float64 { return d.db.PoolWait().Seconds() })
	m.Gauge("fawn_claims_paused", "Whether this server takes no runs as commits take too long (1) or does (0).",
		func() float64 {
			if d.db.Strained() {
				return 1
			}
			return 0
		})
	m.Gauge("fawn_orphans", "Runs under way that no living server has.", func() float64 {
		ctx, stop := context.WithTimeout(context.Background(), orphanTime)
		defer stop()
		n, err := d.db.Orphans(ctx)
		if err != nil {
			return math.NaN() // not known
		}
		return float64(n)
	})
	m.Gauges("fawn_tail_lag_seconds",
		"How long ago the tail of another server whose runs are read here was read to its end.", "node",
		func() map[string]float64 {
			lags := map[string]float64{}
			for server, lag := range d.db.TailLags() {
				lags[strconv.FormatInt(server, 10)] = lag.Seconds()
			}
			return lags
		})
	m.Gauges("fawn_readers", "Readers of runs, by where those work.", "run", func() map[string]float64 {
		all, remote := f.readers.Open()+f.pages.Streams(), e.runs.Counts().Remote
		return map[string]float64{"local": float64(max(0, all-int64(remote))), "remote": float64(remote)}
	})
}

// serveMetrics answers operators and holders of the token.
func (a *App) serveMetrics(c echo.Context) error {
	token := a.config.Current().File.Metrics.Token.Value()
	sent, isBearer := strings.CutPrefix(c.Request().Header.Get("Authorization"), "Bearer ")
	if token == "" || !isBearer || subtle.ConstantTimeCompare([]byte(sent), []byte(token)) != 1 {
		if err := principal.Allowed(c, principal.Operator); err != nil {
			return err
		}
	}
	a.insight.metrics.ServeHTTP(c.Response(), c.Request())
	return nil
}

// describeMetrics returns the routes for monitoring.
func describeMetrics() []openapi.Op {
	return []openapi.Op{describeBundle(), {ID: "getMetrics", Public: true, Fail: []int{404}, Method: http.MethodGet, Path: "/metrics", Tag: "Server",
		Text: "Counters and gauges for Prometheus, for whoever runs the installation or sends metrics.token",
		Out: []openapi.Answer{{Status: 200, Text: "The values", Type: "text/plain", Schema: openapi.String()},
			{Status: 401, Text: "Not signed in"}, {Status: 403, Text: "Not for this account"}}}}
}
