package insight

import (
	"cmp"
	"context"
	"net/http"
	"slices"
	"time"

	"github.com/labstack/echo/v4"

	"fawn/agent/middleware"
	"fawn/store"
	"fawn/views"
	"fawn/views/insight"
	"fawn/web/httpx"
	"fawn/web/principal"
	"fawn/web/ui/page"
)

// usageDays is the default number of days on the usage page.
const usageDays = 30

// dearChats limits the chats shown on that page with their remaining budget.
const dearChats = 10

// usageHome handles GET /workspace/usage: the reader's total usage, by day, model, agent and user. Days are in UTC.
func (h *Handlers) usageHome(c echo.Context) error {
	ctx, owner := c.Request().Context(), principal.Owner(c.Request().Context())
	days, err := httpx.Int(c.QueryParams(), "days", usageDays, 1, 366)
	if err != nil {
		return err
	}
	p := views.UsageHome{Days: days}
	if id := c.QueryParam("user"); id != "" && id != owner {
		if !h.Guarded() || !principal.Of(ctx).Operator() {
			return store.ErrNotFound
		}
		user, err := h.Accounts.ByID(ctx, id)
		if err != nil {
			return err
		}
		owner, p.User, p.Of = id, id, cmp.Or(user.Name, user.Email)
	}
	if p.Shell, err = h.Shell(c, views.NavNone, ""); err != nil {
		return err
	}
	first := p.Shell.Now.UTC().Truncate(24*time.Hour).AddDate(0, 0, 1-days)
	runs, err := h.DB.RunsByDay(ctx, owner, first, 0)
	if err != nil {
		return err
	}
	byDay, err := h.DB.SpentByDay(ctx, owner, first, 0)
	if err != nil {
		return err
	}
	byModel, err := h.DB.SpentByModel(ctx, owner, first)
	if err != nil {
		return err
	}
	byAgent, err := h.DB.SpentByAgent(ctx, owner, first)
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
		p.ByModel = merged(p.ByModel, asSpent(h.ownLabel(s.Model), s))
	}
	for _, s := range byAgent {
		p.ByAgent = merged(p.ByAgent, asSpent(s.Caller, s))
	}
	if p.User != "" { // names of chats stay with whom they belong to
		return page.HTML(c, http.StatusOK, insight.Usage(p))
	}
	if p.ByUser, err = h.spentByUser(ctx, first); err != nil {
		return err
	}
	if err := h.budgets(ctx, &p); err != nil {
		return err
	}
	return page.HTML(c, http.StatusOK, insight.Usage(p))
}

// asSpent returns a sum of the store; its calls are runs.
func asSpent(name string, s store.Spent) views.Spent {
	return views.Spent{Name: name, Calls: s.Runs, Input: int(s.Input), Output: int(s.Output),
		Money: price(s.Cost, s.Currency)}
}

// merged combines a name's usage in one currency with its usage in others.
func merged(list []views.Spent, s views.Spent) []views.Spent {
	if i := slices.IndexFunc(list, func(have views.Spent) bool { return have.Name == s.Name }); i >= 0 {
		addSpent(&list[i], s)
		return list
	}
	return append(list, s)
}

// spentByUser returns everyone's usage, for owners and administrators of an installation with accounts.
func (h *Handlers) spentByUser(ctx context.Context, since time.Time) (list []views.Spent, err error) {
	if h.Accounts == nil || !h.Accounts.Required() || !principal.Of(ctx).Operator() {
		return nil, nil
	}
	users, err := h.Accounts.List(ctx)
	if err != nil {
		return nil, err
	}
	names := map[string]string{}
	for _, user := range users {
		names[user.ID] = user.Email
	}
	spent, err := h.DB.SpentByUser(ctx, since)
	for _, s := range spent {
		one := asSpent(cmp.Or(names[s.Caller], s.Caller), s)
		if names[s.Caller] != "" {
			one.User = s.Caller
		}
		list = merged(list, one)
	}
	return list, err
}

// budgets adds the limits of runs and chats, and the remaining budgets of chats.
func (h *Handlers) budgets(ctx context.Context, p *views.UsageHome) error {
	b := h.Config.Current().File.TokenBudget
	if !b.Enabled {
		return nil
	}
	currency := ""
	if len(p.Sum.Money) == 1 {
		currency = p.Sum.Money[0].Currency
	}
	for _, line := range []views.BudgetLine{
		{What: "usage.budget.run", Limit: b.MaxTokens, Money: views.Money{Amount: b.MaxCost, Currency: currency}},
		{What: "usage.budget.thread", Limit: b.MaxThreadTokens,
			Money: views.Money{Amount: b.MaxThreadCost, Currency: currency}},
	} {
		if line.Limit > 0 || line.Money.Amount > 0 {
			p.Budget = append(p.Budget, line)
		}
	}
	if _, limited := b.ThreadLeft(middleware.Spending{}); !limited {
		return nil
	}
	dear, err := h.DB.SpentMost(ctx, principal.Owner(ctx), dearChats)
	for _, t := range dear {
		left, _ := b.ThreadLeft(middleware.Spending{Tokens: int(t.Tokens), Money: t.Cost})
		one := views.ChatBudget{Thread: t.Thread, Title: t.Title, Used: int(t.Tokens), Spent: price(t.Cost, t.Currency)}
		one.Budget = views.BudgetLine{Limit: left.Tokens, Money: views.Money{Amount: left.Money, Currency: t.Currency}}
		p.Chats = append(p.Chats, one)
	}
	return err
}
