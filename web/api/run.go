package api

import (
	"bytes"
	"encoding/json"
	"errors"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/labstack/echo/v4"

	"fawn/agent"
	"fawn/agent/runs"
	"fawn/agent/runs/request"
	"fawn/store"
	"fawn/web/api/wire"
	"fawn/web/httpx"
	o "fawn/web/openapi"
	"fawn/web/route"
)

// Run is the JSON form of a run. The counters are those of DeerFlow's gateway.
type Run struct {
	ID               string                     `json:"run_id"`
	Thread           string                     `json:"thread_id"`
	Assistant        string                     `json:"assistant_id"`
	CreatedAt        string                     `json:"created_at"`
	UpdatedAt        string                     `json:"updated_at"`
	Status           string                     `json:"status"`
	Metadata         any                        `json:"metadata"`
	Kwargs           map[string]json.RawMessage `json:"kwargs"`
	Multitask        string                     `json:"multitask_strategy"`
	StopReason       *string                    `json:"stop_reason"`
	Error            *string                    `json:"error"`
	Total            int                        `json:"total_tokens"`
	Input            int                        `json:"total_input_tokens"`
	Output           int                        `json:"total_output_tokens"`
	Calls            int                        `json:"llm_call_count"`
	LeadTokens       int                        `json:"lead_agent_tokens"`
	SubagentTokens   int                        `json:"subagent_tokens"`
	MiddlewareTokens int                        `json:"middleware_tokens"`
	Messages         int                        `json:"message_count"`
}

// RunOf returns a stored run on the wire.
func RunOf(r store.Run) (Run, error) {
	out := Run{ID: r.ID, Thread: r.ThreadID, Assistant: r.AssistantID, CreatedAt: wire.Stamp(r.CreatedAt),
		UpdatedAt: wire.Stamp(r.UpdatedAt),
		Status:    r.Status, Metadata: route.Object(r.Metadata), Multitask: r.Multitask,
		Kwargs: map[string]json.RawMessage{}}
	out.Assistant = wire.Canonical(out.Assistant)
	if r.StopReason != "" {
		out.StopReason = &r.StopReason
	}
	if r.Error != "" {
		out.Error = &r.Error
	}
	if err := json.Unmarshal(route.Object(r.Kwargs), &out.Kwargs); err != nil {
		return out, err
	}
	for _, name := range []string{"config", "context"} {
		if err := redacted(out.Kwargs, name); err != nil {
			return out, err
		}
	}
	var u struct {
		Input    int `json:"total_input_tokens"`
		Output   int `json:"total_output_tokens"`
		Total    int `json:"total_tokens"`
		Calls    int `json:"llm_call_count"`
		Messages int `json:"message_count"`
		Subagent int `json:"subagent_tokens"`
	}
	if err := json.Unmarshal(route.Object(r.Usage), &u); err != nil {
		return out, err
	}
	h := r.Helpers
	out.Total, out.Input, out.Output, out.Calls, out.Messages = u.Total+h.Total, u.Input+h.Input, u.Output+h.Output,
		u.Calls+h.Calls, u.Messages
	out.SubagentTokens, out.MiddlewareTokens = u.Subagent, h.Total
	out.LeadTokens = u.Total - u.Subagent
	return out, nil
}

// redacted rewrites one member of kwargs without credentials.
func redacted(kwargs map[string]json.RawMessage, name string) error {
	raw, ok := kwargs[name]
	if !ok {
		return nil
	}
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	var v any
	if err := d.Decode(&v); err != nil {
		return err
	}
	redact(v)
	out, err := agent.Encode(v)
	kwargs[name] = out
	return err
}

// redact hides options of a client that look like credentials.
func redact(v any) {
	switch v := v.(type) {
	case map[string]any:
		for k, inner := range v {
			if secretKey(k) {
				v[k] = "***"
				continue
			}
			redact(inner)
		}
	case []any:
		for _, inner := range v {
			redact(inner)
		}
	}
}

func secretKey(k string) bool {
	k = strings.ToLower(strings.NewReplacer("-", "", "_", "").Replace(k))
	if k == "maxtokens" || k == "tokens" {
		return false
	}
	for _, s := range []string{"apikey", "secret", "password", "token", "authorization", "credential"} {
		if strings.Contains(k, s) {
			return true
		}
	}
	return false
}

