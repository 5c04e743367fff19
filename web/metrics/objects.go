package metrics

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// Objects counts requests to the object store with the threads' files. It is an objects.Meter.
type Objects struct {
	requests, bytes *prometheus.CounterVec
	took            *prometheus.HistogramVec
}

// Objects returns the counters for a server with an object store.
func (m *Metrics) Objects() *Objects {
	o := &Objects{
		requests: prometheus.NewCounterVec(prometheus.CounterOpts{Name: "fawn_object_requests_total",
			Help: "Requests to the object store for files, each attempt."}, []string{"request", "outcome"}),
		bytes: prometheus.NewCounterVec(prometheus.CounterOpts{Name: "fawn_object_bytes_total",
			Help: "Bytes of files that were put into the object store or read from it."}, []string{"request"}),
		took: prometheus.NewHistogramVec(prometheus.HistogramOpts{Name: "fawn_object_request_seconds",
			Help: "Time until the object store answered.", Buckets: quick()}, []string{"request"}),
	}
	m.registry.MustRegister(o.requests, o.bytes, o.took)
	for _, what := range []string{"put", "get"} {
		o.requests.WithLabelValues(what, "ok")
		o.requests.WithLabelValues(what, "error")
		o.bytes.WithLabelValues(what)
	}
	return o
}

// Request implements objects.Meter.
func (o *Objects) Request(what string, took time.Duration, err error) {
	outcome := "ok"
	if err != nil {
		outcome = "error"
	}
	o.requests.WithLabelValues(what, outcome).Inc()
	o.took.WithLabelValues(what).Observe(took.Seconds())
}

// Bytes implements objects.Meter.
func (o *Objects) Bytes(what string, n int64) { o.bytes.WithLabelValues(what).Add(float64(n)) }
