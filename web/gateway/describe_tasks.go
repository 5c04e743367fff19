package gateway

import (
	"fawn/web/route"

	o "fawn/web/openapi"
)

func describeTasks() []o.Op {
	const tag = "Scheduled tasks"
	task, tasks := route.Answered("The task", o.Ref("ScheduledTask")),
		route.Answered("The tasks, newest first", o.List(o.Ref("ScheduledTask")))
	parts := []o.Prop{o.Opt("thread_id", o.ID()), o.Opt("context_mode", o.Enum(freshThread, reuseThread)),
		o.Opt("assistant_id", o.String()), o.Opt("deliver_to", o.Nullable(describedDestination()))}
	spec := o.Body(o.Opt("cron", o.String()), o.Opt("run_at", o.String()))
	return []o.Op{
		{ID: "listTasks", Tag: tag, Text: "List all scheduled tasks, including crons", Out: tasks},
		{ID: "createTask", Tag: tag, Text: "Schedule a prompt, once or repeatedly", Need: true,
			More: "deliver_to names a chat that the answer of each run is sent to when it ends: one of an account that " +
				"you connected, or a group that you let the bot into. A reply there goes on in the run's thread.",
			Body: o.Body(append(parts[:4:4], o.Req("title", o.String()), o.Req("prompt", o.String()),
				o.Req("schedule_type", o.Enum("once", "cron")),
				o.Req("schedule_spec", spec), o.Req("timezone", o.String()))...), Out: task, Fail: []int{404}},
		{ID: "getTask", Tag: tag, Text: "Get a task", Out: task},
		{ID: "patchTask", Tag: tag, Text: "Change a task",
			Body: o.Body(append(parts[:4:4], o.Opt("title", o.String()), o.Opt("prompt", o.String()),
				o.Opt("schedule_spec", spec), o.Opt("timezone", o.String()))...),
			Out: task, Fail: []int{409}},
		{ID: "deleteTask", Tag: tag, Text: "Delete a task",
			Out:  route.Answered("Deleted", o.Object(o.Req("id", o.String()), o.Req("deleted", o.Bool()))),
			Fail: []int{409}},
		{ID: "pauseTask", Tag: tag, Text: "Pause a task", Out: task, Fail: []int{409}},
		{ID: "resumeTask", Tag: tag, Text: "Resume a task", Out: task, Fail: []int{409}},
		{ID: "triggerTask", Tag: tag, Text: "Run a task now",
			Out:  route.Answered("Started", o.Object(o.Req("id", o.String()), o.Req("triggered", o.Bool()))),
			Fail: []int{409, 502, 503}},
		{ID: "listTaskRuns", Tag: tag, Text: "List the runs of a task, newest first",
			Query: []o.Param{{Name: "limit", Schema: o.Range(1, 200)}, {Name: "offset", Schema: o.Int(0)}},
			Out:   route.Answered("The runs of the task", o.List(o.Ref("ScheduledTaskRun")))},
		{ID: "listThreadTasks", Lazy: true, Tag: tag, Text: "List the scheduled tasks of a thread", Out: tasks},
	}
}

// describedDestination is a chat that results are sent to.
func describedDestination() o.Schema {
	return o.Object(o.Req("provider", o.String()), o.Req("chat", o.String()), o.Opt("topic", o.String()))
}

func describedTask() o.Schema {
	return o.Object(o.Req("id", o.String()), o.Req("user_id", o.String()), o.Req("thread_id", o.Nullable(o.String())),
		o.Req("context_mode", o.Enum(freshThread, reuseThread)),
		o.Req("assistant_id", o.String()), o.Req("title", o.String()), o.Req("prompt", o.String()),
		o.Req("schedule_type", o.Enum("once", "cron")),
		o.Req("schedule_spec", o.Map(nil)), o.Req("timezone", o.String()),
		o.Req("status", o.Enum("enabled", "paused", "running", "completed", "failed")),
		o.Req("overlap_policy", o.Enum("skip", "enqueue")), o.Req("next_run_at", o.Nullable(o.Time())),
		o.Req("last_run_at", o.Nullable(o.Time())),
		o.Req("last_run_id", o.Nullable(o.String())), o.Req("last_thread_id", o.Nullable(o.String())),
		o.Req("last_error", o.Nullable(o.String())),
		o.Req("run_count", o.Int(0)), o.Req("deliver_to", o.Nullable(describedDestination())),
		o.Req("created_at", o.Time()), o.Req("updated_at", o.Time()))
}

func describedTaskRun() o.Schema {
	return o.Object(o.Req("id", o.String()), o.Req("task_id", o.String()), o.Req("thread_id", o.String()),
		o.Req("run_id", o.Nullable(o.String())),
		o.Req("scheduled_for", o.Time()), o.Req("trigger", o.Enum("scheduled", "manual")),
		o.Req("status", o.Enum("starting", "running", "success", "failed", "interrupted", "skipped")),
		o.Req("error", o.Nullable(o.String())),
		o.Req("started_at", o.Nullable(o.Time())), o.Req("finished_at", o.Nullable(o.Time())),
		o.Req("created_at", o.Time()), o.Req("delivery", o.Nullable(o.Object(
			o.Req("state", o.Enum("waiting", "sent", "failed", "unknown")), o.Req("error", o.Nullable(o.String()))))))
}