// contentLocation sets the header with the address of a run; SDKs read both ids from it.
func (m mount) contentLocation(c echo.Context, r store.Run) {
	prefix := ""
	if m.native {
		prefix = "/api"
	}
	c.Response().Header().Set("Content-Location", prefix+"/threads/"+r.ThreadID+"/runs/"+r.ID)
}

// resumable sets the header with the address to resume an interrupted response: stream or join. Clients append it to their
// own base address, so it never has a prefix.
func resumable(c echo.Context, r store.Run, how string) {
	c.Response().Header().Set("Location", "/threads/"+r.ThreadID+"/runs/"+r.ID+"/"+how)
}

func (m mount) createRun(c echo.Context, thread string) error {
	req, err := m.bindRun(c, thread)
	if err != nil {
		return err
	}
	r, err := m.start(c, req)
	if err != nil {
		return err
	}
	m.contentLocation(c, r)
	out, err := RunOf(r)
	if err != nil {
		return err
	}
	return httpx.JSON(c, http.StatusOK, out)
}

// maxBatch limits the runs that one request may create.
const maxBatch = 100

func (m mount) createBatch(c echo.Context) error {
	body, err := httpx.Body(c.Request(), m.BodyLimit())
	if err != nil {
		return err
	}
	var items []json.RawMessage
	if json.Unmarshal(body, &items) != nil || len(items) > maxBatch {
		return httpx.Errorf(http.StatusUnprocessableEntity, "at most %d runs can be given at once", maxBatch)
	}
	reqs := make([]runRequest, len(items))
	for i, raw := range items {
		if reqs[i], err = m.decodeRun(c, "", raw); err != nil {
			return err
		}
		reqs[i].key = reqs[i].key.Part(strconv.Itoa(i))
	}
	out := make([]Run, len(reqs))
	for i, req := range reqs {
		r, err := m.start(c, req)
		if err != nil {
			return err
		}
		if out[i], err = RunOf(r); err != nil {
			return err
		}
	}
	return httpx.JSON(c, http.StatusOK, out)
}

func (m mount) run(c echo.Context, r store.Run) error {
	out, err := RunOf(r)
	if err != nil {
		return err
	}
	return httpx.JSON(c, http.StatusOK, out)
}

func (m mount) listRuns(c echo.Context, t store.Thread) error {
	q := c.QueryParams()
	part, status, err := route.RunsPage(q, historyPage, route.MaxPage)
	if err != nil {
		return err
	}
	list, err := m.DB.Runs(c.Request().Context(), t.ID, status, part.Limit, part.Offset)
	if err != nil {
		return err
	}
	names := httpx.List(q, "select")
	return array(c, len(list), func(i int) (any, error) {
		out, err := RunOf(list[i])
		if err != nil {
			return nil, err
		}
		return selected(out, names)
	})
}

func (m mount) deleteRun(c echo.Context, r store.Run) error {
	if !runs.Done(r.Status) {
		return httpx.Errorf(http.StatusConflict, "Run %s is %s; cancel it first", r.ID, r.Status)
	}
	err := m.DB.Commit(c.Request().Context(), store.Batch{ThreadID: r.ThreadID,
		Delete: &store.Delete{Runs: []string{r.ID}, EventsFrom: r.FirstSeq, EventsTo: r.LastSeq}})
	if err != nil {
		return err
	}
	return c.NoContent(http.StatusNoContent)
}

// cancelAction parses the action of a cancel: rollback also reverts the run's stored steps.
func cancelAction(action string) (rollback bool, err error) {
	switch action {
	case "", "interrupt":
		return false, nil
	case "rollback":
		return true, nil
	}
	return false, httpx.Invalid("query", "action", "want interrupt or rollback, got %q", route.Cut(action, 40))
}

func (m mount) cancelRun(c echo.Context, r store.Run) error {
	q := c.QueryParams()
	wait, err := httpx.Bool(q, "wait", false)
	if err != nil {
		return err
	}
	rollback, err := cancelAction(q.Get("action"))
	if err != nil {
		return err
	}
	if err := m.cancel(c, r, rollback, wait); err != nil {
		return err
	}
	if wait {
		return c.NoContent(http.StatusNoContent)
	}
	return c.NoContent(http.StatusAccepted)
}

// cancelTask ends the helper that works for one call of the thread's active run.
func (m mount) cancelTask(c echo.Context, t store.Thread) error {
	if err := m.Runs.CancelTask(t.ID, route.Param(c, "task")); err != nil {
		return err
	}
	return c.NoContent(http.StatusAccepted)
}

