package openai

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"slices"
	"strings"

	"fawn/agent"
)

// echoed selects the messages whose reasoning is sent back; nil means none.
func (d *Dialect) echoed(list []*agent.Message) []bool {
	if d.Echo == EchoNever {
		return nil
	}
	out := make([]bool, len(list))
	from := 0 // start of the turn
	called := false
	mark := func(to int) {
		for i := from; i < to; i++ {
			out[i] = called || d.Echo == EchoAlways
		}
		from, called = to, false
	}
	for i, m := range list {
		if m.Type == agent.TypeHuman {
			mark(i)
		}
		called = called || len(m.ToolCalls) > 0
	}
	mark(len(list))
	return out
}

func (d *Dialect) echoKeys() []string {
	if d.EchoKeys == nil {
		return []string{keyReasoning}
	}
	return d.EchoKeys
}

// effort returns the body fields that set the reasoning effort.
func (d *Dialect) effort(level string) object {
	if len(d.Effort) == 0 {
		return object{"reasoning_effort": level}
	}
	var value any = level
	for _, key := range slices.Backward(d.Effort) {
		value = object{key: value}
	}
	body, _ := value.(object) // at least one key was present
	return body
}

// callID returns an id that the provider accepts. An id of another provider that is too long or has other characters is
// replaced by its hash, so calls and results still match.
func (d *Dialect) callID(id string) string {
	simple := func(r rune) bool {
		return r >= '0' && r <= '9' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z'
	}
	usual := func(r rune) bool { return simple(r) || strings.ContainsRune("_-.:", r) }
	not := func(good func(rune) bool) bool {
		return strings.ContainsFunc(id, func(r rune) bool { return !good(r) })
	}
	sum := sha256.Sum256([]byte(id))
	hash := hex.EncodeToString(sum[:])
	switch {
	case d.ShortID && (len(id) != 9 || not(simple)):
		return hash[:9]
	case d.MaxCallID > 0 && len(id) > d.MaxCallID:
		return "call_" + hash[:d.MaxCallID-len("call_")]
	case len(id) > 64 || not(usual):
		return "call_" + hash[:24]
	}
	return id
}

// joinUsers merges adjacent user messages, such as a note and the user's words: templates of open models require user
// and assistant to alternate.
func joinUsers(list []*agent.Message) []*agent.Message {
	user := func(i int) bool { return i >= 0 && i < len(list) && list[i].Type == agent.TypeHuman }
	out := make([]*agent.Message, 0, len(list))
	for i, m := range list {
		if !user(i) || !user(i-1) {
			out = append(out, m)
			continue
		}
		last := *out[len(out)-1]
		last.Content = joinContent(last.Content, m.Content)
		out[len(out)-1] = &last
	}
	return out
}

func joinContent(a, b agent.Content) agent.Content {
	if a.Blocks == nil && b.Blocks == nil {
		return agent.Text(strings.Trim(a.Text+"\n\n"+b.Text, "\n"))
	}
	return agent.Content{Blocks: append(contentBlocks(a), contentBlocks(b)...)}
}

func contentBlocks(c agent.Content) []json.RawMessage {
	if c.Blocks != nil {
		return slices.Clone(c.Blocks)
	}
	b, err := json.Marshal(object{"type": "text", "text": c.Text})
	if err != nil { // strings always encode
		return nil
	}
	return []json.RawMessage{b}
}

// withoutWords returns a schema without some keywords. They only narrow input that tools validate anyway.
func withoutWords(schema json.RawMessage, words []string) json.RawMessage {
	var root any
	if json.Unmarshal(schema, &root) != nil {
		return schema
	}
	prune(root, words, false)
	out, err := json.Marshal(root)
	if err != nil { // decoded values always encode
		return schema
	}
	return out
}

// prune walks a schema. The keys of an object under properties or definitions are names.
func prune(node any, words []string, names bool) {
	switch node := node.(type) {
	case object:
		for key, below := range node {
			if !names && slices.Contains(words, key) {
				delete(node, key)
				continue
			}
			prune(below, words, !names && (key == "properties" || key == "$defs" || key == "definitions"))
		}
	case []any:
		for _, below := range node {
			prune(below, words, false)
		}
	}
}
