package api

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"

	"github.com/labstack/echo/v4"

	"fawn/agent"
	"fawn/store"
	"fawn/web/httpx"
	"fawn/web/route"
)

// Codes of errors in JSON-RPC and in the Agent2Agent protocol.
const (
	rpcParse       = -32700
	rpcRequest     = -32600
	rpcMethod      = -32601
	rpcParams      = -32602
	rpcInternal    = -32603
	a2aNoTask      = -32001
	a2aEnded       = -32002
	a2aUnsupported = -32004
	a2aContentType = -32005
)

// rpcError is a JSON-RPC error.
type rpcError struct {
	Code    int    `json:"code"`
	Message string `json:"message"`
}

// Error implements error.
func (e *rpcError) Error() string { return e.Message }

func rpcErrorf(code int, format string, args ...any) error {
	return &rpcError{code, fmt.Sprintf(format, args...)}
}

// a2aCall is one call of the Agent2Agent protocol, which talks to an assistant as an agent:
// a context is a thread, a task one or more of its runs.
type a2aCall struct {
	mount
	c         echo.Context
	id        json.RawMessage // id of the call
	assistant store.Assistant
	v1        bool // states, roles and methods use the names of version 1.0
}

// a2aMethods maps method names of earlier versions to those of version 1.0.
var a2aMethods = map[string]string{
	"message/send": "SendMessage", "message/stream": "SendStreamingMessage", "tasks/get": "GetTask",
	"tasks/cancel": "CancelTask",
}

// a2a carries out one call.
func (m mount) a2a(c echo.Context) error {
	body, err := httpx.Body(c.Request(), m.BodyLimit())
	if err != nil {
		return err
	}
	k := &a2aCall{mount: m, c: c}
	method, params, err := k.parse(body)
	if err != nil {
		return k.reply(nil, err)
	}
	streams := method == "SendStreamingMessage"
	if err := accepts(c.Request(), streams); err != nil {
		return err
	}
	if k.assistant, err = m.AssistantByID(c, route.Param(c, "aid")); err != nil {
		err = asRPC(err)
	}
	switch {
	case streams:
		return k.stream(params, err)
	case err != nil:
		return k.reply(nil, err)
	case method == "SendMessage":
		return k.send(params)
	case method == "GetTask":
		return k.reply(k.get(params))
	}
	return k.reply(k.cancelTask(params))
}

// parse reads the envelope of a call.
func (k *a2aCall) parse(body []byte) (method string, params json.RawMessage, err error) {
	var req struct {
		Version json.RawMessage `json:"jsonrpc"`
		ID      json.RawMessage `json:"id"`
		Method  json.RawMessage `json:"method"`
		Params  json.RawMessage `json:"params"`
	}
	if !json.Valid(body) {
		return "", nil, rpcErrorf(rpcParse, "Invalid JSON payload")
	}
	if json.Unmarshal(body, &req) != nil {
		return "", nil, rpcErrorf(rpcRequest, "A call is a JSON object")
	}
	if id := string(route.Given(req.ID)); id == "" || strings.ContainsAny(id[:1], "{[tf") {
		return "", nil, rpcErrorf(rpcRequest, "The id of a call is a string or a number")
	}
	k.id = req.ID
	if string(req.Version) != `"2.0"` {
		return "", nil, rpcErrorf(rpcRequest, `jsonrpc must be "2.0"`)
	}
	if req.Method == nil {
		return "", nil, rpcErrorf(rpcRequest, "method is required")
	}
	if json.Unmarshal(req.Method, &method) != nil {
		return "", nil, rpcErrorf(rpcMethod, "Method not found: a method is a string")
	}
	if now, ok := a2aMethods[method]; ok {
		return now, req.Params, nil
	}
	for _, now := range a2aMethods {
		if k.v1 = method == now; k.v1 {
			return now, req.Params, nil
		}
	}
	return "", nil, rpcErrorf(rpcMethod, "Method not found: there is no method %q", route.Cut(method, 80))
}

// accepts refuses a client that declares it can't read the response type. Without a declaration it is accepted.
func accepts(r *http.Request, streams bool) error {
	want := "application/json"
	if streams {
		want = "text/event-stream"
	}
	accept := strings.ToLower(r.Header.Get("Accept"))
	kind, _, _ := strings.Cut(want, "/")
	if accept == "" || strings.Contains(accept, want) || strings.Contains(accept, "*/*") ||
		strings.Contains(accept, kind+"/*") {
		return nil
	}
	return httpx.Errorf(http.StatusBadRequest, "The Accept header must include %s", want)
}

// asRPC converts an error of the API for JSON-RPC. JSON-RPC errors stay unchanged.
func asRPC(err error) error {
	if r := asRefusal(err); r != nil {
		return &rpcError{rpcParams, strings.TrimSpace(r.message)}
	}
	return err
}

// envelope returns the answer to the call, as JSON-RPC sends it.
func (k *a2aCall) envelope(result any, err error) ([]byte, error) {
	out := map[string]any{"jsonrpc": "2.0", "id": k.id}
	if k.id == nil {
		out["id"] = nil
	}
	if err == nil {
		out["result"] = result
		return agent.Encode(out)
	}
	failed, ok := err.(*rpcError)
	if !ok {
		failed = &rpcError{rpcInternal, "Internal server error"}
		if _, detail := httpx.StatusOf(err); detail == nil {
			k.Log.Error("A2A call failed", "assistant", k.assistant.ID, "err", err)
		} else if said, ok := detail.(string); ok { // a known error, such as a stopping server
			failed.Message = said
		}
	}
	out["error"] = failed
	return agent.Encode(out)
}

// reply completes the call. JSON-RPC reports errors in the body.
func (k *a2aCall) reply(result any, err error) error {
	body, err := k.envelope(result, err)
	if err != nil {
		return err
	}
	return finish(k.c, body)
}

// result returns a task or an update of one as a result, which version 1.0 names.
func (k *a2aCall) result(name string, v map[string]any) any {
	if k.v1 {
		return map[string]any{name: v}
	}
	return v
}

// state names a state of a task, such as "input-required".
func (k *a2aCall) state(name string) string {
	if k.v1 {
		return "TASK_STATE_" + strings.ToUpper(strings.ReplaceAll(name, "-", "_"))
	}
	return name
}

// role returns the speaker, "user" or "agent".
func (k *a2aCall) role(name string) string {
	if k.v1 {
		return "ROLE_" + strings.ToUpper(name)
	}
	return name
}
