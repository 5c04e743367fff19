package agent

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
)

// InterruptedResult is the model's result for a call that never returned.
const InterruptedResult = "[Tool call was interrupted and did not return a result.]"

// PairToolCalls converts any prefix of any log to a list every provider accepts: results directly follow the message
// with their calls, in call order; a call without a result gets an error result; a result without a call is dropped;
// calls have non-empty unique ids and object arguments.
func PairToolCalls(msgs []*Message) []*Message {
	answers := matchResults(msgs)
	out := make([]*Message, 0, len(msgs))
	used := make(map[string]bool, len(answers))
	for i, m := range msgs {
		switch {
		case m.Type == TypeTool || m.Type == TypeRemove:
		case isCaller(m):
			out = appendCaller(out, m, i, answers, used)
		default:
			out = append(out, m)
		}
	}
	return out
}

func isCaller(m *Message) bool { return m.Type == TypeAI && len(m.ToolCalls)+len(m.Invalid) > 0 }

// callSlot is one call of a list: the position of its message and its place in there, as
// [Message.Calls] counts.
type callSlot struct{ message, place int }

// matchResults assigns each result to the newest preceding unanswered call with its id. Some models use the same ids in
// every answer, so an id alone is ambiguous.
func matchResults(msgs []*Message) map[callSlot]*Message {
	answers, waiting := map[callSlot]*Message{}, map[string][]callSlot{}
	for i, m := range msgs {
		switch {
		case isCaller(m):
			for place, id := range m.Calls() {
				if w := waiting[id]; len(w) > 0 && w[0].message != i {
					waiting[id] = nil
				}
				waiting[id] = append(waiting[id], callSlot{i, place})
			}
		case m.Type == TypeTool:
			if w := waiting[m.ToolCallID]; len(w) > 0 {
				answers[w[0]], waiting[m.ToolCallID] = m, w[1:]
			}
		}
	}
	return answers
}

func appendCaller(out []*Message, m *Message, at int, answers map[callSlot]*Message, used map[string]bool) []*Message {
	c := *m
	c.ToolCalls, c.Invalid = make([]ToolCall, 0, len(m.ToolCalls)+len(m.Invalid)), nil
	var results []*Message
	add := func(call ToolCall, kind string, pos int, missing string) {
		answer := answers[callSlot{at, len(c.ToolCalls)}]
		if strings.TrimSpace(call.ID) == "" || used[call.ID] {
			call.ID = fmt.Sprintf("fawn_call_%d_%s_%d", at, kind, pos)
			for used[call.ID] {
				call.ID += "_"
			}
		}
		used[call.ID] = true
		if call.Name == "" {
			call.Name = "unknown_tool"
		}
		c.ToolCalls = append(c.ToolCalls, call)
		switch {
		case answer == nil:
			answer = &Message{ID: "missing:" + call.ID, Type: TypeTool, Name: call.Name,
				ToolCallID: call.ID, Status: "error", Content: Text(missing)}
		case answer.ToolCallID != call.ID:
			own := *answer
			own.ToolCallID = call.ID
			answer = &own
		}
		results = append(results, answer)
	}
	for i, call := range m.ToolCalls {
		if !isObject(call.Args) {
			call.Args = json.RawMessage("{}")
		}
		add(call, "call", i, InterruptedResult)
	}
	for i, bad := range m.Invalid {
		add(ToolCall{ID: bad.ID, Name: bad.Name, Args: json.RawMessage("{}")}, "invalid", i, InvalidArguments(bad))
	}
	return append(append(out, &c), results...)
}

// InvalidArguments returns the result of a call with unreadable arguments.
func InvalidArguments(c InvalidCall) string {
	reason := c.Error
	if len(reason) > 500 {
		reason = strings.ToValidUTF8(reason[:500], "") // the cut may split a character
	}
	return fmt.Sprintf("Error: the arguments of %q are not a JSON object (%s). Send the call again with valid JSON.",
		c.Name, reason)
}

func isObject(raw json.RawMessage) bool {
	return bytes.HasPrefix(bytes.TrimSpace(raw), []byte("{")) && json.Valid(raw)
}
