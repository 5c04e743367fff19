package api

import (
	"slices"

	"fawn/web/openapi"
)

// Operations describes every route of the table of routes, in the order the documentation shows
// them. A test fails for a route that is missing here, and for a line without a route.
func Operations() []openapi.Op {
	return placed(slices.Concat(
		describeThreads(),
		describeState(),
		describeRuns(),
		describeV2(),
		describeAssistants(),
		describeAgents(),
		describeStore(),
		describeCrons(),
		describeTasks(),
		describeNative(),
		describeAside(),
		describeConsole(),
		describeFiles(),
		describeSandbox(),
		describeModels(),
		describeProfiles(),
		describeSkills(),
		describeMemory(),
		describeExport(),
		describeMCP(),
		describeServer(),
		describeAuth(),
		describeUnavailable(),
	))
}

// placed gives operations the methods and paths that the table of routes has for them.
func placed(ops []openapi.Op) []openapi.Op {
	var m mount
	at := map[string]int{}
	for i, o := range ops {
		at[o.ID] = i
	}
	for native, table := range map[bool][]route{false: m.routes(), true: slices.Concat(m.gateway(), m.accounts(), m.unavailable())} {
		for _, r := range table {
			if i, ok := at[r.op]; ok {
				ops[i].Method, ops[i].Path, ops[i].Native = r.method, r.path, native
			}
		}
	}
	return ops
}

// PathParams describes what the parameters of paths stand for.
func PathParams() map[string]openapi.Param {
	return map[string]openapi.Param{
		"thread_id":     {Name: "thread_id", Schema: openapi.ID(), Text: "Thread ID"},
		"run_id":        {Name: "run_id", Schema: openapi.String(), Text: "Run ID"},
		"checkpoint_id": {Name: "checkpoint_id", Schema: openapi.String(), Text: "ID of a checkpoint of the thread"},
		"assistant_id":  {Name: "assistant_id", Schema: openapi.String(), Text: "Assistant ID, or lead_agent"},
		"question_id":   {Name: "question_id", Schema: openapi.String(), Text: "Question ID"},
		"feedback_id":   {Name: "feedback_id", Schema: openapi.String(), Text: "Feedback ID"},
		"span_id":       {Name: "span_id", Schema: openapi.Int(0), Text: "ID of a call of a run"},
		"task_id":       {Name: "task_id", Schema: openapi.String(), Text: "ID of the call that sent a subagent"},
		"cron_id":       {Name: "cron_id", Schema: openapi.String(), Text: "ID of a cron or scheduled task"},
		"namespace":     {Name: "namespace", Schema: openapi.String(), Text: "Namespace of a subgraph"},
		"name":          {Name: "name", Schema: openapi.String(), Text: "Name"},
		"agent_name":    {Name: "agent_name", Schema: openapi.String(), Text: "Name of a custom agent"},
		"fact_id":       {Name: "fact_id", Schema: openapi.String(), Text: "ID of a fact"},
		"session_id":    {Name: "session_id", Schema: openapi.String(), Text: "ID of a session"},
		"token_id":      {Name: "token_id", Schema: openapi.String(), Text: "ID of a token"},
		"user_id":       {Name: "user_id", Schema: openapi.String(), Text: "ID of a user"},
		"path":          {Name: "path", Schema: openapi.String(), Text: "Virtual path of a file; may contain slashes"},
	}
}

// answered is a route's only success.
func answered(text string, s openapi.Schema) []openapi.Answer {
	return []openapi.Answer{{Status: 200, Text: text, Schema: s}}
}

// streamed is an answer of server-sent events.
func streamed() []openapi.Answer {
	return []openapi.Answer{{Status: 200, Text: "Server-sent events, from metadata to end",
		Type: "text/event-stream", Schema: openapi.Ref("Event")}}
}

// emptied is an answer without a body.
func emptied(text string) []openapi.Answer { return []openapi.Answer{{Status: 204, Text: text}} }

// describeServer are the routes about the server itself.
func describeServer() []openapi.Op {
	const tag = "Server"
	return []openapi.Op{
		{ID: "getOK", Tag: tag, Text: "Check that the server is running",
			Out: answered("The server is running", openapi.Object(openapi.Req("ok", openapi.Bool())))},
		{ID: "getInfo", Tag: tag, Text: "Version and features",
			Out: answered("The version", openapi.Object(openapi.Req("version", openapi.String()),
				openapi.Req("flags", openapi.Map(openapi.Bool()))))},
		{ID: "getFeatures", Tag: tag, Text: "Optional features of the gateway",
			Out: answered("The features", openapi.Map(openapi.Object(openapi.Req("enabled", openapi.Bool()))))},
	}
}
