package gateway

import (
	"fawn/agent/channels"
	"fawn/web/route"

	o "fawn/web/openapi"
)

func describeTasks() []o.Op {
	const tag = "Scheduled tasks"
	task, tasks := route.Answered("The task", o.Ref("ScheduledTask")),
		route.Answered("The tasks, newest first", o.List(o.Ref("ScheduledTask")))
	spec := o.Body(o.Opt("cron", o.String()), o.Opt("run_at", o.String()))
	parts := []o.Prop{o.Is("thread_id", o.ID()), o.Is("context_mode", o.Enum(freshThread, reuseThread)),
		o.Is("deliver_to", o.Of[channels.Destination]())}
	return []o.Op{
		{ID: "listTasks", Tag: tag, Text: "List all scheduled tasks, including crons", Out: tasks},
		{ID: "createTask", Example: `{"title": "News", "prompt": "What is new?", "schedule_type": "cron", "schedule_spec": {"cron": "0 7 * * 1"}, "timezone": "Europe/Berlin"}`, Tag: tag, Text: "Schedule a prompt, once or repeatedly", Need: true,
			More: "deliver_to names a chat that the answer of each run is sent to when it ends: one of an account that " +
				"you connected, or a group that you let the bot into. A reply there goes on in the run's thread.",
			Body: o.Reads[taskBody](append(parts[:3:3], o.Req("title", o.String()), o.Req("prompt", o.String()),
				o.Req("schedule_type", o.Enum("once", "cron")), o.Req("schedule_spec", spec), o.Req("timezone", o.String()))...), Out: task, Fail: []int{404}},
		{ID: "getTask", Tag: tag, Text: "Get a task", Out: task},
		{ID: "patchTask", Tag: tag, Text: "Change a task",
			Body: o.Reads[taskBody](o.And(parts, o.Without("schedule_type"), []o.Prop{o.Is("schedule_spec", spec)})...),
			Out:  task, Fail: []int{409}},
		{ID: "deleteTask", Tag: tag, Text: "Delete a task",
			Out:  route.Answered("Deleted", o.Of[deletedTask]()),
			Fail: []int{409}},
		{ID: "pauseTask", Tag: tag, Text: "Pause a task", Out: task, Fail: []int{409}},
		{ID: "resumeTask", Tag: tag, Text: "Resume a task", Out: task, Fail: []int{409}},
		{ID: "triggerTask", Tag: tag, Text: "Run a task now",
			Out:  route.Answered("Started", o.Of[triggeredTask]()),
			Fail: []int{409, 502, 503}},
		{ID: "listTaskRuns", Tag: tag, Text: "List the runs of a task, newest first",
			Query: []o.Param{{Name: "limit", Schema: o.Range(1, 200)}, {Name: "offset", Schema: o.Int(0)}},
			Out:   route.Answered("The runs of the task", o.List(o.Ref("ScheduledTaskRun")))},
		{ID: "listThreadTasks", Lazy: true, Tag: tag, Text: "List the scheduled tasks of a thread", Out: tasks},
	}
}

func describedTask() o.Schema {
	return o.Of[scheduledJSON](o.Is("context_mode", o.Enum(freshThread, reuseThread)), o.Is("schedule_type", o.Enum("once", "cron")),
		o.Is("schedule_spec", o.Map(nil)), o.Is("status", o.Enum("enabled", "paused", "running", "completed", "failed")),
		o.Is("overlap_policy", o.Enum("skip", "enqueue")))
}

func describedTaskRun() o.Schema {
	return o.Of[scheduledRunJSON](o.Is("scheduled_for", o.Time()), o.Is("trigger", o.Enum("scheduled", "manual")),
		o.Is("status", o.Enum("starting", "running", "success", "failed", "interrupted", "skipped")),
		o.Is("delivery", o.Nullable(o.Of[deliveryJSON](o.Is("state", o.Enum("waiting", "sent", "failed", "unknown"))))))
}
