package openai

import (
	"encoding/json"
	"io"
	"net/http"

	"fawn/agent"
	"fawn/agent/llm/llmerr"
	"fawn/agent/llm/sse"
	"fawn/agent/llm/wire"
)

// responseEvent is an event of the Responses API, of any type.
type responseEvent struct {
	Type     string          `json:"type"`
	Index    int             `json:"output_index"`
	Delta    string          `json:"delta"`
	Item     json.RawMessage `json:"item"`
	Response *responseBody   `json:"response"`
}

// responseBody is the whole answer in the last event.
type responseBody struct {
	Model   string            `json:"model"`
	Status  string            `json:"status"`
	Error   json.RawMessage   `json:"error"`
	Output  []json.RawMessage `json:"output"`
	Usage   json.RawMessage   `json:"usage"`
	Details struct {
		Reason string `json:"reason"`
	} `json:"incomplete_details"`
}

type responseItem struct {
	Type    string `json:"type"`
	CallID  string `json:"call_id"`
	Name    string `json:"name"`
	Args    string `json:"arguments"`
	Content []struct {
		Type    string `json:"type"`
		Text    string `json:"text"`
		Refusal string `json:"refusal"`
	} `json:"content"`
	Summary []struct {
		Text string `json:"text"`
	} `json:"summary"`
}

// response is one stream of the Responses API being read.
type response struct {
	*answer
	seen  map[int]*part // by output_index
	calls int
	items []any // for keyItems

	sealed bool // some reasoning is among them
}

// part is one item of the output that has begun.
type part struct {
	place int  // among the calls
	text  bool // some of its text was shown, or some of its arguments
}

// readResponse yields the whole answer of the Responses API.
func (a *answer) readResponse(resp *http.Response, onData func()) error {
	r := &response{answer: a, seen: map[int]*part{}}
	body, streamed, err := wire.Whole(resp)
	if err != nil {
		return err
	}
	if !streamed {
		var whole responseBody
		if err := json.Unmarshal(body, &whole); err != nil || whole.Status == "" {
			return llmerr.FromStream(body)
		}
		for i, item := range whole.Output {
			if err := r.done(i, item); err != nil {
				return err
			}
		}
		_, err = r.over(&whole)
		return err
	}
	f := sse.New(resp.Body, onData)
	for {
		ev, err := f.Read()
		switch {
		case err == io.EOF:
			return a.end(false)
		case err != nil:
			return wire.Broken(err)
		case string(ev.Data) == "[DONE]":
			continue // some servers send the other API's end marker; ignore it
		}
		if over, err := r.event(ev); over || err != nil {
			return err
		}
	}
}

// event handles one event; over means that it was the last one.
func (r *response) event(ev sse.Event) (over bool, err error) {
	var e responseEvent
	if err := json.Unmarshal(ev.Data, &e); err != nil {
		if ev.Failed {
			return true, llmerr.FromStream(ev.Data)
		}
		return true, wire.Garbled(ev.Data, err)
	}
	switch e.Type {
	case "response.created":
		if e.Response != nil {
			r.model = e.Response.Model
		}
	case "response.output_item.added":
		return false, r.added(e.Index, e.Item)
	case "response.output_item.done":
		return false, r.done(e.Index, e.Item)
	case "response.output_text.delta", "response.refusal.delta":
		r.part(e.Index).text = true
		return false, r.show(e.Delta, "", nil)
	case "response.reasoning_summary_text.delta", "response.reasoning_text.delta":
		r.part(e.Index).text = true
		return false, r.show("", e.Delta, nil)
	case "response.reasoning_summary_part.added":
		if r.part(e.Index).text { // the next paragraph
			return false, r.show("", "\n\n", nil)
		}
	case "response.function_call_arguments.delta":
		p := r.part(e.Index)
		p.text = true
		return false, r.show("", "", []agent.CallDelta{{Index: p.place, Args: e.Delta}})
	case "response.completed", "response.incomplete", "response.failed":
		return r.over(e.Response)
	case "error":
		return true, llmerr.FromStream(ev.Data)
	case "":
		if ev.Failed || llmerr.ParseBody(ev.Data).Message != "" {
			return true, llmerr.FromStream(ev.Data)
		}
	}
	return false, nil
}

