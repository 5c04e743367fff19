package middleware

import (
	"context"

	"fawn/agent"
)

// Allowance is the rest of a person's daily tokens, shared by all of their runs.
type Allowance struct {
	Left  func(ctx context.Context) (tokens int, err error) // 0 when nothing is left
	Spend func(ctx context.Context, tokens int) error       // counts what a call took
}

// dayNote names the limit in notes for the model.
const dayNote = "tokens of the person for today"

// DayLimit ends a run whose person has spent what they may on a day. The allowance is asked before each call of a model: a call
// that begins with nothing left has no tools. Once a call has taken the rest, open calls of tools are still done, and the
// run gets its last turn.
func DayLimit(a *Allowance) agent.Middleware {
	left := 0
	return agent.Middleware{
		Name: "day_limit",
		WrapModel: func(next agent.ModelFunc) agent.ModelFunc {
			return func(ctx context.Context, t *agent.Turn, req *agent.Request) (*agent.Message, error) {
				var err error
				if left, err = a.Left(ctx); err != nil {
					return nil, err
				}
				if left <= 0 && len(req.Tools) > 0 {
					req.Tools = nil
					addNote(req, "budget_spent", budgetNote(dayNote))
				}
				return next(ctx, t, req)
			}
		},
		AfterModel: func(ctx context.Context, t *agent.Turn, r *agent.Reply) error {
			cost := 0
			if r.Message.Usage != nil {
				cost = SpendingOf(r.Message.Usage).Tokens
			}
			if err := a.Spend(ctx, cost); err != nil {
				return err
			}
			switch {
			case left <= 0:
				if !r.Final {
					r.Message, r.StopReason = withoutCalls(r.Message), "token_capped"
				}
			case left-cost <= 0 && (len(r.Message.Calls()) > 0 || r.Jump == agent.ToModel):
				t.Log.Warn("the daily limit of tokens is reached; the run gets one last turn")
				r.Last = &agent.Last{Reason: "token_capped", Note: budgetNote(dayNote)}
			}
			return nil
		},
	}
}
