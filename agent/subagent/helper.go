package subagent

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"strings"
	"time"
	"unicode/utf8"

	"fawn/agent"
)

// maxBrief limits the part of a report in the result; a file has the whole.
const maxBrief = 2000

// helper holds the reporting state of one call's helper.
type helper struct {
	Options
	turn  *agent.Turn
	job   Job
	model string
	count int // number of its messages
	spent tokens
	cost  float64
}

// tokens are the token counts of a helper's model calls, as in its events and result.
type tokens struct {
	Input  int `json:"input_tokens"`
	Output int `json:"output_tokens"`
	Total  int `json:"total_tokens"`
}

func (h *helper) add(m *agent.Message) {
	h.count++
	if m.Type == agent.TypeAI && m.Usage != nil {
		h.spent.Input += m.Usage.Input
		h.spent.Output += m.Usage.Output
		h.spent.Total += max(m.Usage.Total, m.Usage.Input+m.Usage.Output)
		h.cost += m.Usage.Cost
	}
}

// usage returns nil while unknown.
func (n tokens) usage() any {
	if n == (tokens{}) {
		return nil
	}
	return n
}

// began announces the helper. A helper resumed after a crash was announced before.
func (h *helper) began(soFar agent.State, again bool) {
	for _, m := range soFar.Messages {
		if spoken(m) {
			h.add(m)
		}
	}
	if !again {
		h.emit(map[string]any{"type": "task_started", "description": h.job.Description})
	}
}

// tell returns the events of a helper's step, one per message.
func (h *helper) tell(step agent.Step) (events []json.RawMessage) {
	total := h.count
	for _, m := range step.Patch.Messages {
		if spoken(m) {
			total++
		}
	}
	for _, m := range step.Patch.Messages {
		if !spoken(m) {
			continue
		}
		h.add(m)
		if data := h.event(map[string]any{"type": "task_running", "message": m, "message_index": h.count,
			"total_messages": total, "usage": h.spent.usage()}); data != nil {
			events = append(events, data)
		}
	}
	return events
}

// spoken returns the helper's messages to report: its own and its tools'.
func spoken(m *agent.Message) bool { return m.Type == agent.TypeAI || m.Type == agent.TypeTool }

// event adds the common fields of a helper's events. It returns nil if encoding fails.
func (h *helper) event(fields map[string]any) json.RawMessage {
	fields["task_id"], fields["model_name"] = h.job.Call, h.model
	data, err := agent.Encode(fields)
	if err != nil {
		h.turn.Log.Warn("couldn't report on a subagent", "call", h.job.Call, "err", err)
		return nil
	}
	return data
}

func (h *helper) emit(fields map[string]any) {
	if data := h.event(fields); data != nil {
		h.turn.Sink.Emit(agent.Event{Kind: agent.EventCustom, NS: h.turn.NS, Data: data})
	}
}

// result announces the helper's end and returns the text for the calling model.
func (h *helper) result(ctx context.Context, end End) agent.Result {
	said, fallback := lastWords(&end.State)
	if end.Status == Completed && fallback {
		end.Status, end.Error = Failed, said
	}
	if end.Status == Completed && said == "" && end.Reason != "" {
		end.Status, end.Error = Failed, "it ended without a report: "+capped(end.Reason)
	}
	kwargs := map[string]any{"subagent_status": end.Status, "subagent_model_name": h.model}
	if end.Reason != "" {
		kwargs["subagent_stop_reason"] = end.Reason
	}
	if h.spent != (tokens{}) {
		kwargs["subagent_token_usage"] = map[string]any{"input_tokens": h.spent.Input, "output_tokens": h.spent.Output,
			"total_tokens": h.spent.Total}
	}
	if h.cost > 0 {
		kwargs["subagent_cost"] = h.cost
	}
	r := agent.Result{IsError: end.Status != Completed, Kwargs: kwargs}
	// The folders, the sandbox and files to show belong to the thread.
	r.Patch.Sandbox, r.Patch.Artifacts = end.State.Sandbox, end.State.Artifacts
	event := map[string]any{"type": "task_" + end.Status, "usage": h.spent.usage()}
	switch end.Status {
	case Completed:
		words := "Task Succeeded"
		if end.Reason != "" {
			words += " (capped: " + capped(end.Reason) + ")"
		}
		if said == "" {
			said = "(The helper ended without a report.)"
		}
		r.Content = agent.Text(words + ". Result: " + h.report(ctx, said, kwargs))
		event["result"] = said
	case TimedOut:
		end.Error = fmt.Sprintf("the helper was stopped after %s, before it was done",
			h.job.Kind.Timeout.Round(time.Second))
		text := "Task timed out. Error: " + end.Error
		if said != "" && !fallback {
			text += ".\n\nWhat it had said last: " + h.report(ctx, said, kwargs)
		}
		r.Content = agent.Text(text)
	case Cancelled:
		end.Error = "Task cancelled by user."
		r.Content = agent.Text(end.Error)
	default:
		if end.Error == "" {
			end.Error = "the helper failed"
		}
		r.Content = agent.Text("Task failed. Error: " + end.Error)
	}
	if end.Status != Completed {
		event["error"], kwargs["subagent_error"] = end.Error, agent.Head(end.Error, maxBrief)
	}
	h.emit(event)
	return r
}

// report returns a short report in full, or the beginning of a long one with the path of the whole.
func (h *helper) report(ctx context.Context, text string, kwargs map[string]any) string {
	sum := sha256.Sum256([]byte(text))
	brief := agent.Head(text, maxBrief)
	kwargs["subagent_result_brief"], kwargs["subagent_result_sha256"] = brief, hex.EncodeToString(sum[:])
	if brief == text {
		return text
	}
	path, err := h.Store(ctx, h.turn, h.job.Call, text)
	if err != nil {
		h.turn.Log.Warn("couldn't store a subagent's report in a file", "call", h.job.Call, "err", err)
		return text
	}
	kwargs["subagent_result_ref"] = path
	return brief + fmt.Sprintf("\n\n[This is the beginning of a report of %d characters. All of it is in %s: read what you need of it.]",
		utf8.RuneCountInString(text), path)
}

// capped returns the reason why a helper ended early, in the words of a result.
func capped(reason string) string {
	switch reason {
	case "token_capped":
		return "token budget"
	case "turn_capped":
		return "turn budget"
	case "loop_capped":
		return "repeated tool-call loop"
	}
	return strings.ReplaceAll(reason, "_", " ")
}

// lastWords returns the newest text of a helper; fallback means that it explains a failure.
func lastWords(s *agent.State) (text string, fallback bool) {
	for i := len(s.Messages) - 1; i >= 0; i-- {
		m := s.Messages[i]
		if m.Type != agent.TypeAI {
			continue
		}
		if text := strings.TrimSpace(m.Content.String()); text != "" {
			return text, m.Flag(agent.ErrorFallback)
		}
	}
	return "", false
}
