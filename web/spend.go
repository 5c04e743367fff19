package web

import (
	"context"
	"time"

	"fawn/agent/lead"
	"fawn/store"
)

// bookTime limits storing a spending row.
const bookTime = 10 * time.Second

// book stores the cost of a side call.
func (a *App) book(ctx context.Context, c lead.SideCall) {
	ctx, cancel := context.WithTimeout(ctx, bookTime)
	defer cancel()
	err := a.data.db.Commit(ctx, store.Batch{Spending: []store.Spending{a.entry(ctx, c)}})
	if err != nil {
		a.opts.Log.Warn("couldn't store the cost of a model call", "purpose", c.Purpose, "thread", c.Thread,
			"tokens", c.Usage.Total, "err", err)
	}
}

// entry records a side call in the metrics, and returns its row of the accounts.
func (a *App) entry(ctx context.Context, c lead.SideCall) store.Spending {
	u := c.Usage
	if a.insight.tracer != nil {
		a.insight.tracer.Side(ctx, c.Purpose, c.Took, u)
	}
	if a.insight.inspect != nil {
		a.insight.inspect.Side(c.Thread, c.Run, c.Purpose, c.Took, u)
	}
	if a.insight.metrics != nil {
		a.insight.metrics.Spend(u)
	}
	return store.Spending{Owner: c.Owner, Thread: c.Thread, Run: c.Run, Purpose: c.Purpose, Model: u.Model,
		Input: u.Input, Output: u.Output, Total: u.Total, Cost: u.Cost, Currency: u.Currency}
}
