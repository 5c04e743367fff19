// Package texttools lets models without native tool calls use tools: the prompt describes the tools, the model writes
// its calls as text between marks, and results are user messages. It also handles calls, thoughts and template marks
// that servers wrongly return as text.
package texttools

import (
	"context"
	"iter"
	"sync"

	"fawn/agent"
	"fawn/agent/llm/llmerr"
)

// Memory remembers which models refused tools, while the program runs. It is safe for concurrent use;
// the zero value is ready.
type Memory struct {
	mu   sync.Mutex
	deaf map[string]bool
}

func (m *Memory) knows(key string) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.deaf[key]
}

func (m *Memory) learn(key string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.deaf == nil {
		m.deaf = map[string]bool{}
	}
	m.deaf[key] = true
}

// Always treats a model as one without native tool calls.
func Always(m agent.Model) agent.Model { return &model{below: m, always: true} }

// WhenRefused uses a model's native tool calls until its provider refuses them. The refusal is remembered under key,
// which names the model and its address.
func WhenRefused(m agent.Model, key string, known *Memory) agent.Model {
	return &model{below: m, key: key, known: known}
}

// Native uses a model's native tool calls and also parses calls that its server leaves in the text.
func Native(m agent.Model) agent.Model { return &model{below: m, native: true} }

type model struct {
	below  agent.Model
	always bool
	native bool
	key    string
	known  *Memory
}

// Stream implements agent.Model.
func (m *model) Stream(ctx context.Context, req *agent.Request) iter.Seq2[agent.Chunk, error] {
	return func(yield func(agent.Chunk, error) bool) {
		if m.always || !m.native && m.known.knows(m.key) {
			m.inText(ctx, req, yield)
			return
		}
		seen := false
		r := newReader(req, true)
		for k, err := range m.below.Stream(ctx, req) {
			if err != nil && !seen && !m.native && len(req.Tools) > 0 && refusesTools(err) {
				m.known.learn(m.key)
				m.inText(ctx, req, yield)
				return
			}
			seen = seen || err == nil
			if !r.pass(k, err, yield) {
				return
			}
		}
		r.end(yield)
	}
}

// refusesTools reports whether a provider's failure means that the model has no tool calls.
func refusesTools(err error) bool {
	e := llmerr.Of(err)
	return e != nil && e.RefusesTools()
}

// inText makes the call with the tools in the prompt.
func (m *model) inText(ctx context.Context, req *agent.Request, yield func(agent.Chunk, error) bool) {
	r := newReader(req, false)
	for k, err := range m.below.Stream(ctx, written(req)) {
		if !r.pass(k, err, yield) {
			return
		}
	}
	r.end(yield)
}
