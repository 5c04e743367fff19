package middleware

import (
	"context"
	"fmt"
	"sync"

	"fawn/agent"
)

// Spending is an amount of tokens and money; in limits 0 is no limit.
type Spending struct {
	Tokens, Input, Output int
	Money                 float64 // of whatever currency the prices are in
}

// BudgetRules bound what a run and its thread may spend.
type BudgetRules struct {
	Run, Thread Spending
	Warn, Hard  float64 // parts of a limit
}

// SpendingOf is what a call cost. Its price is that of the model which was called, at that
// time.
func SpendingOf(u *agent.Usage) Spending {
	return Spending{Tokens: max(u.Total, u.Input+u.Output), Input: u.Input, Output: u.Output, Money: u.Cost}
}

func (s Spending) plus(o Spending) Spending {
	return Spending{s.Tokens + o.Tokens, s.Input + o.Input, s.Output + o.Output, s.Money + o.Money}
}

// part is the greatest part of a limit that is spent, and which one that is.
func (s Spending) part(limit Spending) (part float64, what string) {
	look := func(spent, limit float64, name string) {
		if limit > 0 && spent/limit > part {
			part, what = spent/limit, name
		}
	}
	look(float64(s.Tokens), float64(limit.Tokens), "tokens")
	look(float64(s.Input), float64(limit.Input), "input tokens")
	look(float64(s.Output), float64(limit.Output), "output tokens")
	look(s.Money, limit.Money, "money")
	return part, what
}

// Purse is what a run has spent. The whole tree of a run, helpers included, shares one.
type Purse struct {
	mu    sync.Mutex
	spent Spending
}

// Pay adds to what was spent and gives the sum. Nobody pays out of a nil Purse.
func (p *Purse) Pay(s Spending) Spending {
	if p == nil {
		return s
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.spent = p.spent.plus(s)
	return p.spent
}

// TokenBudget ends a run that spends too much: near the limit the model is warned once;
// behind it the open calls are still done, and the run gets its last turn.
func TokenBudget(rules BudgetRules, purse *Purse) agent.Middleware {
	var before Spending // of the thread, before this run
	var warning string
	warned, over := false, ""
	judge := func(run Spending) (part float64, what string) {
		part, what = run.part(rules.Run)
		if p, w := before.plus(run).part(rules.Thread); p > part {
			return p, w + " of this conversation"
		}
		return part, what + " of this run"
	}
	return agent.Middleware{
		Name: "token_budget",
		BeforeAgent: func(_ context.Context, t *agent.Turn) (agent.State, error) {
			for _, m := range t.State.Messages {
				if m.Type == agent.TypeAI && m.Usage != nil {
					before = before.plus(SpendingOf(m.Usage))
				}
			}
			if part, what := judge(purse.Pay(Spending{})); part >= rules.Hard {
				over = what
			}
			return agent.State{}, nil
		},
		WrapModel: func(next agent.ModelFunc) agent.ModelFunc {
			return func(ctx context.Context, t *agent.Turn, req *agent.Request) (*agent.Message, error) {
				if over != "" && len(req.Tools) > 0 { // spent before this run began
					req.Tools = nil
					addNote(req, "budget_spent", budgetNote(over))
				}
				if warning != "" {
					addNote(req, "budget_warning", warning)
				}
				m, err := next(ctx, t, req)
				if err == nil {
					warning = ""
				}
				return m, err
			}
		},
		AfterModel: func(_ context.Context, t *agent.Turn, r *agent.Reply) error {
			var cost Spending
			if r.Message.Usage != nil {
				cost = SpendingOf(r.Message.Usage)
			}
			part, what := judge(purse.Pay(cost))
			switch {
			case over != "":
				if !r.Final {
					r.Message, r.StopReason = withoutCalls(r.Message), "token_capped"
				}
			case part >= rules.Hard:
				if len(r.Message.Calls()) > 0 || r.Jump == agent.ToModel {
					t.Log.Warn("the budget is spent; the run gets one last turn", "of", what)
					r.Last = &agent.Last{Reason: "token_capped", Note: budgetNote(what)}
				}
			case part >= rules.Warn && !warned:
				warned = true
				warning = fmt.Sprintf("%.0f %% of the budget (%s) is spent. Come to an end: do what matters most, then answer.", part*100, what)
			}
			return nil
		},
	}
}

func budgetNote(what string) string {
	return "The budget (" + what + ") is spent and tools are off now. Answer with what you have found so far, and say what is still open."
}
