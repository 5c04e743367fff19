package api

import (
	"maps"

	o "fawn/web/openapi"
)

// Schemas are the shapes [Operations] refers to by name.
func Schemas() map[string]o.Schema {
	pointer := o.Object(o.Req("thread_id", o.String()), o.Req("checkpoint_ns", o.String()),
		o.Req("checkpoint_id", o.String()),
		o.Req("checkpoint_map", o.Nullable(o.Map(nil))), o.Opt("id", o.String()), o.Opt("ts", o.Time()))
	problem := o.Object(o.Req("detail", o.AnyOf(o.String(),
		o.Object(o.Req("code", o.String()), o.Req("message", o.String())),
		o.List(o.Object(o.Req("loc", o.List(o.String())), o.Req("msg", o.String()), o.Req("type", o.String()))))))
	all := map[string]o.Schema{
		"Problem":    problem,
		"Message":    o.Object(o.Req("type", o.Enum("human", "ai", "tool", "system", "remove")), o.Req("id", o.String())),
		"Values":     o.Object(o.Opt("messages", o.List(o.Ref("Message"))), o.Opt("title", o.Nullable(o.String()))),
		"Event":      o.Object(o.Req("event", o.String()), o.Req("data", o.String()), o.Opt("id", o.String())),
		"Interrupt":  o.Object(o.Req("id", o.String()), o.Req("value", o.Any())),
		"Checkpoint": pointer,
		"Task": o.Object(o.Req("id", o.String()), o.Req("name", o.String()), o.Opt("path", o.List(o.String())),
			o.Req("error", o.Nullable(o.String())),
			o.Req("interrupts", o.List(o.Ref("Interrupt"))), o.Req("checkpoint", o.Any()), o.Req("state", o.Any()),
			o.Req("result", o.Any())),
		"ThreadState": o.Object(o.Req("values", o.Ref("Values")), o.Req("next", o.List(o.String())),
			o.Req("tasks", o.List(o.Ref("Task"))),
			o.Req("metadata", o.Map(nil)), o.Req("created_at", o.Nullable(o.Time())),
			o.Req("checkpoint", o.Nullable(o.Ref("Checkpoint"))),
			o.Req("parent_checkpoint", o.Nullable(o.Ref("Checkpoint"))),
			o.Opt("interrupts", o.List(o.Ref("Interrupt"))), o.Opt("step", o.Nullable(o.Int(-1))),
			o.Req("checkpoint_id", o.Nullable(o.String())), o.Req("parent_checkpoint_id", o.Nullable(o.String()))),
		"Thread":        thread(),
		"ThreadPart":    o.Partly(thread()),
		"Run":           describedRun(),
		"RunPart":       o.Partly(describedRun()),
		"RunCreate":     runBody(),
		"Assistant":     describedAssistant(),
		"AssistantPart": o.Partly(describedAssistant()),
		"Item":          describedItem(),
		"Cron":          describedCron(),
		"CronPart":      o.Partly(describedCron()),
		"File": o.Object(o.Req("filename", o.String()), o.Req("size", o.Int(0)), o.Req("path", o.String()),
			o.Req("virtual_path", o.String()), o.Req("artifact_url", o.String())),
	}
	maps.Copy(all, traceSchemas())
	return all
}

func thread() o.Schema {
	return o.Object(o.Req("thread_id", o.ID()), o.Req("created_at", o.Time()), o.Req("updated_at", o.Time()),
		o.Req("state_updated_at", o.Time()),
		o.Req("metadata", o.Map(nil)), o.Req("status", o.Enum("idle", "busy", "interrupted", "error")),
		o.Req("config", o.Map(nil)),
		o.Req("values", o.Nullable(o.Map(nil))), o.Req("interrupts", o.Map(o.List(o.Ref("Interrupt")))),
		o.Req("error", o.Nullable(o.Map(nil))), o.Opt("project_id", o.String()))
}

func describedRun() o.Schema {
	return o.Object(o.Req("run_id", o.String()), o.Req("thread_id", o.ID()), o.Req("assistant_id", o.String()),
		o.Req("created_at", o.Time()),
		o.Req("updated_at", o.Time()),
		o.Req("status", o.Enum("pending", "running", "success", "error", "timeout", "interrupted")),
		o.Req("metadata", o.Map(nil)), o.Req("kwargs", o.Map(nil)), o.Req("multitask_strategy", o.String()),
		o.Req("stop_reason", o.Nullable(o.String())), o.Req("error", o.Nullable(o.String())),
		o.Req("total_tokens", o.Int(0)))
}

func describedAssistant() o.Schema {
	return o.Object(o.Req("assistant_id", o.String()), o.Req("graph_id", o.String()), o.Req("name", o.String()),
		o.Req("version", o.Int(1)),
		o.Req("config", o.Map(nil)), o.Req("context", o.Map(nil)), o.Req("metadata", o.Map(nil)),
		o.Req("description", o.Nullable(o.String())),
		o.Req("created_at", o.Time()), o.Req("updated_at", o.Time()))
}

// runBody is what all run-creating routes read.
func runBody() o.Schema {
	mode := o.Enum("values", "updates", "messages", "messages-tuple", "custom", "tasks", "checkpoints", "debug",
		"events", "tools")
	return o.Body(o.Opt("assistant_id", o.String()), o.Opt("input", o.Any()), o.Opt("command", o.Map(nil)),
		o.Opt("metadata", o.Map(nil)),
		o.Opt("config", o.Map(nil)), o.Opt("context", o.Map(nil)), o.Opt("checkpoint", checkpointBody()),
		o.Opt("checkpoint_id", o.String()),
		o.Opt("stream_mode", o.AnyOf(mode, o.List(mode))), o.Opt("stream_subgraphs", o.Bool()),
		o.Opt("multitask_strategy", o.Enum("reject", "enqueue", "interrupt", "rollback")),
		o.Opt("on_disconnect", o.Enum("continue", "cancel")),
		o.Opt("if_not_exists", o.Enum("create", "reject")), o.Opt("on_completion", o.String()),
		o.Opt("durability", o.Enum("sync", "async", "exit")), o.Opt("checkpoint_during", o.Bool()),
		o.Opt("interrupt_before", o.AnyOf(o.String(), o.List(o.String()))),
		o.Opt("interrupt_after", o.AnyOf(o.String(), o.List(o.String()))),
		o.Opt("after_seconds", o.Number()), o.Opt("webhook", o.String()), o.Opt("project_id", o.String()))
}

func checkpointBody() o.Schema {
	return o.Body(o.Opt("thread_id", o.String()), o.Opt("checkpoint_ns", o.String()),
		o.Opt("checkpoint_id", o.String()))
}
