package api

import (
	"fawn/web/route"

	o "fawn/web/openapi"
)

func describeCrons() []o.Op {
	const tag = "Crons"
	when := []o.Prop{o.Opt("timezone", o.String()), o.Opt("end_time", o.String()), o.Opt("enabled", o.Bool()),
		o.Opt("on_run_completed", o.Enum("keep", "delete"))}
	request := append(when, o.Opt("assistant_id", o.String()), o.Opt("input", o.Any()), o.Opt("config", o.Map(nil)),
		o.Opt("context", o.Map(nil)),
		o.Opt("metadata", o.Map(nil)), o.Opt("multitask_strategy", o.Enum("reject", "enqueue", "interrupt")))
	create := o.Body(append(request[:len(request):len(request)], o.Req("schedule", o.String()))...)
	filter := []o.Prop{o.Opt("assistant_id", o.String()), o.Opt("thread_id", o.String()), o.Opt("enabled", o.Bool()),
		o.Opt("metadata", o.Map(nil))}
	return []o.Op{
		{ID: "createCron", Tag: tag, Text: "Schedule runs, each on a new thread", Need: true,
			More: "The body of a run, plus a five-field cron schedule.", Body: create,
			Out: route.Answered("The cron", o.Ref("Cron")), Fail: []int{404}},
		{ID: "createThreadCron", Tag: tag, Text: "Schedule runs on a thread", Need: true,
			Body: create, Out: route.Answered("The cron", o.Ref("Cron"))},
		{ID: "searchCrons", Tag: tag, Text: "Find crons",
			Body: o.Body(append(filter[:len(filter):len(filter)], o.Opt("limit", o.Range(1, route.MaxPage)),
				o.Opt("offset", o.Int(0)), o.Opt("select", o.List(o.String())),
				o.Opt("sort_by", o.Enum("cron_id", "assistant_id", "thread_id", "created_at", "updated_at",
					"next_run_date", "end_time")), o.Opt("sort_order", sortOrder().Schema))...),
			Out: route.Answered("A page of crons", o.List(o.Ref("CronPart")))},
		{ID: "countCrons", Tag: tag, Text: "Count crons", Body: o.Body(filter...), Out: route.Answered("The count", o.Int(0))},
		{ID: "getCron", Tag: tag, Text: "Get a cron", Out: route.Answered("The cron", o.Ref("Cron"))},
		{ID: "patchCron", Tag: tag, Text: "Change a cron: its schedule or its run",
			Body: o.Body(append(request[:len(request):len(request)], o.Opt("schedule", o.String()))...),
			Out:  route.Answered("The cron", o.Ref("Cron")), Fail: []int{409}},
		{ID: "deleteCron", Tag: tag, Text: "Delete a cron, keeping its runs", Out: route.Emptied("Deleted"),
			Fail: []int{409}},
	}
}

func describedCron() o.Schema {
	return o.Object(o.Req("cron_id", o.String()), o.Req("assistant_id", o.String()),
		o.Req("thread_id", o.Nullable(o.String())), o.Req("schedule", o.String()),
		o.Req("timezone", o.Nullable(o.String())), o.Req("end_time", o.Nullable(o.Time())),
		o.Req("next_run_date", o.Nullable(o.Time())), o.Req("payload", o.Map(nil)),
		o.Req("metadata", o.Map(nil)), o.Req("user_id", o.Nullable(o.String())), o.Req("enabled", o.Bool()),
		o.Req("on_run_completed", o.Nullable(o.String())),
		o.Req("created_at", o.Time()), o.Req("updated_at", o.Time()))
}
