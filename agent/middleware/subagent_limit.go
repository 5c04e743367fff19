package middleware

import (
	"context"
	"fmt"

	"fawn/agent"
)

// taskTool is the tool that sends a helper.
const taskTool = "task"

// SubagentLimit drops calls of the task tool beyond the limits of one answer and one run. concurrent is clamped to 2 to
// 4; total to at least 1. The answer's other calls stay, in order.
func SubagentLimit(concurrent, total int) agent.Middleware {
	concurrent, total = ClampHelpers(concurrent), max(total, 1)
	told := "" // note about dropped calls for the next request
	return agent.Middleware{
		Name: "subagent_limit",
		WrapModel: func(next agent.ModelFunc) agent.ModelFunc {
			return func(ctx context.Context, t *agent.Turn, req *agent.Request) (*agent.Message, error) {
				if told != "" {
					addNote(req, "subagent_limit", told)
				}
				m, err := next(ctx, t, req)
				if err == nil {
					told = ""
				}
				return m, err
			}
		},
		AfterModel: func(_ context.Context, t *agent.Turn, r *agent.Reply) error {
			limit := concurrent
			left := max(total-delegated(t), 0)
			if left < limit {
				limit = left
			}
			kept, dropped := tasksWithin(r.Message, limit)
			if dropped == 0 {
				return nil
			}
			t.Log.Warn(fmt.Sprintf("Truncated %d excess task call(s) from model response (limit: %d)", dropped, limit))
			c := *r.Message
			c.ToolCalls = kept
			r.Message = &c
			if left > 0 || len(c.Calls()) > 0 {
				told = droppedNote(dropped, concurrent, max(left-limit, 0))
				return nil
			}
			r.Message = withText(withoutCalls(&c),
				fmt.Sprintf("No more helpers can be sent in this run: %d is the limit.", total))
			r.Last = &agent.Last{Reason: "subagent_limit_capped",
				Note: "This run has sent all the helpers it may. Answer with what they and you have found, and say what is still open."}
			r.Jump = agent.ToModel
			return nil
		},
	}
}

// droppedNote tells a model that some of its helpers were not started, and how many more are allowed.
func droppedNote(dropped, concurrent, left int) string {
	text := fmt.Sprintf("%d of your task calls were dropped and no helper was sent for them: ", dropped)
	if left == 0 {
		return text + "this run can send no more. Do the rest yourself, or say that it is open."
	}
	return text + fmt.Sprintf("at most %d of one answer are carried out. ", concurrent) +
		fmt.Sprintf("What they were for is still to be done: send them now, or do it yourself. This run can send %d more.",
			left)
}

// ClampHelpers returns the limit of helpers per answer, given the requested n.
func ClampHelpers(n int) int { return min(max(n, 2), 4) }

// tasksWithin keeps the first limit task calls of an answer, and all others.
func tasksWithin(m *agent.Message, limit int) (kept []agent.ToolCall, dropped int) {
	tasks := 0
	for _, c := range m.ToolCalls {
		if c.Name == taskTool {
			if tasks++; tasks > limit {
				dropped++
				continue
			}
		}
		kept = append(kept, c)
	}
	return kept, dropped
}

// delegated counts the helpers started by this run: those in the ledger, and calls logged but not yet there.
func delegated(t *agent.Turn) int {
	seen := map[string]bool{}
	for _, d := range t.State.Delegations {
		if d.RunID == t.RunID {
			seen[d.ID] = true
		}
	}
	for _, m := range sinceQuestion(t.State.Messages) {
		for _, c := range m.ToolCalls {
			if c.Name == taskTool {
				seen[c.ID] = true
			}
		}
	}
	return len(seen)
}
