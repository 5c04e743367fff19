package metrics

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// Cluster measures servers' use of a shared database. It is a store.Meter.
type Cluster struct {
	commit, items, durable, claim, said prometheus.Histogram
	missed                              prometheus.Counter
	takeovers                           *prometheus.CounterVec
}

// Cluster returns the counters for a server with a shared database.
func (m *Metrics) Cluster() *Cluster {
	histogram := func(name, help string, buckets []float64) prometheus.Histogram {
		h := prometheus.NewHistogram(prometheus.HistogramOpts{Name: name, Help: help, Buckets: buckets})
		m.registry.MustRegister(h)
		return h
	}
	c := &Cluster{
		commit: histogram("fawn_group_commit_seconds", "Time that commits of groups of changes took.", quick()),
		items: histogram("fawn_group_items", "Tokens and batches in a group of changes.",
			[]float64{1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 4096}),
		durable: histogram("fawn_token_durable_seconds",
			"Time until the oldest token of a group of changes was durable.", quick()),
		claim: histogram("fawn_claim_seconds", "Time that looks for runs to take took.", quick()),
		said:  histogram("fawn_wake_seconds", "Time until other servers were told of something to do.", quick()),
		missed: prometheus.NewCounter(prometheus.CounterOpts{Name: "fawn_wakes_missed_total",
			Help: "Runs that were found by looking, without having been told of them."}),
		takeovers: prometheus.NewCounterVec(prometheus.CounterOpts{Name: "fawn_takeovers_total",
			Help: "Runs of other servers that this one goes on with."}, []string{"cause"}),
	}
	m.registry.MustRegister(c.missed, c.takeovers)
	for _, cause := range []string{"eviction", "drain"} {
		c.takeovers.WithLabelValues(cause)
	}
	return c
}

// Group implements store.Meter.
func (c *Cluster) Group(items int, took, waited time.Duration) {
	c.commit.Observe(took.Seconds())
	c.items.Observe(float64(items))
	if waited > 0 {
		c.durable.Observe(waited.Seconds())
	}
}

// Claim implements store.Meter.
func (c *Cluster) Claim(took time.Duration) { c.claim.Observe(took.Seconds()) }

// Said implements store.Meter.
func (c *Cluster) Said(waited time.Duration) { c.said.Observe(waited.Seconds()) }

// TakeOver implements store.Meter.
func (c *Cluster) TakeOver(cause string, runs int) {
	c.takeovers.WithLabelValues(cause).Add(float64(runs))
}

// Missed implements store.Meter.
func (c *Cluster) Missed() { c.missed.Inc() }
