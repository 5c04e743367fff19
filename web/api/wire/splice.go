package wire

import (
	"encoding/json"

	"fawn/agent"
	"fawn/agent/runs/runevent"
	"fawn/web/httpx"
)

// splicer writes the frames of one growing message. Everything but the piece itself is the
// same in all of them and made once.
type splicer struct {
	suffix string // suffix of the event name: "" or "|namespace"
	meta   []byte

	text      []byte // bytes before the piece of text
	textEnd   []byte // bytes after it, up to the number
	reason    []byte
	reasonEnd []byte

	id string
}

func newSplicer(id, suffix string, meta []byte) *splicer {
	s := &splicer{id: id, suffix: suffix, meta: meta}
	head := "event: messages" + suffix + "\ndata: [{\"content\":\""
	rest := string(appendQuoted([]byte(`"type":"AIMessageChunk","id":"`), id)) +
		`","response_metadata":{},"name":null,"tool_calls":[],"invalid_tool_calls":[],"tool_call_chunks":[],"usage_metadata":null},` +
		string(meta) + "]\nid: "
	s.text = []byte(head)
	s.textEnd = []byte(`","additional_kwargs":{},` + rest)
	s.reason = []byte(head + `","additional_kwargs":{"reasoning_content":"`)
	s.reasonEnd = []byte(`"},` + rest)
	return s
}

// append adds the frame of one delta.
func (s *splicer) append(dst []byte, ev *runevent.Event) ([]byte, error) {
	switch ev.Kind {
	case runevent.KindText:
		return spliced(dst, s.text, ev.Text, s.textEnd, ev.Seq), nil
	case runevent.KindReasoning:
		return spliced(dst, s.reason, ev.Text, s.reasonEnd, ev.Seq), nil
	}
	chunk, err := chunkOf(s.id, *ev)
	if err != nil {
		return dst, err
	}
	body, err := agent.Encode(chunk)
	if err != nil {
		return dst, err
	}
	pair := make([]byte, 0, len(body)+len(s.meta)+3)
	pair = append(append(append(append(append(pair, '['), body...), ','), s.meta...), ']')
	return httpx.AppendFrame(dst, "messages"+s.suffix, pair, one(ev.Seq)), nil
}

// chunkOf returns one delta as a separate message.
func chunkOf(id string, ev runevent.Event) (chunkJSON, error) {
	chunk := chunkJSON{Type: "AIMessageChunk", ID: id, Kwargs: map[string]any{}, Meta: map[string]any{},
		Calls: []agent.ToolCall{}, Invalid: []agent.InvalidCall{}, Chunks: []callChunk{}}
	var err error
	switch ev.Kind {
	case runevent.KindText:
		chunk.Content = ev.Text
	case runevent.KindReasoning:
		chunk.Kwargs["reasoning_content"] = ev.Text
	case runevent.KindCall:
		err = chunk.call(ev.Data)
	default:
		err = chunk.finish(ev.Data)
	}
	return chunk, err
}

func spliced(dst, head []byte, text string, end []byte, seq int64) []byte {
	dst = append(appendQuoted(append(dst, head...), text), end...)
	return httpx.AppendNumber(dst, seq)
}

// chunkJSON is an AIMessageChunk of LangChain.
type chunkJSON struct {
	Content string              `json:"content"`
	Kwargs  map[string]any      `json:"additional_kwargs"`
	Type    string              `json:"type"`
	ID      string              `json:"id"`
	Meta    map[string]any      `json:"response_metadata"`
	Name    *string             `json:"name"`
	Calls   []agent.ToolCall    `json:"tool_calls"`
	Invalid []agent.InvalidCall `json:"invalid_tool_calls"`
	Chunks  []callChunk         `json:"tool_call_chunks"`
	Usage   json.RawMessage     `json:"usage_metadata"`
}

// callChunk is a piece of a tool call. Name and ID are null but in the first.
type callChunk struct {
	Name  *string `json:"name"`
	Args  string  `json:"args"`
	ID    *string `json:"id"`
	Index int     `json:"index"`
	Type  string  `json:"type"`
}

func (c *chunkJSON) call(data json.RawMessage) error {
	var d agent.CallDelta
	if err := json.Unmarshal(data, &d); err != nil {
		return err
	}
	piece := callChunk{Args: d.Args, Index: d.Index, Type: "tool_call_chunk"}
	if d.Name != "" {
		piece.Name = &d.Name
	}
	if d.ID != "" {
		piece.ID = &d.ID
	}
	c.Chunks = append(c.Chunks, piece)
	if d.Name != "" {
		call := agent.ToolCall{Name: d.Name, ID: d.ID}
		var whole map[string]json.RawMessage
		if json.Unmarshal([]byte(d.Args), &whole) == nil && whole != nil {
			call.Args = json.RawMessage(d.Args)
		}
		c.Calls = append(c.Calls, call)
	}
	return nil
}

func (c *chunkJSON) finish(data json.RawMessage) error {
	var f runevent.Finish
	if err := json.Unmarshal(data, &f); err != nil {
		return err
	}
	if f.Finish != "" {
		c.Meta["finish_reason"] = f.Finish
	}
	if f.Model != "" {
		c.Meta["model_name"] = f.Model
	}
	for k, v := range f.Kwargs {
		c.Kwargs[k] = v
	}
	c.Usage = f.Usage
	return nil
}

// appendPartial adds the message after one more piece, if it is due.
func appendPartial(dst []byte, m *growing, ev *runevent.Event, show bool) ([]byte, error) {
	piece, err := runevent.DraftPiece(*ev)
	if err != nil {
		return dst, err
	}
	m.Sofar.Add(piece)
	if !show {
		return dst, nil
	}
	body, err := agent.Encode(m.Sofar.Message(m.ID, true))
	if err != nil {
		return dst, err
	}
	return appendList(dst, "messages/partial"+m.Own.suffix, body, part(ev.Seq, partWhole)), nil
}
