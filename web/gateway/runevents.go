package gateway

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/labstack/echo/v4"

	"fawn/agent"
	"fawn/agent/runs/runevent"
	"fawn/store"
	"fawn/web/httpx"
)

const (
	eventsPage = 500
	maxEvents  = 2000
)

// eventJSON is an event of a run in the format of DeerFlow's gateway.
type eventJSON struct {
	Thread   string          `json:"thread_id"`
	Run      string          `json:"run_id"`
	Seq      int64           `json:"seq"`
	Type     string          `json:"event_type"`
	Category string          `json:"category"` // lifecycle, message, tool, trace or custom
	Content  json.RawMessage `json:"content"`
	Metadata map[string]any  `json:"metadata"`
}

// runEvents lists a run's events, without the pieces of its answers.
func (g *Gateway) runEvents(c echo.Context, r store.Run) error {
	q := c.QueryParams()
	limit, err := httpx.Int(q, "limit", eventsPage, 1, maxEvents)
	if err != nil {
		return err
	}
	after, err := httpx.Int(q, "after_seq", 0, 0, 1<<31-1)
	if err != nil {
		return err
	}
	var types []string
	for _, list := range httpx.List(q, "event_types") {
		for one := range strings.SplitSeq(list, ",") {
			types = append(types, strings.TrimSpace(one))
		}
	}
	task := q.Get("task_id")
	ctx := c.Request().Context()
	reader, err := g.Runs.Follow(ctx, r.ID)
	if err != nil {
		return err
	}
	out := []eventJSON{}
	for at := int64(after); len(out) < limit; {
		events, err := reader.Ready(ctx, at)
		if err != nil {
			return err
		}
		if len(events) == 0 {
			break
		}
		for _, ev := range events {
			one, ok, err := eventOf(r, ev)
			if err != nil {
				return err
			}
			if ok && ev.Seq > int64(after) && len(out) < limit &&
				(len(types) == 0 || slices.Contains(types, one.Type)) && (task == "" || about(one, task)) {
				out = append(out, one)
			}
		}
		at = events[len(events)-1].To
	}
	return httpx.JSON(c, 200, out)
}

// about reports whether an event belongs to a task, which has the id of its call.
func about(ev eventJSON, task string) bool {
	var ids struct {
		Task string `json:"task_id"`
		ID   string `json:"id"`
		Call string `json:"tool_call_id"`
	}
	return json.Unmarshal(ev.Content, &ids) == nil && slices.Contains([]string{ids.Task, ids.ID, ids.Call}, task)
}

// eventOf returns an event for the list; ok is false for omitted ones.
func eventOf(r store.Run, ev runevent.Event) (out eventJSON, ok bool, err error) {
	out = eventJSON{Thread: r.ThreadID, Run: r.ID, Seq: ev.Seq, Content: ev.Data,
		Metadata: map[string]any{"caller": "lead_agent"}}
	if ev.NS != "" {
		out.Metadata["caller"], out.Metadata["namespace"] = "subagent", ev.NS
	}
	switch ev.Kind {
	case runevent.KindMeta:
		out.Type, out.Category = "run.start", "lifecycle"
	case runevent.KindFinish:
		out.Type, out.Category = "llm.end", "trace"
		if ev.Msg != nil {
			out.Metadata["message_id"] = ev.Msg.ID
		}
	case runevent.KindToolStart:
		out.Type, out.Category = "tool.start", "tool"
	case runevent.KindToolResult:
		var end runevent.ToolEnd
		if err := json.Unmarshal(ev.Data, &end); err != nil {
			return out, false, err
		}
		out.Type, out.Category, out.Content = "tool.end", "tool", end.Message
		out.Metadata["tool_name"] = end.Name
	case runevent.KindCustom:
		var custom struct {
			Type string `json:"type"`
		}
		if json.Unmarshal(ev.Data, &custom) != nil || custom.Type == "" {
			custom.Type = "custom"
		}
		out.Type, out.Category = custom.Type, "custom"
	case runevent.KindStep:
		out.Type, out.Category, out.Seq = "step", "trace", ev.To
		out.Content, err = agent.Encode(map[string]any{"node": ev.Step.Node, "step": ev.Step.Number,
			"checkpoint_id": ev.Step.Checkpoint, "next": ev.Step.Next})
	case runevent.KindError:
		out.Type, out.Category = "run.error", "lifecycle"
	case runevent.KindEnd:
		out.Type, out.Category = "run.end", "lifecycle"
	default:
		return out, false, nil
	}
	return out, err == nil, err
}
