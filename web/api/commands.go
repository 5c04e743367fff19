package api

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"slices"
	"strings"

	"github.com/labstack/echo/v4"

	"fawn/agent"
	"fawn/agent/runs"
	"fawn/agent/runs/request"
	"fawn/store"
	"fawn/web/api/wire"
	"fawn/web/httpx"
	"fawn/web/principal"
	"fawn/web/route"
)

// refusal is the reason why a command of the thread protocol was refused. It is sent with status 200;
// only invalid commands are HTTP errors.
type refusal struct{ code, message string }

// Error implements error.
func (r *refusal) Error() string { return r.code + ": " + r.message }

func refuse(code, message string) error { return &refusal{code, message} }

// command is a client's command to a thread.
type command struct {
	ID     *uint64         `json:"id"`
	Method string          `json:"method"`
	Params json.RawMessage `json:"params"`
}

// commandResult answers a command that was carried out.
type commandResult struct {
	ID     uint64      `json:"id"`
	Meta   commandMeta `json:"meta"`
	Result any         `json:"result"`
	Type   string      `json:"type"` // success
}

// commandRefusal answers one that was not.
type commandRefusal struct {
	Error   string      `json:"error"`
	ID      uint64      `json:"id"`
	Message string      `json:"message"`
	Meta    commandMeta `json:"meta"`
	Type    string      `json:"type"` // error
}

// commandMeta holds the number of a thread's last event that a command has applied.
type commandMeta struct {
	Through int64  `json:"applied_through_seq"`
	Thread  string `json:"thread_id"`
}

// repliedTo returns the answer to a command.
func repliedTo(id uint64, result any, no *refusal, meta commandMeta) any {
	if no != nil {
		return commandRefusal{no.code, id, no.message, meta, "error"}
	}
	return commandResult{id, meta, result, "success"}
}

// commands carries out one command of the thread protocol.
func (m mount) commands(c echo.Context, thread string) error {
	var cmd command
	if err := m.Bind(c, &cmd); err != nil {
		return err
	}
	switch {
	case cmd.ID == nil:
		return httpx.Invalid("body", "id", "want a whole number, which the answer repeats")
	case cmd.Method == "":
		return httpx.Invalid("body", "method", "want the name of a command")
	case route.Given(cmd.Params) != nil && cmd.Params[0] != '{':
		return httpx.Invalid("body", "params", "want an object")
	}
	result, err := m.carryOut(c, thread, cmd)
	no := asRefusal(err)
	if err != nil && no == nil {
		return err
	}
	last, err := m.DB.LastSeq(c.Request().Context(), thread)
	if err != nil {
		return err
	}
	return httpx.JSON(c, http.StatusOK, repliedTo(*cmd.ID, result, no, commandMeta{last, thread}))
}

// asRefusal converts an error of a handler for the protocol; nil if it is the server's own.
func asRefusal(err error) *refusal {
	if err == nil {
		return nil
	}
	var r *refusal
	if errors.As(err, &r) {
		return r
	}
	var unasked *request.InterruptError
	if errors.As(err, &unasked) {
		return &refusal{code: "no_such_interrupt", message: unasked.Error()}
	}
	status, detail := httpx.StatusOf(err)
	if status >= http.StatusInternalServerError || status == http.StatusRequestEntityTooLarge || detail == nil {
		return nil
	}
	r = &refusal{code: "invalid_argument"}
	switch d := detail.(type) {
	case string:
		r.message = d
	case []httpx.Problem:
		for _, p := range d {
			r.message += strings.Join(p.Loc[min(1, len(p.Loc)):], ".") + ": " + p.Msg + ". "
		}
	}
	return r
}

func (m mount) carryOut(c echo.Context, thread string, cmd command) (any, error) {
	switch cmd.Method {
	case "run.start":
		return m.runStart(c, thread, cmd.Params)
	case "input.respond":
		return m.inputRespond(c, thread, cmd.Params)
	case "state.get":
		return m.stateGet(c, thread, cmd.Params)
	case "state.listCheckpoints":
		return m.listCheckpoints(c, thread, cmd.Params)
	case "state.fork":
		return m.stateFork(c, thread, cmd.Params)
	case "agent.getTree":
		return m.agentTree(c, thread)
	case "input.inject", "subscription.subscribe", "subscription.unsubscribe", "subscription.reconnect":
		return nil, refuse("not_supported", cmd.Method+" is not offered here")
	}
	return nil, refuse("unknown_command", "Unknown protocol command: "+route.Cut(cmd.Method, 80))
}

// params decodes the parameters of a command.
func params(raw json.RawMessage, into any) error {
	if err := httpx.Decode(raw, into); err != nil {
		return refuse("invalid_argument", asRefusal(err).message)
	}
	return nil
}

