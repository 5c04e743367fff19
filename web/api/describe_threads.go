package api

import (
	"fawn/web/route"

	o "fawn/web/openapi"
)

func describeThreads() []o.Op {
	const tag = "Threads"
	return []o.Op{
		{ID: "createThread", Tag: tag, Text: "Create a thread",
			More: "Under /api, an existing thread is returned unless if_exists is raise. A temporary one is in no list and is deleted after an hour without a run; metadata.fawn_temporary false keeps it.",
			Body: o.Body(o.Opt("thread_id", o.ID()), o.Opt("metadata", o.Map(nil)), o.Opt("project_id", o.String()),
				o.Opt("if_exists", o.Enum("raise", "do_nothing")),
				o.Opt("ttl", o.AnyOf(o.Number(), o.Map(nil))), o.Opt("temporary", o.Bool()),
				o.Opt("supersteps", o.List(o.Body(o.Opt("updates",
					o.List(o.Body(o.Opt("values", o.Any()), o.Opt("as_node", o.String())))))))),
			Out: route.Answered("The thread", o.Ref("Thread")), Fail: []int{409}},
		{ID: "listThreads", Tag: tag, Text: "List threads, filtered by query parameters",
			Query: []o.Param{{Name: "limit", Schema: o.Range(1, route.MaxPage)}, {Name: "offset", Schema: o.Int(0)},
				{Name: "metadata", Schema: o.String(), Text: "JSON object that the metadata must contain"},
				{Name: "project_id", Schema: o.String(), Text: "Only threads of this project"},
				{Name: "status", Schema: o.Enum("idle", "busy", "interrupted", "error")}, threadSort(), sortOrder()},
			Out: route.Answered("A page of threads", o.List(o.Ref("ThreadPart"))), Fail: []int{413}},
		{ID: "searchThreads", Tag: tag, Text: "Find threads",
			Body: threadFilter(o.Opt("limit", o.Range(1, route.MaxPage)), o.Opt("offset", o.Int(0)),
				o.Opt("sort_by", threadSort().Schema),
				o.Opt("sort_order", sortOrder().Schema), o.Opt("select", o.List(o.String())),
				o.Opt("extract", o.Map(o.String()))),
			Out: route.Answered("A page of threads", o.List(o.Ref("ThreadPart")))},
		{ID: "pruneThreads", Tag: tag, Text: "Delete threads, or only their history", Need: true,
			Body: o.Body(o.Req("thread_ids", o.List(o.String())), o.Opt("strategy", o.Enum("delete", "keep_latest"))),
			Out:  route.Answered("The count", o.Object(o.Req("pruned_count", o.Int(0))))},
		{ID: "streamThread", Tag: tag, Text: "Follow all runs of a thread",
			More:  "Each run ends with run_done. Last-Event-ID is the id of the last event received; -1 starts at the earliest.",
			Query: []o.Param{{Name: "stream_mode", Schema: o.Enum("run_modes", "lifecycle", "state_update")}},
			Out:   route.Streamed(), Endless: true},
		{ID: "threadStorage", Tag: tag, Text: "Bytes that the checkpoints of a thread take",
			Out: route.Answered("By kind and by field of the state", threadStorage())},
		{ID: "countThreads", Tag: tag, Text: "Count threads",
			Body: threadFilter(), Out: route.Answered("The count", o.Int(0))},
		{ID: "getThread", Tag: tag, Text: "Get a thread",
			Query: []o.Param{{Name: "include", Schema: o.String(), Text: "ttl adds the time to live"}},
			Out:   route.Answered("The thread", o.Ref("Thread"))},
		{ID: "patchThread", Tag: tag, Text: "Merge metadata into a thread",
			Body: o.Body(o.Opt("metadata", o.Map(nil)), o.Opt("ttl", o.AnyOf(o.Number(), o.Map(nil)))),
			Out: append(route.Answered("The thread", o.Ref("Thread")),
				route.Emptied("Done; sent with Prefer: return=minimal")...)},
		{ID: "deleteThread", Lazy: true, Tag: tag, Text: "Delete a thread, its runs and its files",
			Out: append(route.Emptied("Deleted"),
				o.Answer{Status: 200, Text: "Deleted, under /api", Schema: success()}),
			Fail: []int{409}},
		{ID: "copyThread", Tag: tag, Text: "Copy a thread with its history and files",
			Out: route.Answered("The copy", o.Ref("Thread"))},
		{ID: "compactThread", Tag: tag, Text: "Replace older messages with a summary for the model",
			Body: o.Body(o.Opt("force", o.Bool()),
				o.Opt("keep", o.Object(o.Req("type", o.Enum("fraction", "tokens", "messages")),
					o.Req("value", o.Any()))),
				o.Opt("model_name", o.String()), o.Opt("agent_name", o.String())),
			Out: route.Answered("The result of the compaction",
				o.Object(o.Req("thread_id", o.String()), o.Req("compacted", o.Bool()), o.Req("reason", o.String()),
					o.Req("removed_message_count", o.Int(0)), o.Req("preserved_message_count", o.Int(0)),
					o.Req("summary_updated", o.Bool()),
					o.Req("checkpoint_id", o.String()), o.Req("total_tokens", o.Int(0)))), Fail: []int{409}},
	}
}

