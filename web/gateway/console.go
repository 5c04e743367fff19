package gateway

import (
	"net/http"
	"time"

	"github.com/labstack/echo/v4"

	"fawn/store"
	"fawn/web/api"
	"fawn/web/httpx"
	o "fawn/web/openapi"
	"fawn/web/route"
)

const (
	consolePage = 50
	maxConsole  = 200
	usageDays   = 30
	maxDays     = 366
)

// consoleSums are the totals of an owner.
type consoleSums struct {
	ActiveRuns int                `json:"active_runs"`
	Costs      map[string]float64 `json:"costs"`
	Currency   *string            `json:"currency"`
	FailedRuns int                `json:"failed_runs"`
	Agents     int                `json:"total_agents"`
	Cost       *float64           `json:"total_cost"` // null when it is in several currencies
	Runs       int                `json:"total_runs"`
	Threads    int                `json:"total_threads"`
	Tokens     int64              `json:"total_tokens"`
}

func (g *Gateway) consoleStats(c echo.Context) error {
	t, err := g.DB.Totals(c.Request().Context(), g.Owner(c))
	if err != nil {
		return err
	}
	spent, err := g.DB.SpentByModel(c.Request().Context(), g.Owner(c), time.Unix(0, 0))
	if err != nil {
		return err
	}
	var all money
	for _, s := range spent {
		all.add(s)
	}
	cost, currency := all.sum()
	return httpx.JSON(c, http.StatusOK, consoleSums{ActiveRuns: t.ActiveRuns, Costs: all.amounts(), Currency: currency, FailedRuns: t.Failed,
		Agents: t.Assistants + 1, Cost: cost, Runs: t.Runs, Threads: t.Threads, Tokens: t.Tokens}) // the built-in one counts
}

type consoleRun struct {
	ID        string  `json:"run_id"`
	Thread    string  `json:"thread_id"`
	Title     *string `json:"thread_title"`
	Assistant string  `json:"assistant_id"`
	Status    string  `json:"status"`
	Tokens    int     `json:"total_tokens"`
	Error     *string `json:"error"`
	CreatedAt string  `json:"created_at"`
	UpdatedAt string  `json:"updated_at"`
}

type consoleRunPage struct {
	More bool         `json:"has_more"`
	Runs []consoleRun `json:"runs"`
}

func (g *Gateway) consoleRuns(c echo.Context) error {
	part, status, err := route.RunsPage(c.QueryParams(), consolePage, maxConsole)
	if err != nil {
		return err
	}
	list, err := g.DB.RecentRuns(c.Request().Context(), g.Owner(c), status, part.Limit+1, part.Offset)
	if err != nil {
		return err
	}
	more := len(list) > part.Limit
	out := []consoleRun{}
	for _, r := range list[:min(part.Limit, len(list))] {
		one, err := api.RunOf(r.Run)
		if err != nil {
			return err
		}
		out = append(out, consoleRun{ID: r.ID, Thread: r.ThreadID, Title: route.TextOrNull(r.Title),
			Assistant: one.Assistant, Status: r.Status, Tokens: one.Total,
			Error: one.Error, CreatedAt: one.CreatedAt, UpdatedAt: one.UpdatedAt})
	}
	return httpx.JSON(c, http.StatusOK, consoleRunPage{more, out})
}

type usageDay struct {
	Date   string   `json:"date"`
	Total  int64    `json:"total_tokens"`
	Input  int64    `json:"input_tokens"`
	Output int64    `json:"output_tokens"`
	Runs   int      `json:"runs"`
	Cost   *float64 `json:"cost"` // null when it is in several currencies

	cost money
}

type usageSums struct {
	Days     []usageDay             `json:"days"`
	ByModel  map[string]*modelSpent `json:"by_model"`
	Total    int64                  `json:"total_tokens"`
	Runs     int                    `json:"total_runs"`
	Cost     *float64               `json:"total_cost"`
	Currency *string                `json:"currency"`
	Costs    map[string]float64     `json:"costs"`
	ByUser   []*userSpent           `json:"by_user,omitempty"` // for operators of the installation
	Budgets  *budgets               `json:"budgets"`           // null if budgets are off
}