// keptFiles is the header that lists the files kept by a rollback.
const keptFiles = "X-Fawn-Note"

func (a *API) sayKept(c echo.Context) {
	if a.Dirs.Keeper == nil { // a Keeper restores files instead
		c.Response().Header().Set(keptFiles, "files of runs that are rolled back are kept")
	}
}

func (a *API) cancel(c echo.Context, r store.Run, rollback, wait bool) error {
	end := a.Runs.Cancel
	if rollback {
		end = a.Runs.Rollback
		a.sayKept(c)
	}
	err := end(c.Request().Context(), r.ThreadID, r.ID, wait)
	if !errors.Is(err, runs.ErrNotCancelable) {
		return err
	}
	if now, err := a.DB.Run(c.Request().Context(), r.ID); err == nil {
		r = now
	}
	return httpx.Errorf(http.StatusConflict, "Run %s is not cancellable (status: %s)", r.ID, r.Status)
}

// cancelBody is the body of cancelMany.
type cancelBody struct {
	Thread string   `json:"thread_id"`
	Runs   []string `json:"run_ids"`
	Status string   `json:"status"`
}

// cancelMany ends the named runs, or those of a thread, or all with a status.
func (m mount) cancelMany(c echo.Context) error {
	var body cancelBody
	if err := m.Bind(c, &body); err != nil {
		return err
	}
	rollback, err := cancelAction(c.QueryParam("action"))
	if err != nil {
		return err
	}
	end := m.Runs.Cancel
	if rollback {
		end = m.Runs.Rollback
		m.sayKept(c)
	}
	if !slices.Contains([]string{"", runs.Pending, runs.Running, "all"}, body.Status) {
		return httpx.Invalid("body", "status", "want pending, running or all, got %q", route.Cut(body.Status, 40))
	}
	if body.Thread == "" && len(body.Runs) == 0 && body.Status == "" {
		return httpx.Errorf(http.StatusUnprocessableEntity, "select runs by run_ids, thread_id or status")
	}
	open, err := m.DB.OpenRuns(c.Request().Context())
	if err != nil {
		return err
	}
	for _, r := range slices.Backward(open) { // newest first, so that nothing queued starts in between
		if r.Parent != "" || m.Foreign(c, r.Owner) || body.Thread != "" && r.ThreadID != body.Thread ||
			len(body.Runs) > 0 && !slices.Contains(body.Runs, r.ID) ||
			(body.Status == runs.Pending || body.Status == runs.Running) && r.Status != body.Status {
			continue
		}
		err := end(c.Request().Context(), r.ThreadID, r.ID, false)
		if err != nil && !errors.Is(err, runs.ErrNotCancelable) && !errors.Is(err, runs.ErrNotFound) {
			return err
		}
	}
	return c.NoContent(http.StatusNoContent)
}

// modesOf returns the stream modes a run was created with.
func modesOf(r store.Run) []string {
	var kw struct {
		Modes request.Strings `json:"stream_mode"`
	}
	if json.Unmarshal(route.Object(r.Kwargs), &kw) != nil {
		return nil
	}
	return kw.Modes
}