func (r *response) part(index int) *part {
	if r.seen[index] == nil {
		r.seen[index] = &part{}
	}
	return r.seen[index]
}

// added starts an item. The name of a call is shown at once.
func (r *response) added(index int, raw json.RawMessage) error {
	var item responseItem
	if r.seen[index] != nil || json.Unmarshal(raw, &item) != nil || item.Type != "function_call" {
		return nil
	}
	r.seen[index] = &part{place: r.calls}
	r.calls++
	return r.show("", "", []agent.CallDelta{{Index: r.seen[index].place, ID: item.CallID, Name: item.Name}})
}

// done ends an item and shows the parts not shown yet.
func (r *response) done(index int, raw json.RawMessage) error {
	var item responseItem
	if json.Unmarshal(raw, &item) != nil {
		return nil
	}
	if err := r.added(index, raw); err != nil {
		return err
	}
	p := r.part(index)
	var text, reasoning string
	var deltas []agent.CallDelta
	switch item.Type {
	case "function_call":
		r.items = append(r.items, object{"type": item.Type, "call_id": item.CallID})
		deltas = []agent.CallDelta{{Index: p.place, Args: item.Args}}
	case "message":
		r.items = append(r.items, object{"type": item.Type})
		for _, c := range item.Content {
			text += c.Text + c.Refusal
		}
	case "reasoning":
		var whole object
		if json.Unmarshal(raw, &whole) == nil && whole["encrypted_content"] != nil {
			delete(whole, "status")
			r.items, r.sealed = append(r.items, whole), true
		}
		for i, s := range item.Summary {
			if i > 0 {
				reasoning += "\n\n"
			}
			reasoning += s.Text
		}
	}
	if p.text {
		return nil
	}
	p.text = true
	return r.show(text, reasoning, deltas)
}

// over ends the answer.
func (r *response) over(whole *responseBody) (bool, error) {
	if whole == nil {
		return true, &llmerr.Error{Class: llmerr.ClassNetwork,
			Message: "the provider ended the stream without the answer", Err: llmerr.ErrGarbled}
	}
	if whole.Model != "" {
		r.model = whole.Model
	}
	switch {
	case whole.Status == "failed" || len(whole.Error) > 0 && string(whole.Error) != "null":
		return true, llmerr.FromStream(append(append([]byte(`{"error":`), orNull(whole.Error)...), '}'))
	case whole.Details.Reason == "max_output_tokens":
		r.finish = "length"
	case whole.Details.Reason != "":
		r.finish = whole.Details.Reason
	case whole.Status == "incomplete", whole.Status == "cancelled":
		r.finish = whole.Status
	case r.calls > 0:
		r.finish = "tool_calls"
	default:
		r.finish = "stop"
	}
	if r.sealed {
		r.kept = r.items
	}
	r.counts = responseUsage(whole.Usage)
	return true, r.end(true)
}

func orNull(raw json.RawMessage) json.RawMessage {
	if len(raw) == 0 {
		return json.RawMessage("null")
	}
	return raw
}

// responseUsage reads the token counts of the Responses API; nil if there are none.
func responseUsage(raw []byte) *agent.Usage {
	var u struct {
		Input        int `json:"input_tokens"`
		Output       int `json:"output_tokens"`
		Total        int `json:"total_tokens"`
		InputDetails struct {
			Cached int `json:"cached_tokens"`
		} `json:"input_tokens_details"`
		OutputDetails struct {
			Reasoning int `json:"reasoning_tokens"`
		} `json:"output_tokens_details"`
	}
	if len(raw) == 0 || json.Unmarshal(raw, &u) != nil || u.Input == 0 && u.Output == 0 {
		return nil
	}
	if u.Total == 0 {
		u.Total = u.Input + u.Output
	}
	return &agent.Usage{Input: u.Input, Output: u.Output, Total: u.Total,
		InputDetails:  counts("cache_read", u.InputDetails.Cached),
		OutputDetails: counts("reasoning", u.OutputDetails.Reasoning)}
}
