package ui

import (
	"net/http"
	"slices"
	"time"

	"github.com/labstack/echo/v4"

	"fawn/store"
	"fawn/views"
	"fawn/views/insight"
	"fawn/web/httpx"
	"fawn/web/principal"
)

// usageDays is how many days the page of usage shows unless it is asked for others.
const usageDays = 30

// usageHome is GET /workspace/usage: what everything of the reader's took, by day, model and agent.
// Days are those of UTC.
func (u *UI) usageHome(c echo.Context) error {
	ctx, owner := c.Request().Context(), principal.Owner(c.Request().Context())
	days, err := httpx.Int(c.QueryParams(), "days", usageDays, 1, 366)
	if err != nil {
		return err
	}
	p := views.UsageHome{Days: days}
	if p.Shell, err = u.shell(c, views.NavNone, ""); err != nil {
		return err
	}
	first := p.Shell.Now.UTC().Truncate(24*time.Hour).AddDate(0, 0, 1-days)
	runs, err := u.DB.RunsByDay(ctx, owner, first, 0)
	if err != nil {
		return err
	}
	byDay, err := u.DB.SpentByDay(ctx, owner, first, 0)
	if err != nil {
		return err
	}
	byModel, err := u.DB.SpentByModel(ctx, owner, first)
	if err != nil {
		return err
	}
	byAgent, err := u.DB.SpentByAgent(ctx, owner, first)
	if err != nil {
		return err
	}
	for i := range days {
		d := views.DaySpent{Date: first.AddDate(0, 0, i).Format(time.DateOnly)}
		d.Runs = runs[d.Date]
		p.Runs += d.Runs
		for _, s := range byDay {
			if s.Date == d.Date {
				addSpent(&d.Spent, asSpent("", s))
				p.Unpriced = p.Unpriced || s.Currency == "" && s.Total > 0
			}
		}
		addSpent(&p.Sum, d.Spent)
		p.ByDay = append(p.ByDay, d)
	}
	for _, s := range byModel {
		p.ByModel = merged(p.ByModel, asSpent(u.ownLabel(s.Model), s))
	}
	for _, s := range byAgent {
		p.ByAgent = merged(p.ByAgent, asSpent(s.Caller, s))
	}
	if b := u.Config.Current().File.TokenBudget; b.Enabled {
		for _, line := range []views.BudgetLine{{What: "usage.budget.run", Limit: b.MaxTokens},
			{What: "usage.budget.thread", Limit: b.MaxThreadTokens}} {
			if line.Limit > 0 {
				p.Budget = append(p.Budget, line)
			}
		}
	}
	return html(c, http.StatusOK, insight.Usage(p))
}

// asSpent is a sum of the store; its calls are runs.
func asSpent(name string, s store.Spent) views.Spent {
	return views.Spent{Name: name, Calls: s.Runs, Input: int(s.Input), Output: int(s.Output), Money: price(s.Cost, s.Currency)}
}

// merged adds what one name took in one currency to what it took in others.
func merged(list []views.Spent, s views.Spent) []views.Spent {
	if i := slices.IndexFunc(list, func(have views.Spent) bool { return have.Name == s.Name }); i >= 0 {
		addSpent(&list[i], s)
		return list
	}
	return append(list, s)
}
