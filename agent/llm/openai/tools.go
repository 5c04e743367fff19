package openai

import (
	"bytes"
	"encoding/json"
	"slices"
	"sync"

	client "github.com/sashabaranov/go-openai"

	"fawn/agent"
)

// toolList caches the encoded tools of the last request. They are most of a short request, and nearly every call of a
// program has the same ones.
type toolList struct {
	mu      sync.Mutex
	tools   []agent.Tool // names, descriptions and schemas
	without []string
	json    encoded
}

// encoded returns the tools as chat completions take them, in schemas without the words the provider refuses.
func (l *toolList) encoded(list []*agent.Tool, without []string) any {
	l.mu.Lock()
	defer l.mu.Unlock()
	same := slices.EqualFunc(l.tools, list, func(a agent.Tool, b *agent.Tool) bool {
		return a.Name == b.Name && a.Description == b.Description && bytes.Equal(a.Schema, b.Schema)
	})
	if l.json != nil && same && slices.Equal(l.without, without) {
		return l.json
	}
	said := functions(list, without)
	b, err := json.Marshal(said)
	if err != nil {
		return said // encoding the request reports the same error
	}
	l.tools, l.without, l.json = make([]agent.Tool, len(list)), slices.Clone(without), b
	for i, t := range list {
		l.tools[i] = agent.Tool{Name: t.Name, Description: t.Description, Schema: t.Schema}
	}
	return l.json
}

func functions(list []*agent.Tool, without []string) []client.Tool {
	out := make([]client.Tool, len(list))
	for i, t := range list {
		schema := t.Schema
		if len(schema) == 0 {
			schema = json.RawMessage(`{"type":"object","properties":{}}`)
		}
		if len(without) > 0 {
			schema = withoutWords(schema, without)
		}
		out[i] = client.Tool{Type: client.ToolTypeFunction, Function: &client.FunctionDefinition{
			Name: t.Name, Description: t.Description, Parameters: schema}}
	}
	return out
}
