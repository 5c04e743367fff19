package metrics

import (
	"log/slog"
	"net/http"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"fawn/agent"
)

// Metrics holds all counters of one server, in a separate registry. It is safe for concurrent use and
// implements trace.Observer.
type Metrics struct {
	registry *prometheus.Registry
	handler  http.Handler

	requests                       *prometheus.CounterVec
	requestTime                    *prometheus.HistogramVec
	started                        *prometheus.CounterVec
	ended                          *prometheus.CounterVec
	runTime                        *prometheus.HistogramVec
	calls                          *prometheus.CounterVec
	callTime, firstToken           *prometheus.HistogramVec
	tokens, cost                   *prometheus.CounterVec
	tools                          *prometheus.CounterVec
	toolTime                       *prometheus.HistogramVec
	boxes                          *prometheus.CounterVec
	boxTime, commitTime            prometheus.Histogram
	commits                        *prometheus.CounterVec
	models, toolNames, moneyLabels names
}

// Buckets in seconds, for immediate responses, model calls, and whole runs.
func quick() []float64   { return []float64{.001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 10} }
func thought() []float64 { return []float64{.05, .1, .25, .5, 1, 2.5, 5, 10, 20, 40, 80, 160} }
func work() []float64    { return []float64{.1, .5, 1, 2.5, 5, 10, 30, 60, 120, 300, 900, 3600} }

// New returns the counters. Values that can't be read during a scrape are logged.
func New(version string, log *slog.Logger) *Metrics {
	m := &Metrics{registry: prometheus.NewRegistry()}
	counter := func(name, help string, labels ...string) *prometheus.CounterVec {
		v := prometheus.NewCounterVec(prometheus.CounterOpts{Name: name, Help: help}, labels)
		m.registry.MustRegister(v)
		return v
	}
	histogram := func(name, help string, buckets []float64, labels ...string) *prometheus.HistogramVec {
		v := prometheus.NewHistogramVec(prometheus.HistogramOpts{Name: name, Help: help, Buckets: buckets}, labels)
		m.registry.MustRegister(v)
		return v
	}
	single := func(name, help string) prometheus.Histogram {
		h := prometheus.NewHistogram(prometheus.HistogramOpts{Name: name, Help: help, Buckets: quick()})
		m.registry.MustRegister(h)
		return h
	}
	m.requests = counter("fawn_http_requests_total", "HTTP requests answered.", "route", "method", "status")
	m.requestTime = histogram("fawn_http_request_seconds", "Time to answer HTTP requests, without event streams.",
		quick(), "route")
	m.started = counter("fawn_runs_started_total", "Runs that started to work.", "kind")
	m.ended = counter("fawn_runs_ended_total", "Runs that ended.", "kind", "status")
	m.runTime = histogram("fawn_run_seconds", "Time that runs worked.", work(), "kind")
	m.calls = counter("fawn_model_calls_total", "Calls of models in runs, each attempt.", "model", "outcome")
	m.callTime = histogram("fawn_model_call_seconds", "Time that calls of models took.", thought(), "model")
	m.firstToken = histogram("fawn_model_first_token_seconds", "Time until a model's answer could be seen.", thought(),
		"model")
	m.tokens = counter("fawn_model_tokens_total",
		"Tokens of model calls. Those read from the provider's cache (cached) are part of input.", "model", "kind")
	m.cost = counter("fawn_model_cost_total", "Cost of model calls with a known price, in the currency.", "model",
		"currency")
	m.tools = counter("fawn_tool_calls_total", "Calls of tools.", "tool", "outcome")
	m.toolTime = histogram("fawn_tool_call_seconds", "Time that calls of tools took.", thought(), "tool")
	m.boxes = counter("fawn_sandbox_starts_total", "Starts of sandboxes.", "outcome")
	m.boxTime = single("fawn_sandbox_start_seconds", "Time that starts of sandboxes took.")
	m.commits = counter("fawn_store_commits_total", "Commits of the database.", "outcome")
	m.commitTime = single("fawn_store_commit_seconds", "Time that commits of the database took.")
	m.registry.MustRegister(collectors.NewGoCollector(),
		collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	info := prometheus.NewGauge(prometheus.GaugeOpts{Name: "fawn_build_info", Help: "The version that runs.",
		ConstLabels: prometheus.Labels{"version": version}})
	info.Set(1)
	m.registry.MustRegister(info)
	m.handler = promhttp.HandlerFor(m.registry, promhttp.HandlerOpts{ErrorHandling: promhttp.ContinueOnError,
		MaxRequestsInFlight: 4, ErrorLog: slog.NewLogLogger(log.Handler(), slog.LevelWarn), Timeout: 10 * time.Second})
	return m
}

// ServeHTTP answers with all values in the form Prometheus asks for.
func (m *Metrics) ServeHTTP(w http.ResponseWriter, r *http.Request) { m.handler.ServeHTTP(w, r) }

// Gauge adds a value that is read whenever Prometheus asks. It must be quick.
func (m *Metrics) Gauge(name, help string, read func() float64) {
	m.registry.MustRegister(prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: name, Help: help}, read))
}

