package gateway

import (
	"fawn/agent"
	"fawn/agent/middleware"
	o "fawn/web/openapi"
	"fawn/web/route"
)

// describeNative returns DeerFlow's own routes for threads and runs.
func describeNative() []o.Op {
	const tag = "DeerFlow"
	goal := route.Answered("The goal, or null", o.Of[goalJSON](o.Is("goal", o.Nullable(o.Ref("Goal")))))
	limit := o.Param{Name: "limit", Schema: o.Range(1, maxTurns)}
	before, after := o.Param{Name: "before_seq", Schema: o.Int(0)}, o.Param{Name: "after_seq", Schema: o.Int(0)}
	page := route.Answered("Messages", o.Of[turnPage](o.Is("data", o.List(o.Ref("Turn")))))
	replay := route.Answered("Input and checkpoint for the new run",
		o.Of[replay](o.Is("checkpoint", o.Map(nil))))
	opinion := o.Reads[feedbackBody](o.Req("rating", o.Int(-1)))
	opinions := route.Answered("The feedback", o.List(o.Ref("Feedback")))
	return []o.Op{
		{ID: "branchThread", Tag: "Threads", Text: "Branch a new thread from an answer",
			Body: o.Reads[branchBody](o.Req("message_id", o.String())),
			Out: route.Answered("The new thread and its origin",
				o.Of[branchJSON](o.Is("workspace_clone_mode", o.Enum("current_thread_best_effort", "skipped_historical_turn")),
					o.Is("history_seed_mode", o.Enum("seeded")))), Fail: []int{409}},
		{ID: "getGoal", Tag: tag, Text: "Get the goal of a thread", Out: goal},
		{ID: "putGoal", Tag: tag, Text: "Set the goal of a thread", Need: true,
			Body: o.Reads[goalBody](o.Req("objective", o.String()),
				o.Is("max_continuations", o.Range(0, middleware.MaxContinuations))),
			Out: goal, Fail: []int{409}},
		{ID: "deleteGoal", Tag: tag, Text: "Clear the goal of a thread", Out: goal, Fail: []int{409}},
		{ID: "getTokenUsage", Tag: tag, Text: "Get the token usage of a thread",
			Query: []o.Param{{Name: "include_active", Schema: o.Bool()}},
			Out:   route.Answered("The totals", o.Ref("TokenUsage"))},
		{ID: "listMessages", Tag: tag, Text: "List the messages of the conversation, oldest first",
			Query: []o.Param{limit, before, after}, Out: route.Answered("Messages", o.List(o.Ref("Turn")))},
		{ID: "getMessagesPage", Tag: tag, Text: "Get the conversation page by page, from the end",
			Query: []o.Param{limit, before},
			Out: route.Answered("A page", o.Of[pageBefore](o.Is("data", o.List(o.Ref("Turn"))),
				o.Is("next_before_seq", o.Nullable(o.Int(1)))))},
		{ID: "prepareRegenerate", Tag: tag, Text: "Prepare to regenerate the last turn", Need: true,
			Body: o.Reads[regenerateBody](o.Req("message_id", o.String())), Out: replay, Fail: []int{409}},
		{ID: "prepareEdit", Tag: tag, Text: "Prepare to regenerate the last turn with an edited message", Need: true,
			Body: o.Reads[editBody](o.Req("human_message_id", o.String()), o.Req("replacement_text", o.String())), Out: replay,
			Fail: []int{409}},
		{ID: "listRunMessages", Tag: tag, Text: "List the messages of a run", Query: []o.Param{limit, before, after},
			Out: page},
		{ID: "listStatelessRunMessages", Tag: tag, Text: "List the messages of a run",
			Query: []o.Param{limit, before, after}, Out: page},
		{ID: "listRunEvents", Tag: tag, Text: "List the events of a run, without answer deltas",
			Query: []o.Param{{Name: "event_types", Schema: o.String(), Text: "Comma-separated names"},
				{Name: "task_id", Schema: o.String()}, {Name: "limit", Schema: o.Range(1, maxEvents)}, after},
			Out: route.Answered("The events", o.List(o.Ref("RunEvent")))},
		{ID: "getWorkspaceChanges", Tag: tag, Text: "Get the files a run created, changed or deleted",
			More: "Files in workspace and outputs, and in project where chats may change those. Differences are of texts; others only have sizes and hashes.",
			Query: []o.Param{{Name: "include_files", Schema: o.Bool(), Text: "List the files, on by default"},
				{Name: "include_diff", Schema: o.Bool(), Text: "Include unified diffs, off by default"}},
			Out: route.Answered("The changes", o.Ref("WorkspaceChanges"))},
		{ID: "listFeedback", Tag: tag, Text: "List the feedback on a run", Out: opinions},
		{ID: "addFeedback", Tag: tag, Text: "Give feedback on a run", Need: true, Body: opinion,
			Out: route.Answered("The feedback", o.Ref("Feedback")), Fail: []int{400}},
		{ID: "putFeedback", Tag: tag, Text: "Replace the feedback on a run", Need: true, Body: opinion,
			Out: route.Answered("The feedback", o.Ref("Feedback")), Fail: []int{400}},
		{ID: "clearFeedback", Tag: tag, Text: "Delete all feedback on a run",
			Out: route.Answered("Done", o.Of[route.Done]())},
		{ID: "getFeedbackStats", Tag: tag, Text: "Get feedback totals of a run",
			Out: route.Answered("The totals", o.Of[feedbackSums](o.Is("total", o.Int(0)),
				o.Is("positive", o.Int(0)), o.Is("negative", o.Int(0))))},
		{ID: "deleteFeedback", Tag: tag, Text: "Delete feedback",
			Out: route.Answered("Done", o.Of[route.Done]())},
		{ID: "listStatelessRunFeedback", Tag: tag, Text: "List the feedback on a run", Out: opinions},
	}
}

// nativeSchemas returns the schemas of describeNative.
func nativeSchemas() map[string]o.Schema {
	return map[string]o.Schema{
		"Feedback": o.Of[feedbackJSON](o.Is("rating", o.Int(-1))),
		"Turn":     o.Of[turnJSON](o.Is("seq", o.Int(1)), o.Is("feedback", o.Nullable(o.Ref("Feedback")))),
		"RunEvent": o.Of[eventJSON](o.Is("seq", o.Int(1))),
		"WorkspaceChanges": o.Of[changesJSON](o.Is("thread_id", o.ID()), o.Is("files", o.List(o.Of[changeJSON](
			o.Is("root", o.Enum("workspace", "outputs", "project")), o.Is("status", o.Enum("created", "modified", "deleted", "symlink_created")),
			o.Is("diff_unavailable_reason", o.Nullable(o.Enum("binary", "large", "sensitive", "truncated", "symlink"))))))),
		"TokenUsage": o.Of[tokenUsage](),
		"Goal":       o.Of[agent.Goal](),
	}
}
