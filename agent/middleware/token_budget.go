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
	Money                 float64 // in the currency of the prices
}

// BudgetOptions limit the spending of a run and its thread. Money is in the currency of the model's pricing.
type BudgetOptions struct {
	Enabled           bool    `yaml:"enabled"`
	MaxTokens         int     `yaml:"max_tokens" min:"1"`
	MaxThreadTokens   int     `yaml:"max_thread_tokens" min:"0"` // 0 = no limit
	MaxCost           float64 `yaml:"max_cost" min:"0"`          // cost limit of one run; 0 = no limit
	MaxThreadCost     float64 `yaml:"max_thread_cost" min:"0"`   // 0 = no limit
	MaxInputTokens    int     `yaml:"max_input_tokens" min:"1"`  // 0 = no own limit
	MaxOutputTokens   int     `yaml:"max_output_tokens" min:"1"` // 0 = no own limit
	WarnThreshold     float64 `yaml:"warn_threshold" min:"0" max:"1"`
	HardStopThreshold float64 `yaml:"hard_stop_threshold" min:"0" max:"1"`
}

// ThreadLeft returns a thread's remaining budget: zero once a limit is reached. Unlimited amounts are 0; limited
// reports whether any limit is set.
func (o BudgetOptions) ThreadLeft(spent Spending) (left Spending, limited bool) {
	if !o.Enabled || o.MaxThreadTokens == 0 && o.MaxThreadCost == 0 {
		return left, false
	}
	if o.MaxThreadTokens > 0 && spent.Tokens >= o.MaxThreadTokens ||
		o.MaxThreadCost > 0 && spent.Money >= o.MaxThreadCost {
		return left, true
	}
	return Spending{Tokens: max(o.MaxThreadTokens-spent.Tokens, 0), Money: max(o.MaxThreadCost-spent.Money, 0)}, true
}

// DefaultBudget returns ten million tokens for a run and ten times that for a thread.
func DefaultBudget() BudgetOptions {
	return BudgetOptions{
		Enabled: true, MaxTokens: 10_000_000, MaxThreadTokens: 100_000_000, WarnThreshold: 0.8, HardStopThreshold: 1,
	}
}

// SpendingOf returns the cost of a call, at the price of the called model at that time.
func SpendingOf(u *agent.Usage) Spending {
	return Spending{Tokens: max(u.Total, u.Input+u.Output), Input: u.Input, Output: u.Output, Money: u.Cost}
}

func (s Spending) plus(o Spending) Spending {
	return Spending{s.Tokens + o.Tokens, s.Input + o.Input, s.Output + o.Output, s.Money + o.Money}
}

// part returns the highest used share of a limit, and which limit it is.
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

// Budget tracks the spending of a run. The whole tree of a run, helpers included, shares one.
type Budget struct {
	mu     sync.Mutex
	spent  Spending
	before Spending // the thread's spending before the run
}

// Spend adds an amount and returns the sum. A nil Budget counts nothing.
func (b *Budget) Spend(s Spending) Spending {
	if b == nil {
		return s
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.spent = b.spent.plus(s)
	return b.spent
}

// Over reports whether the budget is used up.
func (b *Budget) Over(o BudgetOptions) bool {
	part, _ := b.judge(o, b.Spend(Spending{}))
	return o.Enabled && part >= o.HardStopThreshold
}

// judge returns the highest used share of the limits of a run and its thread, and which limit it is.
func (b *Budget) judge(o BudgetOptions, run Spending) (part float64, what string) {
	part, what = run.part(Spending{Tokens: o.MaxTokens, Input: o.MaxInputTokens, Output: o.MaxOutputTokens,
		Money: o.MaxCost})
	ofThread := Spending{Tokens: o.MaxThreadTokens, Money: o.MaxThreadCost}
	if p, w := b.earlier().plus(run).part(ofThread); p > part {
		return p, w + " of this conversation"
	}
	return part, what + " of this run"
}

// begin sets the thread's spending before the run.
func (b *Budget) begin(s Spending) {
	if b != nil {
		b.mu.Lock()
		defer b.mu.Unlock()
		b.before = s
	}
}

func (b *Budget) earlier() Spending {
	if b == nil {
		return Spending{}
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.before
}

// HelperBudget is TokenBudget for a single helper.
func HelperBudget(o BudgetOptions) agent.Middleware {
	m := TokenBudget(o, &Budget{})
	m.Name = "helper_budget"
	return m
}

// TokenBudget ends a run that spends too much: near the limit the model is warned once; beyond it the open calls are
// still done, and the run gets its last turn.
func TokenBudget(o BudgetOptions, budget *Budget) agent.Middleware {
	var warning string
	warned, over := false, ""
	return agent.Middleware{
		Name: "token_budget",
		BeforeAgent: func(_ context.Context, t *agent.Turn) (agent.State, error) {
			if t.NS == "" { // a helper has its parent's
				budget.begin(spentBefore(t.State.Messages))
			}
			if part, what := budget.judge(o, budget.Spend(Spending{})); part >= o.HardStopThreshold {
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
			part, what := budget.judge(o, budget.Spend(cost))
			switch {
			case over != "":
				if !r.Final {
					r.Message, r.StopReason = withoutCalls(r.Message), "token_capped"
				}
			case part >= o.HardStopThreshold:
				if len(r.Message.Calls()) > 0 || r.Jump == agent.ToModel {
					t.Log.Warn("budget spent; the run gets one last turn", "of", what)
					r.Last = &agent.Last{Reason: "token_capped", Note: budgetNote(what)}
				}
			case part >= o.WarnThreshold && !warned:
				warned = true
				warning = fmt.Sprintf("%.0f %% of the budget (%s) is spent. Come to an end: do what matters most, "+
					"then answer.", part*100, what)
			}
			return nil
		},
	}
}

// spentBefore returns the cost of a thread's messages, helpers included.
func spentBefore(messages []*agent.Message) (sum Spending) {
	for _, m := range messages {
		if m.Type == agent.TypeAI && m.Usage != nil {
			sum = sum.plus(SpendingOf(m.Usage))
		}
		used, ok := m.Kwargs["subagent_token_usage"].(map[string]any)
		if m.Type != agent.TypeTool || !ok {
			continue
		}
		count := func(key string) int {
			switch n := used[key].(type) {
			case int:
				return n
			case float64:
				return int(n)
			}
			return 0
		}
		sum = sum.plus(Spending{Tokens: count("total_tokens"), Input: count("input_tokens"),
			Output: count("output_tokens")})
		if cost, ok := m.Kwargs["subagent_cost"].(float64); ok {
			sum.Money += cost
		}
	}
	return sum
}

func budgetNote(what string) string {
	return "The budget (" + what + ") is spent and tools are off now. Answer with what you have found so far, " +
		"and say what is still open."
}
