package openai

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"iter"
	"net/http"
	"strings"
	"time"

	"fawn/agent"
	"fawn/agent/llm/llmerr"
	"fawn/agent/llm/sse"
	"fawn/agent/llm/wire"
)

// Stream implements agent.Model. A failure of the provider is yielded as *llmerr.Error; the
// end of ctx as its cause.
func (m *Model) Stream(ctx context.Context, req *agent.Request) iter.Seq2[agent.Chunk, error] {
	return func(yield func(agent.Chunk, error) bool) {
		read := (*answer).read
		m.call.Do(ctx, yield, func(ctx context.Context) (*http.Response, error) { return m.begin(ctx, req, &read) },
			func(resp *http.Response, p *wire.Patience) error {
				a := newAnswer(&m.cfg.Dialect, yield)
				return read(a, resp, func() {
					if a.finish != "" { // only token counts and the end marker are pending
						p.AtMost(goodbye)
					} else {
						p.Wait()
					}
				})
			})
	}
}

// begin sends the request to the chosen API and returns the decoder of its answer. Refused fields are omitted, also in
// later calls.
func (m *Model) begin(ctx context.Context, req *agent.Request,
	read *func(*answer, *http.Response, func()) error) (*http.Response, error) {
	for try := 0; ; try++ {
		now := m.apply()
		c := &call{}
		var resp *http.Response
		var err error
		if now.useResponses() {
			*read = (*answer).readResponse
			resp, err = now.respond(ctx, req, c)
		} else {
			resp, err = now.open(ctx, now.build(req), c)
		}
		if err == nil || try == maxLessons {
			return resp, err
		}
		what := m.lessonOf(err, func(field string) bool { return c.sent[field] })
		if what == nil || !m.cfg.Lessons.teach(m.key(), what) {
			return nil, err
		}
	}
}

// goodbye is the time a stream may stay open without data after its answer is complete.
const goodbye = 10 * time.Second

// answer is one stream being read.
type answer struct {
	yield func(agent.Chunk, error) bool

	model   string
	shown   bool // the model's name was yielded
	usage   []byte
	finish  string
	visible bool
	calls   calls
	details details
	extra   map[string]any
	think   thinkSplitter

	text, reasoning *growing // nil where pieces are never repeated

	cutText, cutThought halves // of characters split across chunks

	kept   []any        // parts of an answer of the Responses API
	counts *agent.Usage // its counts
}

func newAnswer(d *Dialect, yield func(agent.Chunk, error) bool) *answer {
	a := &answer{yield: yield}
	if d.Repeats {
		a.text, a.reasoning, a.details.growing = &growing{}, &growing{}, &growing{}
	}
	return a
}

// read yields the whole answer. onData is called before each wait that follows data.
func (a *answer) read(resp *http.Response, onData func()) error {
	body, streamed, err := wire.Whole(resp)
	if err == nil && !streamed {
		if err = a.general(body, false); err == nil {
			err = a.end(true)
		}
	}
	if err != nil || !streamed {
		return err
	}
	f := sse.New(resp.Body, onData)
	for {
		ev, err := f.Read()
		switch {
		case err == io.EOF:
			return a.end(false)
		case err != nil && a.finish != "" && !errors.Is(err, sse.ErrLong):
			return a.end(false) // the answer is complete; only its end marker is missing
		case err != nil:
			return wire.Broken(err)
		}
		if isDone(ev.Data) {
			return a.end(true)
		}
		if err := a.event(ev); err != nil {
			return err
		}
	}
}

// isDone reports whether a payload is the goodbye.
func isDone(data []byte) bool {
	return len(data) <= 10 && strings.EqualFold(strings.Trim(string(data), " \t[]\""), "done")
}

func (a *answer) event(ev sse.Event) error {
	var q quick
	if ev.Failed || !scan(ev.Data, &q) {
		return a.general(ev.Data, ev.Failed)
	}
	if q.usage != nil {
		a.usage = append(a.usage[:0], q.usage...)
	}
	if !wire.Unset(q.finish) {
		a.finish = q.finish
	}
	if len(q.model) > 0 && string(q.model) != a.model {
		a.model = string(q.model)
	}
	text, reasoning := a.text.fresh(q.text), a.reasoning.fresh(q.reasoning)
	if a.cutText.held != "" && text != "" {
		text = a.cutText.join(text, false)
	}
	if a.cutThought.held != "" && reasoning != "" {
		reasoning = a.cutThought.join(reasoning, false)
	}
	return a.show(text, reasoning, nil)
}

// show yields the visible content. It is called for every token.
func (a *answer) show(text, reasoning string, deltas []agent.CallDelta) error {
	if text != "" && a.think.state != thinkDone {
		var thought string
		text, thought = a.think.feed(text)
		reasoning += thought
	}
	return a.put(text, reasoning, deltas)
}

// put yields visible content that was separated.
func (a *answer) put(text, reasoning string, deltas []agent.CallDelta) error {
	late := a.think.late
	a.think.late = false
	if reasoning != "" && a.think.state == thinkOpen && a.think.pending == "" {
		a.think.state = thinkDone // thoughts arrive separately from the answer
	}
	if text == "" && reasoning == "" && len(deltas) == 0 && !late {
		return nil
	}
	a.visible = true
	k := agent.Chunk{Text: text, Reasoning: reasoning, Calls: deltas, Thought: late}
	if !a.shown {
		k.Model, a.shown = a.model, a.model != ""
	}
	if !a.yield(k, nil) {
		return wire.ErrStopped
	}
	return nil
}