// threadStorage is what the checkpoints of a thread take.
func threadStorage() o.Schema {
	rows := o.Object(o.Req("count", o.Int(0)), o.Req("bytes", o.Int(0)))
	channel := o.Object(o.Req("versions", o.Int(0)), o.Req("bytes", o.Int(0)))
	return o.Object(o.Req("thread_id", o.String()), o.Req("total_bytes", o.Int(0)), o.Req("checkpoints", rows),
		o.Req("channel_values", o.Object(o.Req("count", o.Int(0)), o.Req("bytes", o.Int(0)),
			o.Req("by_channel", o.Map(channel)))),
		o.Req("blobs", rows), o.Req("pending_writes", rows))
}

// success is how DeerFlow's gateway tells that something was done.
func success() o.Schema {
	return o.Object(o.Req("success", o.Bool()), o.Req("message", o.String()))
}

// threadFilter is a body that chooses threads.
func threadFilter(more ...o.Prop) o.Schema {
	return o.Body(append([]o.Prop{o.Opt("metadata", o.Map(nil)), o.Opt("values", o.Map(nil)),
		o.Opt("ids", o.List(o.String())), o.Opt("project_id", o.String()),
		o.Opt("status", o.Enum("idle", "busy", "interrupted", "error"))}, more...)...)
}

func threadSort() o.Param {
	return o.Param{Name: "sort_by",
		Schema: o.Enum("thread_id", "status", "created_at", "updated_at", "state_updated_at")}
}

func sortOrder() o.Param { return o.Param{Name: "sort_order", Schema: o.Enum("asc", "desc")} }

func describeState() []o.Op {
	const tag = "State and history"
	history := []o.Prop{o.Opt("limit", o.Range(1, route.MaxPage)), o.Opt("before", o.AnyOf(o.String(), o.Map(nil))),
		o.Opt("metadata", o.Map(nil)), o.Opt("checkpoint", checkpointBody())}
	return []o.Op{
		{ID: "getState", Tag: tag, Text: "Get the state of a thread",
			Query: []o.Param{stateInclude()}, Out: route.Answered("The state", o.Ref("ThreadState"))},
		{ID: "updateState", Tag: tag, Text: "Write state through the reducers, or fork a checkpoint",
			Body: o.Body(o.Opt("values", o.Any()), o.Opt("as_node", o.String()), o.Opt("checkpoint", checkpointBody()),
				o.Opt("checkpoint_id", o.String())),
			Out: route.Answered("The new state and its checkpoint", o.Ref("ThreadState")), Fail: []int{409}},
		{ID: "patchState", Tag: tag, Text: "Merge metadata into the state",
			Body: o.Body(o.Opt("metadata", o.Map(nil))), Out: route.Emptied("Done"), Fail: []int{409}},
		{ID: "getStateAt", Tag: tag, Text: "Get the state at a checkpoint",
			Query: []o.Param{stateInclude()}, Out: route.Answered("The state", o.Ref("ThreadState"))},
		{ID: "getStateAtCheckpoint", Tag: tag, Text: "Get the state at a checkpoint given in the body",
			Body: o.Body(o.Opt("checkpoint", checkpointBody()), o.Opt("checkpoint_id", o.String())),
			Out:  route.Answered("The state", o.Ref("ThreadState"))},
		{ID: "listHistory", Tag: tag, Text: "List checkpoints, newest first, filtered by query parameters",
			Query: []o.Param{{Name: "limit", Schema: o.Range(1, route.MaxPage)}, {Name: "before", Schema: o.String()},
				{Name: "metadata", Schema: o.String()}},
			Out: route.Answered("The states", o.List(o.Ref("ThreadState")))},
		{ID: "searchHistory", Tag: tag, Text: "List checkpoints, newest first",
			Body: o.Body(history...), Out: route.Answered("The states", o.List(o.Ref("ThreadState")))},
	}
}

func stateInclude() o.Param {
	return o.Param{Name: "include", Schema: o.String(), Text: "images adds the images shown to the model"}
}
