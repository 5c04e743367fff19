package metrics

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"fawn/agent/channels"
)

// Channels counts the activity of chat apps' bots. It is a channels.Observer.
type Channels struct {
	updates, refusals, calls, retries, answers, reconnects *prometheus.CounterVec
	lag                                                    *prometheus.HistogramVec
	reasons                                                names
}

// Channels returns the counters of chat apps. loads is called for each scrape.
func (m *Metrics) Channels(loads func() map[string]channels.Load) *Channels {
	counter := func(name, help string, labels ...string) *prometheus.CounterVec {
		v := prometheus.NewCounterVec(prometheus.CounterOpts{Name: name, Help: help}, labels)
		m.registry.MustRegister(v)
		return v
	}
	c := &Channels{
		updates: counter("fawn_channel_updates_total", "Messages that chat apps delivered.", "channel", "result"),
		refusals: counter("fawn_channel_refusals_total", "Messages from chat apps that were not let in.", "channel",
			"reason"),
		calls:      counter("fawn_channel_calls_total", "Calls that write to chats.", "channel", "call", "outcome"),
		retries:    counter("fawn_channel_retries_total", "Deliveries that had to be tried again.", "channel"),
		answers:    counter("fawn_channel_answers_total", "Answers to chats that ended.", "channel", "outcome"),
		reconnects: counter("fawn_channel_disconnects_total", "Connections to chat apps that were lost.", "channel"),
		lag: prometheus.NewHistogramVec(prometheus.HistogramOpts{Name: "fawn_channel_delivery_seconds",
			Help: "Time from the end of a run until its answer is whole in the chat.", Buckets: thought()},
			[]string{"channel"}),
	}
	m.registry.MustRegister(c.lag)
	gauge := func(name, help string, value func(channels.Load) float64) {
		m.Gauges(name, help, "channel", func() map[string]float64 {
			all := map[string]float64{}
			for channel, l := range loads() {
				all[channel] = value(l)
			}
			return all
		})
	}
	gauge("fawn_channel_connected", "Whether the bot of a chat app is connected (1) or not (0).",
		func(l channels.Load) float64 {
			if l.Connected {
				return 1
			}
			return 0
		})
	gauge("fawn_channel_waiting", "Messages from chat apps that no run has taken yet.",
		func(l channels.Load) float64 { return float64(l.Waiting) })
	gauge("fawn_channel_open_answers", "Answers that are being delivered to chats.",
		func(l channels.Load) float64 { return float64(l.Open) })
	return c
}

// Update implements channels.Observer.
func (c *Channels) Update(channel, result string) { c.updates.WithLabelValues(channel, result).Inc() }

// Refusal implements channels.Observer.
func (c *Channels) Refusal(channel, reason string) {
	c.refusals.WithLabelValues(channel, c.reasons.bounded(reason)).Inc()
}

// Call implements channels.Observer.
func (c *Channels) Call(channel, call, outcome string) {
	c.calls.WithLabelValues(channel, call, outcome).Inc()
}

// Retry implements channels.Observer.
func (c *Channels) Retry(channel string) { c.retries.WithLabelValues(channel).Inc() }

// Answer implements channels.Observer.
func (c *Channels) Answer(channel, outcome string, lag time.Duration) {
	c.answers.WithLabelValues(channel, outcome).Inc()
	if outcome == "delivered" && lag > 0 {
		c.lag.WithLabelValues(channel).Observe(lag.Seconds())
	}
}

// Reconnect implements channels.Observer.
func (c *Channels) Reconnect(channel string) { c.reconnects.WithLabelValues(channel).Inc() }
