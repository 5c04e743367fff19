package runevent

import (
	"encoding/json"
	"fmt"
	"iter"
	"testing"

	"fawn/agent"
	"fawn/agent/agenttest/must"
	"fawn/store"
)

func FuzzUnfold(f *testing.F) {
	ai := &agent.Message{ID: "m", Type: agent.TypeAI, Content: agent.Text("some text"),
		Kwargs:    map[string]any{"reasoning_content": "why"},
		ToolCalls: []agent.ToolCall{{ID: "c1", Name: "look", Args: json.RawMessage(`{"a":1}`)}},
		Meta:      map[string]any{"finish_reason": "stop"}, Usage: &agent.Usage{Total: 3}}
	tool := agent.TextResult("result").Message("r", ai.ToolCalls[0])
	bodies := map[int64][]byte{}
	for row, m := range map[int64]*agent.Message{1: ai, 2: tool} {
		body := must.Get(agent.Encode(m))(f)
		bodies[row] = body
	}
	frames := func(parts ...any) iter.Seq[[]byte] {
		var out Frames
		for i := 0; i < len(parts); i += 2 {
			payload := fmt.Sprint(parts[i+1])
			if kind, slotted := frameKind(byte(parts[i].(rune))); slotted {
				out.Delta(kind, 0, payload)
			} else {
				out.Named(kind, "", []byte(payload))
			}
		}
		return out.All()
	}
	end := must.Get(EncodeToolEnd(agent.Event{Message: "r", Call: ai.ToolCalls[0], Result: agent.TextResult("result")}))(f)
	all := frames('m', `{"id":"m"}`, 'r', "why", 't', "some ", 't', "text", 'c',
		`{"index":0,"id":"c1","name":"look","args":"{\"a\":1}"}`, 'f',
		`{"usage":{"input_tokens":0,"output_tokens":0,"total_tokens":3},"finish":"stop"}`, 's',
		`{"name":"look","args":{"a":1},"id":"c1","type":"tool_call"}`, 'e', string(end), 'x', `{}`)
	known := Known{Streamed: map[int]Stored{0: {1, ai}}, Caller: Stored{1, ai},
		Results: map[string]Stored{"r": {2, tool}}}
	f.Add(Fold(all, known))
	f.Add(Fold(all, Known{}))
	f.Add([]byte{0})
	f.Add([]byte{1, 1, foldOpen, 0, 0x7f})
	f.Fuzz(func(t *testing.T, data []byte) {
		size, longest := 0, 0
		evs, err := Unfold(data, 7, func(row int64) ([]byte, error) {
			body, ok := bodies[row]
			if !ok {
				return nil, store.ErrNotFound
			}
			longest = max(longest, len(body))
			return body, nil
		})
		next := int64(7)
		for i, e := range evs {
			if e.Seq != next || e.To < e.Seq || e.To > e.Seq && e.Kind != KindStep || e.Kind == 0 {
				t.Fatalf("event %d is %+v", i, e)
			}
			next = e.To + 1
			size += len(e.Text) + len(e.Data)
		}
		if limit := (len(data) + 1) * (longest + 256); err == nil && (len(evs) > len(data) || size > limit) {
			t.Fatalf("%d bytes make %d events of %d bytes", len(data), len(evs), size)
		}
	})
}
