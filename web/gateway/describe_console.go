package gateway

import (
	"fawn/web/route"

	o "fawn/web/openapi"
)

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
