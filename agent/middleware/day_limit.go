package middleware

import (
	"context"

	"fawn/agent"
)

// Allowance is the rest of a person's daily tokens, shared by all of their runs.
type Allowance struct {
	Left  func(ctx context.Context) (tokens int, err error) // 0 when used up
	Spend func(ctx context.Context, tokens int) error       // records the tokens of a call
}

// dayNote names the limit in notes for the model.
const dayNote = "tokens of the person for today"

// DayLimit ends a run whose person used up their daily allowance. It is checked before each model call: without any
// left, the call gets no tools. After a call that used up the rest, open tool calls are still carried out, and the run
// gets its last turn.
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
				t.Log.Warn("daily token limit reached; the run gets one last turn")
				r.Last = &agent.Last{Reason: "token_capped", Note: budgetNote(dayNote)}
			}
			return nil
		},
	}
}
