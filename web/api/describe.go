package api

import (
	"encoding/json"
	"slices"

	"fawn/agent"
	"fawn/agent/tracestore"
	"fawn/uploads"
	"fawn/web/api/wire"
	"fawn/web/httpx"
	o "fawn/web/openapi"
	"fawn/web/route"
)

// Operations describes every route of the table of routes, in the order the documentation shows
// them. A test fails for a route that is missing here, and for a line without a route.
func Operations() []o.Op {
	return route.Place(slices.Concat(
		describeThreads(),
		describeState(),
		describeRuns(),
		describeV2(),
		describeAssistants(),
		describeAgents(),
		describeStore(),
		describeCrons(),
		describeFiles(),
		describeServer(),
	), mount{API: new(API)}.routes(), false)
}

// describeServer returns the routes about the server itself.
func describeServer() []o.Op {
	const tag = "Server"
	return []o.Op{
		{ID: "checkLiveness", Tag: tag, Text: "Check that the server is running",
			Out: route.Answered("The server is running", o.Of[okJSON]())},
		{ID: "getInfo", Tag: tag, Text: "Version and features",
			Out: route.Answered("The version", o.Of[infoJSON]())},
	}
}

// Schemas returns the schemas [Operations] refers to by name.
func Schemas() map[string]o.Schema {
	texts, object := o.List(o.String()), o.Map(nil)
	all := map[string]o.Schema{
		"Problem": o.Object(o.Req("detail", o.AnyOf(o.String(), o.Object(o.Req("code", o.String()), o.Req("message", o.String())),
			o.List(o.Of[httpx.Problem]())))),
		"AgentCard": o.Of[cardJSON](),
		"Message":   describedMessage(),
		"Values": o.Open(o.Of[agent.State](o.Is("messages", o.List(o.Ref("Message"))), o.Is("title", o.Nullable(o.String())),
			o.Is("todos", o.List(object)), o.Is("sandbox", o.Nullable(object)), o.Is("thread_data", o.Nullable(object)),
			o.Is("uploaded_files", o.List(object)), o.Is("viewed_images", o.Map(object)), o.Is("goal", o.Nullable(object)),
			o.Is("promoted", o.Nullable(object)), o.Is("delegations", o.List(object)), o.Is("skill_context", o.List(object)),
			o.Is("background_tasks", o.List(object)))),
		"Event":      o.Object(o.Req("event", o.String()), o.Req("data", o.String()), o.Opt("id", o.String())),
		"Interrupt":  o.Of[wire.Interrupt](),
		"Checkpoint": o.Of[wire.Pointer](o.Is("checkpoint_map", o.Nullable(object)), o.Is("ts", o.Time())),
		"Task":       o.Of[wire.Task](o.Is("interrupts", o.List(o.Ref("Interrupt")))),
		"ThreadState": o.Of[shownState](o.Is("values", o.Ref("Values")), o.Is("tasks", o.List(o.Ref("Task"))), o.Is("metadata", object),
			o.Is("checkpoint", o.Nullable(o.Ref("Checkpoint"))), o.Is("parent_checkpoint", o.Nullable(o.Ref("Checkpoint"))),
			o.Is("interrupts", o.List(o.Ref("Interrupt")))),
		"Thread":        describedThread(),
		"ThreadPart":    o.Partly(describedThread()),
		"Run":           describedRun(),
		"RunPart":       o.Partly(describedRun()),
		"RunCreate":     describedRunBody(),
		"Assistant":     describedAssistant(),
		"AssistantPart": o.Partly(describedAssistant()),
		"Item":          o.Of[itemJSON](o.Is("namespace", texts), o.Is("value", object)),
		"Cron":          describedCron(),
		"CronPart":      o.Partly(describedCron()),
		"File":          o.Of[uploads.File](),
		"Trace":         o.Of[traceJSON](o.Is("spans", o.List(describedSpan()))),
		"TraceCall":     describedSpan(o.Req("prompt", o.Nullable(object))),
	}
	return all
}