// consoleUsage responds with tokens and cost for each of the last days in the caller's time zone. Days
// without runs are included.
func (g *Gateway) consoleUsage(c echo.Context) error {
	q := c.QueryParams()
	days, err := httpx.Int(q, "days", usageDays, 1, maxDays)
	if err != nil {
		return err
	}
	minutes, err := httpx.Int(q, "tz_offset_minutes", 0, -14*60, 14*60)
	if err != nil {
		return err
	}
	ctx, ahead := c.Request().Context(), time.Duration(minutes)*time.Minute
	owner, own, err := g.whose(c)
	if err != nil {
		return err
	}
	today := g.Tasks.Now().UTC().Add(ahead).Truncate(24 * time.Hour)
	first := today.AddDate(0, 0, 1-days)
	runsOn, err := g.DB.RunsByDay(ctx, owner, first.Add(-ahead), ahead)
	if err != nil {
		return err
	}
	byDay, err := g.DB.SpentByDay(ctx, owner, first.Add(-ahead), ahead)
	if err != nil {
		return err
	}
	byModel, err := g.DB.SpentByModel(ctx, owner, first.Add(-ahead))
	if err != nil {
		return err
	}
	list, at := make([]usageDay, days), map[string]int{}
	out := usageSums{Days: list, ByModel: map[string]*modelSpent{}}
	for i := range list {
		list[i].Date = first.AddDate(0, 0, i).Format(time.DateOnly)
		list[i].Runs, at[list[i].Date] = runsOn[list[i].Date], i
		out.Runs += list[i].Runs
	}
	var all money
	for _, s := range byDay {
		i, ok := at[s.Date]
		if !ok { // the day began while this was answered
			continue
		}
		d := &list[i]
		d.Total, d.Input, d.Output = d.Total+s.Total, d.Input+s.Input, d.Output+s.Output
		d.cost.add(s)
		all.add(s)
		out.Total += s.Total
	}
	for i := range list {
		list[i].Cost, _ = list[i].cost.sum()
	}
	for _, s := range byModel {
		one := out.ByModel[s.Model]
		if one == nil {
			one = &modelSpent{}
			out.ByModel[s.Model] = one
		}
		one.add(s)
	}
	out.Cost, out.Currency = all.sum()
	out.Costs = all.amounts()
	if !own { // names of chats stay with whom they belong to
		return httpx.JSON(c, http.StatusOK, out)
	}
	if out.ByUser, err = g.spentByUser(ctx, first.Add(-ahead)); err != nil {
		return err
	}
	if out.Budgets, err = g.budgets(ctx); err != nil {
		return err
	}
	return httpx.JSON(c, http.StatusOK, out)
}

func describeConsole() []o.Op {
	const tag = "Console"
	return []o.Op{
		{ID: "getConsoleStats", Tag: tag, Text: "Get overall statistics",
			Out: route.Answered("The statistics",
				o.Of[consoleSums](o.Is("total_runs", o.Int(0)), o.Is("active_runs", o.Int(0)), o.Is("failed_runs", o.Int(0)),
					o.Is("total_threads", o.Int(0)), o.Is("total_agents", o.Int(1)), o.Is("total_tokens", o.Int(0))))},
		{ID: "listConsoleRuns", Tag: tag, Text: "List the runs of all threads, newest first",
			Query: []o.Param{{Name: "limit", Schema: o.Range(1, maxConsole)}, {Name: "offset", Schema: o.Int(0)},
				{Name: "status", Schema: o.Enum("pending", "running", "success", "error", "timeout", "interrupted")}},
			Out: route.Answered("A page of runs", o.Of[consoleRunPage]())},
		{ID: "getConsoleUsage", Tag: tag,
			Text: "Get tokens and cost by day, model and user, and what is left of budgets",
			More: "by_user is there for whoever runs an installation with accounts. budgets is null when they are off; limits of 0 are none.",
			Query: []o.Param{{Name: "days", Schema: o.Range(1, maxDays)},
				{Name: "user_id", Schema: o.String(), Text: "For administrators: what this user took, without budgets"},
				{Name: "tz_offset_minutes", Schema: o.Range(-14*60, 14*60),
					Text: "Time zone of the client, in minutes ahead of UTC"}},
			Out: route.Answered("The totals",
				o.Of[usageSums]())},
	}
}

// money is an amount in one or more currencies. Nothing is converted: two currencies have no sum.
type money struct{ byCurrency map[string]float64 }

func (m *money) add(s store.Spent) {
	if s.Currency == "" { // no price was known
		return
	}
	if m.byCurrency == nil {
		m.byCurrency = map[string]float64{}
	}
	m.byCurrency[s.Currency] += s.Cost
}

// amounts returns all amounts, an empty map for none.
func (m *money) amounts() map[string]float64 {
	if m.byCurrency == nil {
		return map[string]float64{}
	}
	return m.byCurrency
}

// sum returns the amount and its currency; nil if no price was known, or with several currencies.
func (m *money) sum() (cost *float64, currency *string) {
	if len(m.byCurrency) != 1 {
		return nil, nil
	}
	for name, amount := range m.byCurrency {
		cost, currency = &amount, &name
	}
	return cost, currency
}

// modelSpent is one model's spending.
type modelSpent struct {
	Tokens   int64    `json:"tokens"`
	Runs     int      `json:"runs"`
	Cost     *float64 `json:"cost,omitempty"`
	Currency *string  `json:"currency,omitempty"`

	all money
}

func (m *modelSpent) add(s store.Spent) {
	m.Tokens, m.Runs = m.Tokens+s.Total, max(m.Runs, s.Runs) // priced and unpriced calls may share runs
	m.all.add(s)
	m.Cost, m.Currency = m.all.sum()
}
