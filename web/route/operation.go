package route

import (
	"fawn/web/openapi"
	"fawn/web/principal"
)

// Place fills in the methods and paths of operations from a table of routes.
func Place(ops []openapi.Op, table []Route, native bool) []openapi.Op {
	at := map[string]int{}
	for i, o := range ops {
		at[o.ID] = i
	}
	for _, r := range table {
		if i, ok := at[r.op]; ok {
			ops[i].Method, ops[i].Path, ops[i].Native, ops[i].Public = r.method, r.path, native, r.who == principal.Anyone
		}
	}
	return ops
}

// PathParams describes the parameters in paths.
func PathParams() map[string]openapi.Param {
	return map[string]openapi.Param{
		"thread_id":       {Name: "thread_id", Schema: openapi.ID(), Text: "Thread ID"},
		"run_id":          {Name: "run_id", Schema: openapi.String(), Text: "Run ID"},
		"checkpoint_id":   {Name: "checkpoint_id", Schema: openapi.String(), Text: "ID of a checkpoint of the thread"},
		"assistant_id":    {Name: "assistant_id", Schema: openapi.String(), Text: "Assistant ID, or lead_agent"},
		"call_id":         {Name: "call_id", Schema: openapi.String(), Text: "ID of the call, as the event names it"},
		"question_id":     {Name: "question_id", Schema: openapi.String(), Text: "Question ID"},
		"feedback_id":     {Name: "feedback_id", Schema: openapi.String(), Text: "Feedback ID"},
		"span_id":         {Name: "span_id", Schema: openapi.Int(0), Text: "ID of a call of a run"},
		"task_id":         {Name: "task_id", Schema: openapi.String(), Text: "ID of the call that sent a subagent"},
		"chat_id":         {Name: "chat_id", Schema: openapi.String(), Text: "ID of a chat in its app"},
		"import_id":       {Name: "import_id", Schema: openapi.String(), Text: "ID of an import"},
		"knowledge_id":    {Name: "knowledge_id", Schema: openapi.String(), Text: "ID of a collection"},
		"source_id":       {Name: "source_id", Schema: openapi.String(), Text: "ID of a source of a collection"},
		"document_id":     {Name: "document_id", Schema: openapi.Int(1), Text: "ID of a document of a collection"},
		"member_id":       {Name: "member_id", Schema: openapi.String(), Text: "ID of a user, or group: and the ID of a group"},
		"project_id":      {Name: "project_id", Schema: openapi.String(), Text: "ID of a project"},
		"prompt_id":       {Name: "prompt_id", Schema: openapi.String(), Text: "ID of a prompt"},
		"cron_id":         {Name: "cron_id", Schema: openapi.String(), Text: "ID of a cron or scheduled task"},
		"namespace":       {Name: "namespace", Schema: openapi.String(), Text: "Namespace of a subgraph"},
		"name":            {Name: "name", Schema: openapi.String(), Text: "Name"},
		"agent_name":      {Name: "agent_name", Schema: openapi.String(), Text: "Name of a custom agent"},
		"fact_id":         {Name: "fact_id", Schema: openapi.String(), Text: "ID of a fact"},
		"group_id":        {Name: "group_id", Schema: openapi.String(), Text: "ID of a group"},
		"announcement_id": {Name: "announcement_id", Schema: openapi.String(), Text: "ID of an announcement"},
		"comparison_id":   {Name: "comparison_id", Schema: openapi.String(), Text: "ID of a comparison"},
		"session_id":      {Name: "session_id", Schema: openapi.String(), Text: "ID of a session"},
		"token_id":        {Name: "token_id", Schema: openapi.String(), Text: "ID of a token"},
		"user_id":         {Name: "user_id", Schema: openapi.String(), Text: "ID of a user"},
		"path":            {Name: "path", Schema: openapi.String(), Text: "Virtual path of a file; may contain slashes"},
	}
}

// Done is the answer of a route that has nothing else to say.
type Done struct {
	Success bool `json:"success"`
}

// DoneMessage is Done with a sentence for people.
type DoneMessage struct {
	Message string `json:"message"`
	Success bool   `json:"success"`
}

// Answered returns a successful response, the route's only one.
func Answered(text string, s openapi.Schema) []openapi.Answer {
	return []openapi.Answer{{Status: 200, Text: text, Schema: s}}
}

// Streamed returns a response of server-sent events.
func Streamed() []openapi.Answer {
	return []openapi.Answer{{Status: 200, Text: "Server-sent events, from metadata to end",
		Type: "text/event-stream", Schema: openapi.Ref("Event")}}
}

// Filed returns a response with a file of a media type. Client generators know octets, whatever their content. A file of
// any type may be JSON, which readers decode before checking its schema.
func Filed(status int, text, kind string) []openapi.Answer {
	file := openapi.File()
	if kind == "*/*" {
		file = openapi.Any()
	}
	return []openapi.Answer{{Status: status, Text: text, Type: kind, Schema: file},
		{Status: status, Text: text, Type: "application/octet-stream", Schema: openapi.File()}}
}

// LastEvent returns the header with the event after which a stream resumes.
func LastEvent() []openapi.Param {
	return []openapi.Param{{Name: "Last-Event-ID", Schema: openapi.String(),
		Text: "ID of the last event received; -1 starts at the earliest"}}
}

// Emptied returns a response without a body.
func Emptied(text string) []openapi.Answer { return []openapi.Answer{{Status: 204, Text: text}} }