func describeRuns() []o.Op {
	const tag, alone = "Runs", "Stateless runs"
	body := o.Ref("RunCreate")
	wait := []o.Param{{Name: "wait", Schema: o.Bool(), Text: "Respond only when the run has stopped"}, cancelWord()}
	leave := o.Param{Name: "cancel_on_disconnect", Schema: o.Bool(),
		Text: "Cancel the run when this reader disconnects. Refused for a token that may only read"}
	follow := []o.Param{leave, {Name: "stream_mode", Schema: o.String()}, {Name: "stream_subgraphs", Schema: o.Bool()}}
	const options = "context.knowledge lists up to 50 names or ids of collections of documents, which this run searches beside " +
		"those of its project and agent."
	result := route.Answered("The final state; __error__ if the run failed", o.Ref("Values"))
	joined := []o.Answer{result[0]}
	return []o.Op{
		{ID: "createRun", Keyed: true, Example: runExample, Lazy: true, Tag: tag, Text: "Start a run in the background", More: options, Body: body,
			Out: route.Answered("The run", o.Ref("Run")), Fail: []int{409}},
		{ID: "streamRun", Keyed: true, Example: runExample, Lazy: true, Tag: tag, Text: "Start a run and follow it", More: options, Body: body, Out: route.Streamed(),
			Fail: []int{409}},
		{ID: "waitRun", Keyed: true, Example: runExample, Lazy: true, Tag: tag, Text: "Start a run and wait for its result", More: options, Body: body, Out: result,
			Fail: []int{409}},
		{ID: "listRuns", Tag: tag, Text: "List the runs of a thread, newest first",
			Query: []o.Param{{Name: "limit", Schema: o.Range(1, route.MaxPage)}, {Name: "offset", Schema: o.Int(0)},
				{Name: "status", Schema: runStatus()},
				{Name: "select", Schema: o.String()}},
			Out: route.Answered("The runs", o.List(o.Ref("RunPart")))},
		{ID: "getRun", Tag: tag, Text: "Get a run", Out: route.Answered("The run", o.Ref("Run"))},
		{ID: "getTrace", Tag: tag, Text: "Get what each call of a run took",
			More: "Calls of models and tools, side calls and helpers, in the order in which they began, as long as they are kept " +
				"(inspector.keep). Times are in microseconds.",
			Out: route.Answered("The calls", o.Ref("Trace"))},
		{ID: "getTraceCall", Tag: tag, Text: "Get one call of a run, with the prompt that its model was sent",
			Out: route.Answered("The call", o.Ref("TraceCall"))},
		{ID: "deleteRun", Tag: tag, Text: "Delete a finished run", Out: route.Emptied("Deleted"), Fail: []int{409}},
		{ID: "cancelRun", Tag: tag, Text: "Cancel a run, keeping partial answers", Query: wait,
			Out:  append(route.Emptied("Cancelled"), o.Answer{Status: 202, Text: "Cancellation requested"}),
			Fail: []int{409}},
		{ID: "cancelTask", Tag: tag, Text: "Cancel one subagent; its run goes on",
			More: "task_id is the id of the call that sent it.",
			Out:  []o.Answer{{Status: 202, Text: "Cancellation requested"}}},
		{ID: "joinRun", Tag: tag, Text: "Wait for the result of a run", Query: []o.Param{leave}, Out: joined},
		{ID: "followRun", Header: route.LastEvent(), Tag: tag, Text: "Follow a run, active or finished",
			Query: follow, Out: route.Streamed()},
		{ID: "cancelAndFollowRun", Header: route.LastEvent(), Tag: tag, Text: "Follow a run; with an action, cancel it first",
			Query: append(wait, follow...), Out: route.Streamed(), Fail: []int{409}},

		{ID: "createStatelessRun", Keyed: true, Example: runExample, Tag: alone, Text: "Start a run on a new thread in the background", Body: body,
			Out: route.Answered("The run", o.Ref("Run")), Fail: []int{404, 409}},
		{ID: "streamStatelessRun", Keyed: true, Example: runExample, Tag: alone, Text: "Start a run on a new thread and follow it", Body: body,
			Out: route.Streamed(), Fail: []int{404, 409}},
		{ID: "waitStatelessRun", Keyed: true, Example: runExample, Tag: alone, Text: "Start a run on a new thread and wait for its result", Body: body,
			Out: result, Fail: []int{404, 409}},
		{ID: "createRuns", Keyed: true, Tag: alone, Text: "Start several runs", Need: true,
			Body: o.List(body), Out: route.Answered("The runs", o.List(o.Ref("Run"))), Fail: []int{404, 409}},
		{ID: "cancelRuns", Tag: alone, Text: "Cancel runs by id, by thread or by status", Need: true,
			Query: []o.Param{cancelWord()},
			Body:  o.Reads[cancelBody](o.Is("status", o.Enum("pending", "running", "all"))),
			Out:   route.Emptied("Cancellation requested"), Fail: []int{404}},
		{ID: "joinStatelessRun", Tag: alone, Text: "Wait for the result of a run", Query: []o.Param{leave}, Out: joined},
		{ID: "followStatelessRun", Header: route.LastEvent(), Tag: alone, Text: "Follow a run, active or finished", Query: follow, Out: route.Streamed()},
	}
}

// runExample begins a run with a message.
const runExample = `{"assistant_id": "lead_agent", "input": {"messages": [{"role": "user", "content": "What can you do?"}]},
"stream_mode": ["messages-tuple", "values"], "metadata": {"source": "docs"}}`

func cancelWord() o.Param { return o.Param{Name: "action", Schema: o.Enum("interrupt", "rollback")} }