// launch starts a run whose body is made of the members given; absent ones are left out.
func (m mount) launch(c echo.Context, thread string, body map[string]any) (store.Run, error) {
	for name, v := range body {
		if raw, ok := v.(json.RawMessage); ok && route.Given(raw) == nil {
			delete(body, name)
		}
	}
	b, err := agent.Encode(body)
	if err != nil {
		return store.Run{}, err
	}
	req, err := m.decodeRun(c, thread, b)
	if err != nil {
		return store.Run{}, err
	}
	if body["multitask_strategy"] == nil { // also in native requests: the protocol has one default
		req.Multitask = "enqueue"
	}
	return m.start(c, req)
}

func (m mount) runStart(c echo.Context, thread string, raw json.RawMessage) (any, error) {
	var p struct {
		Assistant string          `json:"assistant_id"`
		Input     json.RawMessage `json:"input"`
		Config    json.RawMessage `json:"config"`
		Context   json.RawMessage `json:"context"`
		Metadata  json.RawMessage `json:"metadata"`
		Multitask json.RawMessage `json:"multitaskStrategy"`
		Strategy  json.RawMessage `json:"multitask_strategy"`
	}
	if err := params(raw, &p); err != nil {
		return nil, err
	}
	if p.Assistant == "" {
		return nil, refuse("invalid_argument", "run.start requires an assistant_id.")
	}
	if route.Given(p.Strategy) == nil {
		p.Strategy = p.Multitask
	}
	body := map[string]any{"assistant_id": p.Assistant, "input": p.Input, "config": p.Config, "context": p.Context,
		"metadata":           p.Metadata,
		"multitask_strategy": p.Strategy}
	if request.Resumes(p.Input) {
		delete(body, "input")
		body["command"] = map[string]any{"resume": p.Input}
	}
	run, err := m.launch(c, thread, body)
	if err != nil {
		return nil, err
	}
	return map[string]string{"run_id": run.ID}, nil
}

