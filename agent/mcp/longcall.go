package mcp

import (
	"context"
	"encoding/json"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"fawn/agent/mcp/tasks"
)

// The library doesn't support tasks. Task data of servers is moved to fields that it keeps (see healer), and ours is
// put into custom request types.
const (
	taskField   = "fawn/task"        // in _meta of results: the created task
	longField   = "fawn/taskSupport" // in _meta of tools: whether calls may become tasks
	longFeature = "fawn/tasks"       // in the experimental capabilities of servers: tool calls may become tasks
)

// Methods of tasks.
const (
	getTask    = "tasks/get"
	taskResult = "tasks/result"
	cancelTask = "tasks/cancel"
)

// keepFor is the requested lifetime of tasks and their results.
const keepFor = 24 * time.Hour

// longCall are the parameters of a call that may become a task.
type longCall struct {
	sdk.ParamsBase
	Name      string `json:"name"`
	Arguments any    `json:"arguments"`
	Task      struct {
		TTL int64 `json:"ttl"` // milliseconds
	} `json:"task"`
}

// ofTask are the parameters of requests about a task.
type ofTask struct {
	sdk.ParamsBase
	ID string `json:"taskId"`
}

// taskState is the state of a task as reported by a server.
type taskState struct {
	sdk.ResultBase
	ID      string  `json:"taskId"`
	Status  string  `json:"status"`
	Message string  `json:"statusMessage"`
	Every   float64 `json:"pollInterval"` // milliseconds
}

// every returns the server's polling interval, 0 if unspecified.
func (s *taskState) every() time.Duration {
	if s.Every <= 0 || s.Every > 1e9 {
		return 0
	}
	return time.Duration(s.Every * float64(time.Millisecond))
}

type longKey struct{}

// mayBeLong allows a call to become a task.
func mayBeLong(ctx context.Context) context.Context { return context.WithValue(ctx, longKey{}, true) }

// knowTasks adds the task methods to a client.
func knowTasks(c *sdk.Client) error {
	c.AddSendingMiddleware(func(next sdk.MethodHandler) sdk.MethodHandler {
		return func(ctx context.Context, method string, req sdk.Request) (sdk.Result, error) {
			p, ok := req.GetParams().(*sdk.CallToolParams)
			e, own := req.GetSession().(*sdk.ClientSession)
			if ok && own && ctx.Value(longKey{}) != nil {
				long := &longCall{Name: p.Name, Arguments: p.Arguments}
				long.Meta, long.Task.TTL = p.Meta, keepFor.Milliseconds()
				req = &sdk.ClientRequest[*longCall]{Session: e, Params: long}
			}
			return next(ctx, method, req)
		}
	})
	for _, method := range []string{getTask, cancelTask} {
		if err := sdk.AddSendingCustomMethod[*ofTask, *taskState](c, method); err != nil {
			return err
		}
	}
	return sdk.AddSendingCustomMethod[*ofTask, *sdk.CallToolResult](c, taskResult)
}

// made returns the task created for a call, nil if the call was answered.
func made(r *sdk.CallToolResult) *taskState {
	raw, ok := r.Meta[taskField]
	if !ok {
		return nil
	}
	data, err := json.Marshal(raw)
	var s taskState
	if err != nil || json.Unmarshal(data, &s) != nil || s.ID == "" || len(s.ID) > 1024 {
		return nil
	}
	return &s
}

// long reports whether calls of a tool may become tasks.
func (e *session) long(t *sdk.Tool) bool {
	about := e.client.InitializeResult()
	if about == nil || about.Capabilities == nil || about.Capabilities.Experimental[longFeature] == nil {
		return false
	}
	s, _ := t.Meta[longField].(string)
	return s == "optional" || s == "required"
}

// moveTask keeps the task in a result where the library leaves it.
func (h *healer) moveTask(r fields) {
	task := object(r["task"])
	if _, ok := str(task["taskId"]); !ok {
		return
	}
	inner := &healer{}
	inner.texts(task, "status", "statusMessage")
	inner.numbers(task, "pollInterval", "ttl")
	meta := object(r["_meta"])
	if meta == nil {
		meta = fields{}
	}
	inner.set(meta, taskField, task)
	h.set(r, "_meta", meta)
	h.drop(r, "task")
	if r["content"] == nil {
		h.set(r, "content", []any{})
	}
}

// moveSupport moves a tool's task support likewise.
func (h *healer) moveSupport(m fields) {
	if s, ok := str(object(m["execution"])["taskSupport"]); ok && s != "forbidden" {
		meta := object(m["_meta"])
		if meta == nil {
			meta = fields{}
		}
		h.set(meta, longField, s)
		h.set(m, "_meta", meta)
	}
}

// moveFeature moves a server's task capabilities likewise.
func (h *healer) moveFeature(caps fields) {
	if object(object(object(caps["tasks"])["requests"])["tools"])["call"] == nil {
		return
	}
	more := object(caps["experimental"])
	if more == nil {
		more = fields{}
	}
	h.set(more, longFeature, true)
	h.set(caps, "experimental", more)
}

// statusOf converts a status; unknown ones count as working.
func statusOf(s string) string {
	switch s {
	case tasks.Input, tasks.Completed, tasks.Failed, tasks.Cancelled:
		return s
	}
	return tasks.Working
}
