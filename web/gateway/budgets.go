package gateway

import (
	"context"
	"net/http"
	"time"

	"github.com/labstack/echo/v4"

	"fawn/agent/middleware"
	"fawn/web/httpx"
	"fawn/web/principal"
	"fawn/web/route"
)

// userSpent is one user's spending.
type userSpent struct {
	ID    string `json:"id"`
	Email string `json:"email"` // "" of an account that is deleted
	modelSpent
}

// spentByUser returns everyone's spending to administrators.
func (g *Gateway) spentByUser(ctx context.Context, since time.Time) (list []*userSpent, err error) {
	if g.Accounts == nil || !g.Accounts.Required() || !principal.Of(ctx).Operator() {
		return nil, nil
	}
	users, err := g.Accounts.List(ctx)
	if err != nil {
		return nil, err
	}
	emails := map[string]string{}
	for _, u := range users {
		emails[u.ID] = u.Email
	}
	spent, err := g.DB.SpentByUser(ctx, since)
	for _, s := range spent {
		if len(list) == 0 || list[len(list)-1].ID != s.Caller {
			list = append(list, &userSpent{ID: s.Caller, Email: emails[s.Caller]})
		}
		list[len(list)-1].add(s)
	}
	return list, err
}

// whose returns the user whose usage is requested: the caller, or for administrators the query's user.
func (g *Gateway) whose(c echo.Context) (owner string, own bool, err error) {
	id := c.QueryParam("user_id")
	if id == "" || id == g.Owner(c) {
		return g.Owner(c), true, nil
	}
	ctx := c.Request().Context()
	if g.Accounts == nil || !g.Accounts.Required() || !principal.Of(ctx).Operator() {
		return "", false, httpx.Errorf(http.StatusForbidden, "Only an administrator may see the usage of others")
	}
	if _, err := g.Accounts.ByID(ctx, id); err != nil {
		return "", false, notThere(err, "User not found")
	}
	return id, false, nil
}

// dearThreads limits the threads listed with their remaining budget.
const dearThreads = 10

// budgets holds the limits of runs and threads, and the remaining budget of threads. A limit of 0 is none.
type budgets struct {
	Run     budget         `json:"run"` // every run starts with all of it
	Thread  budget         `json:"thread"`
	Threads []threadBudget `json:"threads"` // the most expensive ones
}

type budget struct {
	Tokens int     `json:"max_tokens"`
	Cost   float64 `json:"max_cost"`
}

// threadBudget is a thread's spending and remaining budget; null is without a limit.
type threadBudget struct {
	Thread     string   `json:"thread_id"`
	Title      *string  `json:"title"`
	UsedTokens int64    `json:"used_tokens"`
	LeftTokens *int     `json:"left_tokens"`
	UsedCost   float64  `json:"used_cost"`
	LeftCost   *float64 `json:"left_cost"`
}

func (g *Gateway) budgets(ctx context.Context) (*budgets, error) {
	o := g.Config().File.TokenBudget
	if !o.Enabled {
		return nil, nil
	}
	out := &budgets{Run: budget{o.MaxTokens, o.MaxCost}, Thread: budget{o.MaxThreadTokens, o.MaxThreadCost},
		Threads: []threadBudget{}}
	dear, err := g.DB.SpentMost(ctx, principal.Owner(ctx), dearThreads)
	for _, t := range dear {
		one := threadBudget{Thread: t.Thread, Title: route.TextOrNull(t.Title), UsedTokens: t.Tokens, UsedCost: t.Cost}
		left, _ := o.ThreadLeft(middleware.Spending{Tokens: int(t.Tokens), Money: t.Cost})
		if o.MaxThreadTokens > 0 {
			one.LeftTokens = &left.Tokens
		}
		if o.MaxThreadCost > 0 {
			one.LeftCost = &left.Money
		}
		out.Threads = append(out.Threads, one)
	}
	return out, err
}