// general reads a chunk of any shape.
func (a *answer) general(data []byte, failed bool) error {
	var w wireChunk
	err := json.Unmarshal(data, &w)
	if failed || err == nil && (isSet(w.Error) || isSet(w.Errors)) {
		return llmerr.FromStream(data)
	}
	if err != nil {
		if a.finish != "" {
			return nil // the answer is complete; only its end marker is broken
		}
		if words := bytes.TrimSpace(data); len(words) == 0 || isPing(words) {
			return nil
		}
		return wire.Garbled(data, err)
	}
	if code := int(w.BaseResp.v.Code); code != 0 {
		return minimaxFailure(code, string(w.BaseResp.v.Message))
	}
	if w.Choices == nil && a.finish == "" && !a.visible && llmerr.Failed(data) {
		return llmerr.FromStream(data)
	}
	if w.Model != "" {
		a.model = string(w.Model)
	}
	if isSet(w.Usage) {
		a.usage = w.Usage
	}
	for _, c := range w.Choices {
		if isSet(c.Error) {
			return llmerr.FromStream(append(append([]byte(`{"error":`), c.Error...), '}'))
		}
		if c.Index.at != 0 {
			continue // one answer was requested
		}
		if !wire.Unset(string(c.Finish)) {
			a.finish = string(c.Finish)
		}
		if isSet(c.Usage) && len(a.usage) == 0 {
			a.usage = c.Usage
		}
		d := &c.Delta.v
		if m := &c.Message.v; d.blank() && !m.blank() {
			d = m
		}
		if d.Content == "" {
			d.Content = c.Text
		}
		if err := a.delta(d); err != nil {
			return err
		}
	}
	return nil
}

// isSet reports whether a field is present and meaningful.
func isSet(raw json.RawMessage) bool {
	switch string(raw) {
	case "", "null", `""`, "{}", "[]", "false":
		return false
	}
	return true
}

// isPing reports whether the payload of an event only keeps the connection alive.
func isPing(words []byte) bool {
	switch strings.ToLower(string(words)) {
	case "ping", "keep-alive", "keepalive", "heartbeat", "[heartbeat]", "[ping]":
		return true
	}
	return false
}

// blank reports whether a delta is empty.
func (d *wireDelta) blank() bool {
	return d.Content == "" && d.ReasoningContent == "" && d.Reasoning == "" && d.Refusal == "" &&
		len(d.Details) == 0 && len(d.Calls) == 0 && d.Call == nil && d.Extra == nil
}

func (a *answer) delta(d *wireDelta) error {
	text, reasoning := string(d.Content), string(d.ReasoningContent)
	if d.Refusal != "" {
		text += string(d.Refusal)
	}
	if reasoning == "" {
		reasoning = string(d.Reasoning)
	}
	text, reasoning = a.text.fresh(text), a.reasoning.fresh(reasoning)
	text, reasoning = a.cutText.join(text, false), a.cutThought.join(reasoning, false)
	seen := ""
	for _, raw := range d.Details {
		seen += a.details.add(raw)
	}
	if reasoning == "" {
		reasoning = seen
	}
	a.keep("", d.Extra)
	if d.Call != nil && len(d.Calls) == 0 {
		d.Calls = wireList[wireCall]{{Index: wireIndex{0, true}, Function: wireMaybe[wireFunction]{*d.Call}}}
	}
	var deltas []agent.CallDelta
	for _, w := range d.Calls {
		delta, id := a.calls.add(w)
		a.keep(id, w.Extra)
		if delta.ID != "" || delta.Name != "" || delta.Args != "" {
			deltas = append(deltas, delta)
		}
	}
	return a.show(text, reasoning, deltas)
}

// keep stores provider data that must be sent back with call id, or with the message.
func (a *answer) keep(id string, extra any) {
	if extra == nil || isThoughtMark(extra) {
		return
	}
	if a.extra == nil {
		a.extra = map[string]any{}
	}
	a.extra[id] = extra
}

// isThoughtMark reports whether provider data only marks a piece as a Gemini thought, which isn't sent back.
func isThoughtMark(extra any) bool {
	all, _ := extra.(object)
	google, _ := all["google"].(object)
	return len(all) == 1 && len(google) == 1 && google["thought"] != nil
}

// end yields data that is known only at the end. done means that the provider marked the stream as complete.
func (a *answer) end(done bool) error {
	text, thought := a.think.flush()
	text, thought = text+a.cutText.join("", true), thought+a.cutThought.join("", true)
	if err := a.put(text, thought, nil); err != nil {
		return err
	}
	switch {
	case a.finish == "" && !done:
		return wire.Cut()
	case a.finish == "" && !a.visible:
		return wire.Empty()
	case a.finish == "" && len(a.calls.list) > 0:
		a.finish = "tool_calls"
	case a.finish == "":
		a.finish = "stop"
	default:
		if err := wire.Ended(a.finish); err != nil {
			return err
		}
	}
	k := agent.Chunk{Finish: a.finish, Usage: usage(a.usage)}
	if a.counts != nil {
		k.Usage = a.counts
	}
	if !a.shown {
		k.Model = a.model
	}
	if v := a.details.value(); v != nil {
		k.Kwargs = map[string]any{keyDetails: v}
	}
	if a.extra != nil {
		if k.Kwargs == nil {
			k.Kwargs = map[string]any{}
		}
		k.Kwargs[keyExtra] = a.extra
	}
	if len(a.kept) > 0 {
		k.Kwargs = map[string]any{keyItems: a.kept}
	}
	if !a.yield(k, nil) {
		return wire.ErrStopped
	}
	return nil
}