// Counter adds a number that only grows, read as Gauge's is.
func (m *Metrics) Counter(name, help string, read func() float64) {
	m.registry.MustRegister(prometheus.NewCounterFunc(prometheus.CounterOpts{Name: name, Help: help}, read))
}

// Gauges adds values that differ in one label, all read together. The label must have few values.
func (m *Metrics) Gauges(name, help, label string, read func() map[string]float64) {
	m.registry.MustRegister(&gauges{prometheus.NewDesc(name, help, []string{label}, nil), read})
}

type gauges struct {
	desc *prometheus.Desc
	read func() map[string]float64
}

// Describe implements prometheus.Collector.
func (g *gauges) Describe(out chan<- *prometheus.Desc) { out <- g.desc }

// Collect implements prometheus.Collector.
func (g *gauges) Collect(out chan<- prometheus.Metric) {
	for label, v := range g.read() {
		out <- prometheus.MustNewConstMetric(g.desc, prometheus.GaugeValue, v, label)
	}
}

// Commit counts a commit of the store.
func (m *Metrics) Commit(took time.Duration, err error) {
	m.commits.WithLabelValues(outcome(err)).Inc()
	m.commitTime.Observe(took.Seconds())
}

// Sandbox counts the start of a sandbox.
func (m *Metrics) Sandbox(took time.Duration, err error) {
	m.boxes.WithLabelValues(outcome(err)).Inc()
	if err == nil {
		m.boxTime.Observe(took.Seconds())
	}
}

// Spend counts the usage of a model call, including side calls.
func (m *Metrics) Spend(u agent.Usage) {
	model := m.models.bounded(u.Model)
	cached := min(max(u.InputDetails["cache_read"], 0), u.Input)
	for kind, n := range map[string]int{"input": u.Input, "output": u.Output, "cached": cached} {
		if n > 0 {
			m.tokens.WithLabelValues(model, kind).Add(float64(n))
		}
	}
	if u.Cost > 0 {
		m.cost.WithLabelValues(model, m.moneyLabels.bounded(u.Currency)).Add(u.Cost)
	}
}

func outcome(err error) string {
	if err != nil {
		return "error"
	}
	return "ok"
}

// Limits of a label: the number of its values, and their length.
const (
	maxNames = 200
	maxName  = 64
)

// Labels for missing names, and for names beyond the limit.
const (
	unnamed = "unknown"
	others  = "other"
)

// names are the values of a label. The zero value is ready.
type names struct {
	mu   sync.RWMutex
	seen map[string]bool
}

// bounded returns a name as the label may have it.
func (n *names) bounded(name string) string {
	if name == "" {
		return unnamed
	}
	if len(name) > maxName || !utf8.ValidString(name) {
		return others
	}
	n.mu.RLock()
	known := n.seen[name]
	n.mu.RUnlock()
	if known {
		return name
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	if len(n.seen) >= maxNames && !n.seen[name] {
		return others
	}
	if n.seen == nil {
		n.seen = map[string]bool{}
	}
	n.seen[name] = true
	return name
}
