package offline

import (
	"slices"

	"fawn/agent"
)

const todoTool = "write_todos"

// planned returns the action with the turn's plan updated, if plans are available: at its beginning, between its
// stages, and before the answer.
func (c *conversation) planned(a action, files []string) action {
	stage := 0 // index of the active item
	switch {
	case len(a.calls) == 0:
		stage = 3
	case slices.ContainsFunc(a.calls, func(one agent.ToolCall) bool { return one.Name == "present_files" }):
		stage = 2
	case slices.ContainsFunc(a.calls, func(one agent.ToolCall) bool { return one.Name == "write_file" }):
		stage = 1
	}
	return c.plan(a, []string{
		c.pick("Read ", "读取 ") + names(files),
		c.pick("Analyse the data and write the report", "分析数据并撰写报告"),
		c.pick("Share the results", "交付结果"),
	}, stage, 1)
}

// plan adds the current plan to an action: completed items, and those started next.
func (c *conversation) plan(a action, items []string, done, working int) action {
	if !c.tools[todoTool] || c.stage() == done {
		return a
	}
	if len(a.calls) == 0 { // an answer ends the turn, so the plan is closed first
		if c.stage() < 0 {
			return a
		}
		a = action{}
	}
	plan := []any{}
	for i, what := range items {
		status := "pending"
		if i < done {
			status = "completed"
		} else if i < done+working {
			status = "in_progress"
		}
		plan = append(plan, map[string]any{"content": what, "status": status})
	}
	a.call(c, todoTool, map[string]any{"todos": plan})
	return a
}

// stage returns the active item in the plan this turn wrote last; -1 without a plan.
func (c *conversation) stage() int {
	for _, s := range slices.Backward(c.done) {
		if s.tool != todoTool {
			continue
		}
		done := 0
		for _, t := range s.args.Todos {
			if t.Status == "completed" {
				done++
			}
		}
		return done
	}
	return -1
}