// openQuestions returns the thread's open interrupts.
func (m mount) openQuestions(ctx context.Context, thread string) ([]wire.Interrupt, error) {
	t, err := m.DB.ThreadOf(ctx, principal.Owner(ctx), thread)
	if errors.Is(err, store.ErrNotFound) || err == nil && t.Status == runs.Busy {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	snap, err := m.Checkpoint(ctx, t, "")
	if err != nil {
		return nil, err
	}
	var out []wire.Interrupt
	for _, task := range wire.Tasks(snap, nil) {
		out = append(out, task.Interrupts...)
	}
	return out, nil
}

// reply is the answer to one interrupt.
type reply struct {
	ID       string          `json:"interrupt_id"`
	Response json.RawMessage `json:"response"`
}

func (m mount) inputRespond(c echo.Context, thread string, raw json.RawMessage) (any, error) {
	var p struct {
		reply
		Responses []reply         `json:"responses"`
		Update    json.RawMessage `json:"update"`
		Goto      json.RawMessage `json:"goto"`
		Config    json.RawMessage `json:"config"`
		Metadata  json.RawMessage `json:"metadata"`
	}
	if err := params(raw, &p); err != nil {
		return nil, err
	}
	if p.ID != "" {
		p.Responses = append(p.Responses, p.reply)
	}
	if len(p.Responses) == 0 {
		return nil, refuse("invalid_argument", "input.respond requires an interrupt_id and a response, or responses.")
	}
	ctx := c.Request().Context()
	last, err := m.DB.Runs(ctx, thread, "", 1, 0)
	if err != nil {
		return nil, err
	}
	if len(last) == 0 {
		return nil, refuse("no_such_run", "The thread has no run yet.")
	}
	open, err := m.openQuestions(ctx, thread)
	if err != nil {
		return nil, err
	}
	if len(open) == 0 {
		return nil, refuse("invalid_argument", "input.respond can only be used while the run is interrupted.")
	}
	resume := map[string]json.RawMessage{}
	for _, r := range p.Responses {
		if !slices.ContainsFunc(open, func(q wire.Interrupt) bool { return q.ID == r.ID }) {
			unasked := &request.InterruptError{ID: r.ID}
			for _, q := range open {
				unasked.Open = append(unasked.Open, q.ID)
			}
			return nil, unasked
		}
		if resume[r.ID] = r.Response; len(r.Response) == 0 {
			resume[r.ID] = json.RawMessage("null")
		}
	}
	cmd := map[string]any{"resume": resume}
	for name, v := range map[string]json.RawMessage{"update": p.Update, "goto": p.Goto} {
		if route.Given(v) != nil {
			cmd[name] = v
		}
	}
	_, err = m.launch(c, thread, map[string]any{"assistant_id": last[0].AssistantID, "command": cmd, "config": p.Config,
		"metadata": p.Metadata})
	return map[string]any{}, err
}

// root refuses namespaces below the root: subagents have no separate state.
func root(ns []string) error {
	if len(ns) > 0 {
		return refuse("no_such_namespace", "There is no state at "+route.Cut(strings.Join(ns, "|"), 80)+".")
	}
	return nil
}

// known finds the thread of a command.
func (m mount) known(ctx context.Context, id string) (store.Thread, error) {
	t, err := m.DB.ThreadOf(ctx, principal.Owner(ctx), id)
	if errors.Is(err, store.ErrNotFound) {
		return t, refuse("no_such_run", "The thread does not exist yet.")
	}
	return t, err
}

func (m mount) stateGet(c echo.Context, thread string, raw json.RawMessage) (any, error) {
	var p struct {
		NS   []string `json:"namespace"`
		Keys []string `json:"keys"`
	}
	if err := params(raw, &p); err != nil {
		return nil, err
	}
	if err := root(p.NS); err != nil {
		return nil, err
	}
	ctx := c.Request().Context()
	t, err := m.known(ctx, thread)
	if err != nil {
		return nil, err
	}
	snap, err := m.Checkpoint(ctx, t, "")
	if err != nil {
		return nil, err
	}
	values, err := selected(runs.Values(snap, true), p.Keys)
	if err != nil {
		return nil, err
	}
	out := map[string]any{"values": values}
	if snap.Checkpoint.ID != "" {
		out["checkpoint"] = map[string]string{"id": snap.Checkpoint.ID, "ns": snap.Checkpoint.NS}
	}
	return out, nil
}

func (m mount) listCheckpoints(c echo.Context, thread string, raw json.RawMessage) (any, error) {
	var p struct {
		NS     []string `json:"namespace"`
		Limit  *int     `json:"limit"`
		Before string   `json:"before"`
	}
	if err := params(raw, &p); err != nil {
		return nil, err
	}
	if err := root(p.NS); err != nil {
		return nil, err
	}
	limit := historyPage
	if p.Limit != nil {
		limit = *p.Limit
	}
	if limit < 1 || limit > route.MaxPage {
		return nil, refuse("invalid_argument", "limit: want a whole number from 1 to 1000.")
	}
	ctx := c.Request().Context()
	if _, err := m.known(ctx, thread); err != nil {
		return nil, err
	}
	list, err := m.DB.Checkpoints(ctx, thread, "", p.Before, limit, func(store.Checkpoint) bool { return true })
	if err != nil {
		return nil, err
	}
	out := make([]map[string]any, len(list))
	for i, cp := range list {
		out[i] = map[string]any{"id": cp.ID, "timestamp": wire.Stamp(cp.At), "step": cp.Step,
			"metadata": map[string]any{"source": cp.Source, "run_id": cp.Run, "parent_id": cp.Parent}}
	}
	return map[string]any{"checkpoints": out}, nil
}

func (m mount) stateFork(c echo.Context, thread string, raw json.RawMessage) (any, error) {
	var p struct {
		Checkpoint string          `json:"checkpoint_id"`
		Input      json.RawMessage `json:"input"`
		Config     json.RawMessage `json:"config"`
	}
	if err := params(raw, &p); err != nil {
		return nil, err
	}
	if p.Checkpoint == "" {
		return nil, refuse("invalid_argument", "state.fork requires a checkpoint_id.")
	}
	run, err := m.launch(c, thread,
		map[string]any{"assistant_id": wire.GraphID, "checkpoint_id": p.Checkpoint, "input": p.Input,
			"config": p.Config})
	var d *httpx.Detail
	if errors.As(err, &d) && d.Status == http.StatusNotFound {
		return nil, refuse("no_such_checkpoint",
			"No checkpoint of the thread has the id "+route.Cut(p.Checkpoint, 80)+".")
	}
	if err != nil {
		return nil, err
	}
	return map[string]string{"run_id": run.ID, "thread_id": run.ThreadID}, nil
}

func (m mount) agentTree(c echo.Context, thread string) (any, error) {
	t, err := m.known(c.Request().Context(), thread)
	if err != nil {
		return nil, err
	}
	status := map[string]string{runs.Busy: "running", runs.ThreadError: "failed",
		runs.ThreadInterrupted: "interrupted"}[t.Status]
	if status == "" {
		status = "completed"
	}
	return map[string]any{"tree": map[string]any{"namespace": []string{}, "status": status, "graph_name": wire.GraphID,
		"children": []any{}}}, nil
}
