package api

import (
	"fawn/web/route"

	o "fawn/web/openapi"
)

func describeCrons() []o.Op {
	const tag = "Crons"
	object := o.Map(nil)
	request := o.And([]o.Prop{o.Is("config", object), o.Is("context", object), o.Is("metadata", object),
		o.Is("end_time", o.String()), o.Is("on_run_completed", o.Enum("keep", "delete")),
		o.Is("multitask_strategy", o.Enum("reject", "enqueue", "interrupt"))},
		o.Without("hold", "header_model", "origin", "traceparent", "secret_names", "command", "checkpoint", "checkpoint_id", "stream_mode",
			"stream_subgraphs", "on_disconnect", "if_not_exists", "on_completion", "after_seconds", "interrupt_before", "interrupt_after",
			"durability", "checkpoint_during", "project_id"))
	create := o.Reads[cronRequest](append(request, o.Req("schedule", o.String()))...)
	return []o.Op{
		{ID: "createCron", Example: `{"assistant_id": "lead_agent", "schedule": "0 7 * * 1", "timezone": "Europe/Berlin", "input": {"messages": [{"role": "user", "content": "What is new?"}]}}`, Tag: tag, Text: "Schedule runs, each on a new thread", Need: true,
			More: "The body of a run, plus a five-field cron schedule.", Body: create,
			Out: route.Answered("The cron", o.Ref("Cron")), Fail: []int{404}},
		{ID: "createThreadCron", Tag: tag, Text: "Schedule runs on a thread", Need: true,
			Body: create, Out: route.Answered("The cron", o.Ref("Cron"))},
		{ID: "searchCrons", Tag: tag, Text: "Find crons",
			Body: o.Reads[cronQuery](o.Is("metadata", object), o.Is("limit", o.Range(1, route.MaxPage)), o.Is("offset", o.Int(0)),
				o.Is("sort_by", o.Enum("cron_id", "assistant_id", "thread_id", "created_at", "updated_at",
					"next_run_date", "end_time")), o.Is("sort_order", sortOrder().Schema)),
			Out: route.Answered("A page of crons", o.List(o.Ref("CronPart")))},
		{ID: "countCrons", Tag: tag, Text: "Count crons", Out: route.Answered("The count", o.Int(0)),
			Body: o.Reads[cronQuery](append(o.Without("limit", "offset", "sort_by", "sort_order", "select"), o.Is("metadata", object))...)},
		{ID: "getCron", Tag: tag, Text: "Get a cron", Out: route.Answered("The cron", o.Ref("Cron"))},
		{ID: "patchCron", Tag: tag, Text: "Change a cron: its schedule or its run",
			Body: o.Reads[cronRequest](request...),
			Out:  route.Answered("The cron", o.Ref("Cron")), Fail: []int{409}},
		{ID: "deleteCron", Tag: tag, Text: "Delete a cron, keeping its runs", Out: route.Emptied("Deleted"),
			Fail: []int{409}},
	}
}

func describedCron() o.Schema {
	return o.Of[cronJSON](o.Is("end_time", o.Nullable(o.Time())), o.Is("next_run_date", o.Nullable(o.Time())),
		o.Is("payload", o.Map(nil)), o.Is("metadata", o.Map(nil)))
}

// cronRequest is the body for creating or changing a cron: its schedule, and its runs' request.
type cronRequest struct {
	cronBody
	runBody
}
