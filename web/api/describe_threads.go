package api

import (
	"fawn/web/route"

	o "fawn/web/openapi"
)

func describeThreads() []o.Op {
	const tag = "Threads"
	return []o.Op{
		{ID: "createThread", Example: `{"metadata": {"topic": "deer"}, "if_exists": "do_nothing"}`, Tag: tag, Text: "Create a thread",
			More: "Under /api, an existing thread is returned unless if_exists is raise. A temporary one is in no list and is deleted after an hour without a run; metadata.fawn_temporary false keeps it.",
			Body: o.Reads[threadBody](o.Is("thread_id", o.ID()), o.Is("metadata", o.Map(nil)),
				o.Is("if_exists", o.Enum("raise", "do_nothing")), o.Is("ttl", o.AnyOf(o.Number(), o.Map(nil)))),
			Out: route.Answered("The thread", o.Ref("Thread")), Fail: []int{404, 409}},
		{ID: "listThreads", Tag: tag, Text: "List threads, filtered by query parameters",
			Query: []o.Param{{Name: "limit", Schema: o.Range(1, route.MaxPage)}, {Name: "offset", Schema: o.Int(0)},
				{Name: "metadata", Schema: o.String(), Text: "JSON object that the metadata must contain"},
				{Name: "project_id", Schema: o.String(), Text: "Only threads of this project"},
				{Name: "status", Schema: threadStatus()}, threadSort(), sortOrder()},
			Out: route.Answered("A page of threads", o.List(o.Ref("ThreadPart"))), Fail: []int{413}},
		{ID: "searchThreads", Example: `{"metadata": {"topic": "deer"}, "status": "idle", "limit": 10, "sort_by": "updated_at", "sort_order": "desc"}`, Tag: tag, Text: "Find threads",
			Body: o.Reads[threadQuery](append(threadFilter(), o.Is("limit", o.Range(1, route.MaxPage)), o.Is("offset", o.Int(0)),
				o.Is("sort_by", threadSort().Schema), o.Is("sort_order", sortOrder().Schema))...),
			Out: route.Answered("A page of threads", o.List(o.Ref("ThreadPart")))},
		{ID: "pruneThreads", Tag: tag, Text: "Delete threads, or only their history", Need: true,
			Body: o.Reads[pruneBody](o.Req("thread_ids", o.List(o.String())), o.Is("strategy", o.Enum("delete", "keep_latest"))),
			Out:  route.Answered("The count", o.Of[prunedJSON](o.Is("pruned_count", o.Int(0))))},
		{ID: "streamThread", Header: route.LastEvent(), Tag: tag, Text: "Follow all runs of a thread",
			More:  "Each run ends with run_done.",
			Query: []o.Param{{Name: "stream_mode", Schema: o.Enum("run_modes", "lifecycle", "state_update")}},
			Out:   route.Streamed(), Endless: true},
		{ID: "getThreadStorage", Tag: tag, Text: "Bytes that the checkpoints of a thread take",
			Out: route.Answered("By kind and by field of the state", threadStorage())},
		{ID: "countThreads", Tag: tag, Text: "Count threads",
			Body: o.Reads[threadQuery](append(threadFilter(), o.Without("limit", "offset", "sort_by", "sort_order", "select", "extract")...)...),
			Out:  route.Answered("The count", o.Int(0))},
		{ID: "getThread", Tag: tag, Text: "Get a thread",
			Query: []o.Param{{Name: "include", Schema: o.String(), Text: "ttl adds the time to live"}},
			Out:   route.Answered("The thread", o.Ref("Thread"))},
		{ID: "patchThread", Example: `{"metadata": {"topic": "deer"}}`, Tag: tag, Text: "Merge metadata into a thread",
			Body: o.Reads[threadChange](o.Is("metadata", o.Map(nil)), o.Is("ttl", o.AnyOf(o.Number(), o.Map(nil)))),
			Out: append(route.Answered("The thread", o.Ref("Thread")),
				route.Emptied("Done; sent with Prefer: return=minimal")...)},
		{ID: "deleteThread", Lazy: true, Tag: tag, Text: "Delete a thread, its runs and its files",
			Out: append(route.Emptied("Deleted"),
				o.Answer{Status: 200, Text: "Deleted, under /api", Schema: success()}),
			Fail: []int{409}},
		{ID: "copyThread", Tag: tag, Text: "Copy a thread with its history and files",
			Out: route.Answered("The copy", o.Ref("Thread"))},
		{ID: "compactThread", Tag: tag, Text: "Replace older messages with a summary for the model",
			Body: o.Reads[compactBody](o.Is("keep", o.Object(o.Req("type", o.Enum("fraction", "tokens", "messages")),
				o.Req("value", o.Number())))),
			Out: route.Answered("The result of the compaction",
				o.Of[compactedJSON](o.Is("reason", o.Enum("compacted", "nothing_to_compact")),
					o.Is("removed_message_count", o.Int(0)), o.Is("preserved_message_count", o.Int(0)), o.Is("total_tokens", o.Int(0)))), Fail: []int{409}},
	}
}