// describedMessage returns the schema of a message.
func describedMessage() o.Schema {
	object := o.Map(nil)
	s := o.Open(o.Of[agent.WireMessage](o.Is("type", o.Enum("human", "ai", "tool", "system", "remove")),
		o.Is("content", o.AnyOf(o.String(), o.List(o.AnyOf(o.String(), object)))), o.Is("additional_kwargs", object),
		o.Is("response_metadata", object), o.Is("invalid_tool_calls", o.List(object)), o.Is("usage_metadata", object),
		o.Is("tool_calls", o.List(o.Open(o.Object(o.Req("name", o.String()), o.Req("args", object),
			o.Req("id", o.Nullable(o.String())), o.Opt("type", o.Enum("tool_call"))))))))
	s["required"] = []string{"id", "type"}
	return s
}

// shownState is a state with its values.
type shownState struct {
	Values json.RawMessage `json:"values"`
	stateJSON
}

// describedSpan returns the schema of a run's call, without the stored form of prompts.
func describedSpan(more ...o.Prop) o.Schema {
	s := o.Of[tracestore.Span](o.And([]o.Prop{o.Is("kind", o.Enum(tracestore.KindRun, tracestore.KindModel, tracestore.KindTool,
		tracestore.KindSide)), o.Is("usage", o.Map(nil))}, o.Without("prompt"))...)
	return o.Object(append(s.Props(), more...)...)
}

func describedThread() o.Schema {
	object := o.Map(nil)
	return o.Of[threadJSON](o.Is("thread_id", o.ID()), o.Is("metadata", object), o.Is("status", threadStatus()), o.Is("config", object),
		o.Is("values", o.Nullable(object)), o.Is("interrupts", o.Map(o.List(o.Ref("Interrupt")))), o.Is("error", o.Nullable(object)),
		o.Is("extracted", object))
}

func threadStatus() o.Schema { return o.Enum("idle", "busy", "interrupted", "error") }

func describedRun() o.Schema {
	object := o.Map(nil)
	return o.Of[Run](o.Is("thread_id", o.ID()), o.Is("status", runStatus()), o.Is("metadata", object), o.Is("kwargs", object))
}

func runStatus() o.Schema {
	return o.Enum("pending", "running", "success", "error", "timeout", "interrupted")
}

func describedAssistant() o.Schema {
	object := o.Map(nil)
	return o.Of[assistantJSON](o.Is("version", o.Int(1)), o.Is("config", object), o.Is("context", object), o.Is("metadata", object))
}

// describedRunBody returns the schema of the body that starts a run.
func describedRunBody() o.Schema {
	object, nodes := o.Map(nil), o.AnyOf(o.String(), o.List(o.String()))
	mode := o.Enum("values", "updates", "messages", "messages-tuple", "custom", "tasks", "checkpoints", "debug",
		"events", "tools")
	return o.Reads[runBody](o.And([]o.Prop{o.Is("command", object), o.Is("metadata", object), o.Is("config", object),
		o.Is("context", object), o.Is("checkpoint", checkpointBody()), o.Is("stream_mode", o.AnyOf(mode, o.List(mode))),
		o.Is("multitask_strategy", o.Enum("reject", "enqueue", "interrupt", "rollback")),
		o.Is("on_disconnect", o.Enum("continue", "cancel")), o.Is("if_not_exists", o.Enum("create", "reject")),
		o.Is("durability", o.Enum("sync", "async", "exit")), o.Is("interrupt_before", nodes), o.Is("interrupt_after", nodes)},
		o.Without("hold", "header_model", "origin", "traceparent", "secret_names"))...)
}

func checkpointBody() o.Schema {
	return o.Body(o.Opt("thread_id", o.String()), o.Opt("checkpoint_ns", o.String()),
		o.Opt("checkpoint_id", o.String()))
}
