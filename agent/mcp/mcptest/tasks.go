package mcptest

import (
	"encoding/json"
	"fmt"
	"net/http"
	"sync"
	"time"
)

// Tasks is an MCP server over HTTP: each call of its tool "dig" creates a task, and its tool "look" answers at once.
// Tasks continue until the test ends them, whether or not clients are connected.
type Tasks struct {
	mu    sync.Mutex
	list  []*serverTask
	sent  []string // methods about tasks, in order
	plain int      // calls of dig that were no tasks
	mute  bool     // questions about states have no answer
}

type serverTask struct {
	id, status, message, result string
	failed                      bool
	over                        chan struct{}
}

// Made returns the number of created tasks.
func (s *Tasks) Made() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.list)
}

// Sent returns the number of calls of a method.
func (s *Tasks) Sent(method string) (n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, m := range s.sent {
		if m == method {
			n++
		}
	}
	return n
}

// Status returns the status of task i.
func (s *Tasks) Status(i int) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.list[i].status
}

// Mute blocks status requests until the client gives up.
func (s *Tasks) Mute() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.mute = true
}

// Say changes the status message of task i.
func (s *Tasks) Say(i int, message string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.list[i].message = message
}

// Finish ends task i with a result.
func (s *Tasks) Finish(i int, text string) { s.end(i, "completed", text, "", false) }

// Fail ends task i without one.
func (s *Tasks) Fail(i int, why string) { s.end(i, "failed", "", why, true) }

// Forget deletes task i, as a server does after the task's time to live.
func (s *Tasks) Forget(i int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.list[i].id = "forgotten"
	close(s.list[i].over)
}

func (s *Tasks) end(i int, status, result, message string, failed bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	t := s.list[i]
	t.status, t.result, t.failed = status, result, failed
	if message != "" {
		t.message = message
	}
	close(t.over)
}

func (s *Tasks) find(id string) *serverTask {
	for _, t := range s.list {
		if t.id == id {
			return t
		}
	}
	return nil
}

func (t *serverTask) state() map[string]any {
	out := map[string]any{"taskId": t.id, "status": t.status, "createdAt": "2026-01-01T00:00:00Z",
		"lastUpdatedAt": "2026-01-01T00:00:00Z", "ttl": nil, "pollInterval": 100}
	if t.message != "" {
		out["statusMessage"] = t.message
	}
	return out
}

// ServeHTTP implements [http.Handler].
func (s *Tasks) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var m struct {
		ID     json.RawMessage
		Method string
		Params struct {
			Name   string
			Task   *struct{ TTL int64 }
			TaskID string
		}
	}
	if r.Method != http.MethodPost || json.NewDecoder(r.Body).Decode(&m) != nil {
		w.WriteHeader(http.StatusMethodNotAllowed)
		return
	}
	if m.ID == nil {
		w.WriteHeader(http.StatusAccepted)
		return
	}
	out := map[string]any{"jsonrpc": "2.0", "id": m.ID}
	result, err := s.answer(r, m.Method, m.Params.Name, m.Params.TaskID, m.Params.Task != nil)
	if err != nil {
		out["error"] = map[string]any{"code": -32602, "message": err.Error()}
	} else {
		out["result"] = result
	}
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(out) // the client may be gone
}

func said(text string, failed bool) map[string]any {
	return map[string]any{"content": []any{map[string]any{"type": "text", "text": text}}, "isError": failed}
}

func (s *Tasks) answer(r *http.Request, method, name, id string, asTask bool) (any, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	t := s.find(id)
	switch method {
	case "initialize":
		return map[string]any{"protocolVersion": "2025-11-25", "serverInfo": map[string]any{"name": "tasks", "version": "1"},
			"capabilities": map[string]any{"tools": map[string]any{}, "tasks": map[string]any{"cancel": map[string]any{},
				"list": map[string]any{}, "requests": map[string]any{"tools": map[string]any{"call": map[string]any{}}}}}}, nil
	case "tools/list":
		schema := map[string]any{"type": "object"}
		return map[string]any{"tools": []any{
			map[string]any{"name": "dig", "description": "digs for long", "inputSchema": schema, "execution": map[string]any{"taskSupport": "required"}},
			map[string]any{"name": "look", "description": "looks at once", "inputSchema": schema, "execution": map[string]any{"taskSupport": "forbidden"}},
		}}, nil
	case "tools/call":
		if name == "look" {
			return said(fmt.Sprint("a task was asked for: ", asTask), false), nil
		}
		if !asTask {
			s.plain++
			return nil, fmt.Errorf("dig must be called as a task")
		}
		t := &serverTask{id: fmt.Sprintf("hole %d", len(s.list)), status: "working", message: "digging", over: make(chan struct{})}
		s.list = append(s.list, t)
		return map[string]any{"task": t.state()}, nil
	case "ping":
		return map[string]any{}, nil
	}
	s.sent = append(s.sent, method)
	if t == nil {
		return nil, fmt.Errorf("there is no such task")
	}
	switch method {
	case "tasks/get":
		if s.mute {
			s.mu.Unlock()
			<-r.Context().Done()
			s.mu.Lock()
		}
		return t.state(), nil
	case "tasks/cancel":
		if t.status != "working" {
			return nil, fmt.Errorf("it is %s", t.status)
		}
		t.status = "cancelled"
		close(t.over)
		return t.state(), nil
	case "tasks/result":
		s.mu.Unlock()
		select {
		case <-t.over:
		case <-r.Context().Done():
		case <-time.After(time.Minute):
		}
		s.mu.Lock()
		if s.find(id) == nil || t.status != "completed" {
			return nil, fmt.Errorf("it has no result")
		}
		return said(t.result, false), nil
	}
	return nil, fmt.Errorf("there is no method %s", method)
}
