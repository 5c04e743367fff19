package agent

import (
	"context"
	"fmt"
	"iter"
	"maps"
	"slices"
	"strings"
)

// Model is one chat model. Stream yields deltas until the answer is complete or an error ends it; breaking out of the
// loop or cancelling ctx stops the call. An error after the last chunk is yielded with a zero Chunk. Stream is safe for
// concurrent use.
type Model interface {
	Stream(ctx context.Context, req *Request) iter.Seq2[Chunk, error]
}

// Chunk is one delta of an answer. Usage, Finish, Model and Kwargs arrive once, usually last.
type Chunk struct {
	Text      string
	Reasoning string
	Calls     []CallDelta
	Usage     *Usage
	Finish    string // the provider's finish reason: stop, tool_calls, length, …
	Model     string
	Thought   bool           // all text before this chunk was a thought after all
	Kwargs    map[string]any // provider data to keep with the message, such as signatures
}

// CallDelta is a piece of a tool call. The first of an index carries ID and Name.
type CallDelta struct {
	Index int    `json:"index"`
	ID    string `json:"id,omitempty"`
	Name  string `json:"name,omitempty"`
	Args  string `json:"args,omitempty"`
}

// Visible reports whether a person could have seen something of this chunk.
func (c Chunk) Visible() bool { return c.Text != "" || c.Reasoning != "" || len(c.Calls) > 0 }

// Collector folds chunks into a message. The zero value is ready.
type Collector struct {
	text, reasoning strings.Builder
	calls           map[int]*collected
	usage           *Usage
	finish, model   string
	kwargs          map[string]any
}

type collected struct {
	id, name string
	args     strings.Builder
}

// Add adds the next chunk.
func (c *Collector) Add(k Chunk) {
	if k.Thought {
		c.reasoning.WriteString(c.text.String())
		c.text.Reset()
	}
	c.text.WriteString(k.Text)
	c.reasoning.WriteString(k.Reasoning)
	for _, d := range k.Calls {
		if c.calls == nil {
			c.calls = map[int]*collected{}
		}
		call := c.calls[d.Index]
		if call == nil {
			call = &collected{}
			c.calls[d.Index] = call
		}
		if d.ID != "" {
			call.id = d.ID
		}
		if d.Name != "" {
			call.name = d.Name
		}
		call.args.WriteString(d.Args)
	}
	if k.Usage != nil {
		c.usage = k.Usage
	}
	if k.Finish != "" {
		c.finish = k.Finish
	}
	if k.Model != "" {
		c.model = k.Model
	}
	if len(k.Kwargs) > 0 {
		if c.kwargs == nil {
			c.kwargs = map[string]any{}
		}
		maps.Copy(c.kwargs, k.Kwargs)
	}
}

// Empty reports whether nothing visible has arrived yet.
func (c *Collector) Empty() bool {
	return c.text.Len() == 0 && c.reasoning.Len() == 0 && len(c.calls) == 0
}

// Text returns the visible text so far.
func (c *Collector) Text() string { return c.text.String() }

// Reasoning returns the reasoning so far.
func (c *Collector) Reasoning() string { return c.reasoning.String() }

// Message returns the AI message of all chunks so far. If complete is false, the answer was cut off: partial calls are
// dropped and the finish reason is "interrupted".
func (c *Collector) Message(id string, complete bool) *Message {
	m := &Message{ID: id, Type: TypeAI, Content: Text(c.text.String()), Usage: c.usage, Meta: map[string]any{}}
	if c.reasoning.Len() > 0 || len(c.kwargs) > 0 {
		m.Kwargs = maps.Clone(c.kwargs)
		if m.Kwargs == nil {
			m.Kwargs = map[string]any{}
		}
		if c.reasoning.Len() > 0 {
			m.Kwargs["reasoning_content"] = c.reasoning.String()
		}
	}
	if c.model != "" {
		m.Meta["model_name"] = c.model
	}
	if !complete {
		m.Meta["finish_reason"] = FinishInterrupted
		return m
	}
	for _, i := range slices.Sorted(maps.Keys(c.calls)) {
		call := c.calls[i]
		callID := call.id
		if callID == "" || slices.Contains(m.Calls(), callID) { // results find their call by id
			callID = fmt.Sprintf("%s_%d", id, i)
		}
		m.AddCall(callID, call.name, call.args.String())
	}
	if c.finish != "" {
		m.Meta["finish_reason"] = c.finish
	}
	return m
}

// Collect drains a stream into one message.
func Collect(id string, stream iter.Seq2[Chunk, error]) (*Message, error) {
	var c Collector
	for k, err := range stream {
		if err != nil {
			return c.Message(id, false), err
		}
		c.Add(k)
	}
	return c.Message(id, true), nil
}
