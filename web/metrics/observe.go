package metrics

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/labstack/echo/v4"

	"fawn/agent"
	"fawn/agent/runs"
	"fawn/store"
)

// Run implements trace.Observer.
func (m *Metrics) Run(ctx context.Context, run store.Run) (context.Context, func(store.Run)) {
	kind, began := "run", time.Now()
	if run.Parent != "" {
		kind = "helper"
	}
	m.started.WithLabelValues(kind).Inc()
	return ctx, func(run store.Run) {
		if !runs.Done(run.Status) { // another server continues it
			return
		}
		m.ended.WithLabelValues(kind, run.Status).Inc()
		m.runTime.WithLabelValues(kind).Observe(time.Since(began).Seconds())
	}
}

// Model implements agent.Observer.
func (m *Metrics) Model(ctx context.Context, _ *agent.Turn, c *agent.ModelCall) {
	model, how := m.models.bounded(c.Model), outcome(c.Err)
	if c.Err != nil && (ctx.Err() != nil || errors.Is(c.Err, context.Canceled)) {
		how = "cancelled"
	}
	m.calls.WithLabelValues(model, how).Inc()
	m.callTime.WithLabelValues(model).Observe(c.Took.Seconds())
	if c.First > 0 {
		m.firstToken.WithLabelValues(model).Observe(c.First.Seconds())
	}
	if c.Message != nil && c.Message.Usage != nil {
		m.Spend(*c.Message.Usage)
	}
}

// Tool implements agent.Observer.
func (m *Metrics) Tool(ctx context.Context, _ *agent.Turn, c agent.ToolCall,
	known bool) (context.Context, func(agent.Result, error)) {
	name, began := unnamed, time.Now()
	if known { // models invent names
		name = m.toolNames.bounded(c.Name)
	}
	return ctx, func(r agent.Result, err error) {
		how := outcome(err)
		switch {
		case ctx.Err() != nil:
			how = "cancelled"
		case r.IsError:
			how = "error"
		}
		m.tools.WithLabelValues(name, how).Inc()
		m.toolTime.WithLabelValues(name).Observe(time.Since(began).Seconds())
	}
}

// HTTP counts requests by the pattern of their route.
func (m *Metrics) HTTP(next echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) (err error) {
		began, done := time.Now(), false
		defer func() {
			status := c.Response().Status
			if !done { // a panic, which cuts the answer off
				status = 500
			}
			m.answered(c, status, time.Since(began))
		}()
		if err = next(c); err != nil {
			c.Error(err) // answers, so that the status is known
		}
		done = true
		return nil
	}
}

func (m *Metrics) answered(c echo.Context, status int, took time.Duration) {
	route := c.Path()
	if route == "" {
		route = "none"
	}
	m.requests.WithLabelValues(route, method(c.Request().Method), class(status)).Inc()
	if !strings.HasPrefix(c.Response().Header().Get("Content-Type"), "text/event-stream") {
		m.requestTime.WithLabelValues(route).Observe(took.Seconds())
	}
}

// method returns a known HTTP method: clients may send any word.
func method(m string) string {
	switch m {
	case "GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS":
		return m
	}
	return others
}

// class returns a status such as 2xx.
func class(status int) string {
	if status < 100 || status > 599 {
		return others
	}
	return string(rune('0'+status/100)) + "xx"
}
