package gateway

import (
	"encoding/json"
	"errors"
	"net/http"

	"github.com/labstack/echo/v4"

	"fawn/agent/mcp/tasks"
	"fawn/store"
	"fawn/web/api/wire"
	"fawn/web/httpx"
	"fawn/web/route"
)

// Limits of lists of tasks.
const (
	taskPage    = 50
	taskPageMax = 100
)

// degraded is the number of unanswered polls after which the state of a task may be outdated.
const degraded = 3

// mcpTaskJSON is a task of an MCP server in a list, in DeerFlow's form, with its origin.
type mcpTaskJSON struct {
	ID        string  `json:"task_id"`
	Name      string  `json:"task_name"` // the tool
	Status    string  `json:"status"`
	CreatedAt string  `json:"created_at"`
	UpdatedAt string  `json:"updated_at"`
	Error     *string `json:"error"`
	Degraded  bool    `json:"tracking_degraded"`
	Cancel    bool    `json:"cancel_requested"`
	Message   string  `json:"status_message"`
	Server    string  `json:"server_name"`
	Run       string  `json:"run_id"`
	Call      string  `json:"tool_call_id"`
}

// mcpTaskDetailJSON is the full representation of a task.
type mcpTaskDetailJSON struct {
	mcpTaskJSON
	PolledAt    *string           `json:"last_polled_at"`
	PollError   *string           `json:"last_poll_error"`
	CancelError *string           `json:"last_cancel_error"`
	CancelTries int               `json:"cancel_attempt_count"`
	Result      json.RawMessage   `json:"result"`
	Preview     *string           `json:"result_preview"`
	Truncated   bool              `json:"result_truncated"`
	Artifact    map[string]string `json:"result_artifact"`
	Input       map[string]string `json:"input_required"`
}

func mcpTaskOf(t tasks.Task) mcpTaskJSON {
	return mcpTaskJSON{ID: t.ID, Name: t.Tool, Status: t.Status, CreatedAt: wire.Stamp(t.Created), UpdatedAt: wire.Stamp(t.Updated),
		Error: route.TextOrNull(t.Error), Degraded: !t.Over() && t.Misses >= degraded, Cancel: !t.Cancelled.IsZero(),
		Message: t.Message, Server: t.Server, Run: t.Run, Call: t.Call}
}

func mcpTaskDetailOf(t tasks.Task) mcpTaskDetailJSON {
	out := mcpTaskDetailJSON{mcpTaskJSON: mcpTaskOf(t), PolledAt: route.StampOrNull(t.Polled), PollError: route.TextOrNull(t.PollError),
		CancelError: route.TextOrNull(t.CancelError), CancelTries: t.CancelTries, Result: t.Data, Preview: route.TextOrNull(t.Preview),
		Truncated: t.Truncated}
	if t.File != "" {
		out.Artifact = map[string]string{"path": t.File}
	}
	if t.Status == tasks.Input {
		out.Input = map[string]string{"message": t.Message}
	}
	return out
}

// mcpTasks handles GET /threads/:tid/mcp-tasks.
func (g *Gateway) mcpTasks(c echo.Context, t store.Thread) error {
	limit, err := httpx.Int(c.QueryParams(), "limit", taskPage, 1, taskPageMax)
	if err != nil {
		return err
	}
	out := []mcpTaskJSON{}
	if g.MCP != nil {
		list, err := g.MCP.Tasks(c.Request().Context(), t.ID, limit)
		if err != nil {
			return err
		}
		for _, k := range list {
			out = append(out, mcpTaskOf(k))
		}
	}
	return httpx.JSON(c, http.StatusOK, out)
}

// mcpTask handles GET /threads/:tid/mcp-tasks/:task.
func (g *Gateway) mcpTask(c echo.Context, t store.Thread) error {
	task, err := tasks.Task{}, tasks.ErrNotFound
	if g.MCP != nil {
		task, err = g.MCP.Task(c.Request().Context(), t.ID, route.Param(c, "task"))
	}
	if errors.Is(err, tasks.ErrNotFound) {
		return httpx.Errorf(http.StatusNotFound, "MCP task not found")
	}
	if err != nil {
		return err
	}
	return httpx.JSON(c, http.StatusOK, mcpTaskDetailOf(task))
}

// cancelMCPTask handles POST /threads/:tid/mcp-tasks/:task/cancel. An ended task is unchanged.
func (g *Gateway) cancelMCPTask(c echo.Context, t store.Thread) error {
	if g.MCP != nil {
		err := g.MCP.CancelTask(c.Request().Context(), t.ID, route.Param(c, "task"))
		if err != nil && !errors.Is(err, tasks.ErrNotFound) {
			return err
		}
	}
	return g.mcpTask(c, t)
}