// threadStorage returns the schema of the size of a thread's checkpoints.
func threadStorage() o.Schema {
	return o.Of[storageJSON](o.Is("total_bytes", o.Int(0)))
}

// success returns the schema with which DeerFlow's gateway reports success.
func success() o.Schema {
	return o.Of[route.DoneMessage]()
}

// threadFilter describes the members that select threads.
func threadFilter() []o.Prop {
	return []o.Prop{o.Is("metadata", o.Map(nil)), o.Is("values", o.Map(nil)), o.Is("status", threadStatus())}
}

func threadSort() o.Param {
	return o.Param{Name: "sort_by",
		Schema: o.Enum("thread_id", "status", "created_at", "updated_at", "state_updated_at")}
}

func sortOrder() o.Param { return o.Param{Name: "sort_order", Schema: o.Enum("asc", "desc")} }

func describeState() []o.Op {
	const tag = "State and history"
	return []o.Op{
		{ID: "getState", Tag: tag, Text: "Get the state of a thread",
			Query: []o.Param{stateInclude()}, Out: route.Answered("The state", o.Ref("ThreadState"))},
		{ID: "updateState", Example: `{"values": {"title": "Deer in winter"}}`, Tag: tag, Text: "Write state through the reducers, or fork a checkpoint",
			Body: o.Reads[stateBody](o.Is("checkpoint", checkpointBody())),
			Out:  route.Answered("The new state and its checkpoint", o.Ref("ThreadState")), Fail: []int{409}},
		{ID: "patchState", Tag: tag, Text: "Merge metadata into the state",
			Body: o.Reads[stateChange](o.Is("metadata", o.Map(nil))), Out: route.Emptied("Done"), Fail: []int{409}},
		{ID: "getStateAt", Tag: tag, Text: "Get the state at a checkpoint",
			Query: []o.Param{stateInclude()}, Out: route.Answered("The state", o.Ref("ThreadState"))},
		{ID: "getStateAtCheckpoint", Tag: tag, Text: "Get the state at a checkpoint given in the body",
			Body: o.Reads[checkpointChoice](o.Is("checkpoint", checkpointBody())),
			Out:  route.Answered("The state", o.Ref("ThreadState"))},
		{ID: "listHistory", Tag: tag, Text: "List checkpoints, newest first, filtered by query parameters",
			Query: []o.Param{{Name: "limit", Schema: o.Range(1, route.MaxPage)}, {Name: "before", Schema: o.String()},
				{Name: "metadata", Schema: o.String()}},
			Out: route.Answered("The states", o.List(o.Ref("ThreadState")))},
		{ID: "searchHistory", Example: `{"limit": 10}`, Tag: tag, Text: "List checkpoints, newest first",
			Body: o.Reads[historyQuery](o.Is("limit", o.Range(1, route.MaxPage)), o.Is("before", o.AnyOf(o.String(), o.Map(nil))),
				o.Is("metadata", o.Map(nil)), o.Is("checkpoint", checkpointBody())),
			Out: route.Answered("The states", o.List(o.Ref("ThreadState")))},
	}
}

func stateInclude() o.Param {
	return o.Param{Name: "include", Schema: o.String(), Text: "images adds the images shown to the model"}
}
