package texttools

import (
	"encoding/json"
	"regexp"
	"slices"
	"strings"
	"sync"

	"fawn/agent"
)

// objects returns the parts of a block which hold one call each.
func objects(body string) []string {
	var list []json.RawMessage
	if json.Unmarshal([]byte(body), &list) == nil {
		var out []string
		for _, raw := range list {
			out = append(out, string(raw))
		}
		return out
	}
	dec := json.NewDecoder(strings.NewReader(body))
	var out []string
	for dec.More() {
		var raw json.RawMessage
		if dec.Decode(&raw) != nil {
			return []string{body} // needs repair
		}
		out = append(out, string(raw))
	}
	return out
}

// Keys under which calls in JSON have their name, and their arguments.
func nameKeys() []string { return []string{"name", "tool", "tool_name", "function"} }
func argsKeys() []string { return []string{"arguments", "parameters", "args", "input"} }

// split finds the name and the arguments of a call. Invalid arguments are returned unchanged: the model gets an error
// and repeats the call.
func (r *reader) split(text string, whole bool) (name, args string, ok bool) {
	raw, err := agent.Mend(text, whole)
	if err != nil {
		m := nameInside().FindStringSubmatch(text)
		if m == nil {
			return "", "", false
		}
		return m[1], text, true
	}
	var c map[string]json.RawMessage
	if json.Unmarshal(raw, &c) != nil {
		return "", "", false
	}
	if inner, ok := c["function"]; ok && c["name"] == nil { // OpenAI's shape
		if below, err := agent.Mend(string(inner), true); err == nil {
			c = nil
			if json.Unmarshal(below, &c) != nil {
				return "", "", false
			}
		}
	}
	for _, key := range nameKeys() {
		if json.Unmarshal(c[key], &name) == nil && name != "" {
			delete(c, key)
			break
		}
	}
	if name == "" {
		for key, v := range c { // a tool's name with its arguments
			if _, known := r.tools[key]; known && len(c) == 1 && v[0] == '{' {
				return key, string(v), true
			}
		}
		return "", "", false
	}
	for _, key := range argsKeys() {
		v, has := c[key]
		if !has {
			continue
		}
		var inner string
		if json.Unmarshal(v, &inner) == nil {
			return name, inner, true // encoded twice
		}
		return name, string(v), true
	}
	for _, key := range []string{"id", "type", "tool_call_id"} {
		delete(c, key)
	}
	flat, err := json.Marshal(c) // arguments next to the name
	return name, string(flat), err == nil
}

var nameInside = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`["'](?:name|tool|tool_name)["']\s*:\s*["']([^"'\n]{1,128})["']`)
})

// mayBeCall reports whether an unmarked beginning of an answer can still become a call: an object with a tool's name
// or, if tools are in the prompt, a fence around one.
func (r *reader) mayBeCall(text string) bool {
	if inner, fenced := strings.CutPrefix(text, "```"); fenced && !r.native {
		word, rest, more := strings.Cut(inner, "\n")
		if len(word) >= 32 || !more {
			return len(word) < 32
		}
		if text = strings.TrimLeft(rest, " \t\r\n"); strings.HasPrefix(text, callOpen) ||
			strings.HasPrefix(callOpen, text) {
			return true
		}
	} else if strings.HasPrefix("```", text) && !r.native {
		return true
	}
	if rest, list := strings.CutPrefix(text, "["); list {
		text = strings.TrimLeft(rest, " \t\r\n")
	}
	if text == "" {
		return true
	}
	if text[0] != '{' {
		return false
	}
	if text = strings.TrimLeft(text[1:], " \t\r\n"); text == "" {
		return true
	}
	if text[0] != '"' && text[0] != '\'' {
		return false
	}
	key, behind, closed := strings.Cut(text[1:], text[:1])
	known := append(append(nameKeys(), argsKeys()...), "id", "type", "tool_call_id")
	if !closed {
		return slices.ContainsFunc(known, func(k string) bool { return strings.HasPrefix(k, key) })
	}
	if !slices.Contains(known, key) {
		return false
	}
	if slices.Contains(nameKeys(), key) {
		if m := nameInside().FindStringSubmatch(text[:min(len(text), maxNamed)]); m != nil {
			_, ok := r.tools[r.named(m[1])]
			return ok
		}
	}
	value := strings.TrimLeft(behind, " \t\r\n:")
	return key != "name" || value == "" || value[0] == '"' || value[0] == '\''
}

// known reports whether unmarked text is a call of an existing tool: other text that begins with a brace or fence is an
// answer.
func (r *reader) known(text string) bool {
	text = unfenced(text)
	if strings.HasPrefix(text, callOpen) {
		return !r.native
	}
	if !strings.HasPrefix(text, "{") && !strings.HasPrefix(text, "[") {
		return false
	}
	for _, part := range objects(text) {
		raw, err := agent.Mend(part, false)
		if err != nil {
			return false
		}
		name, args, ok := r.split(string(raw), false)
		if _, is := r.tools[r.named(name)]; !ok || !is || args == "" {
			return false
		}
		var keys map[string]json.RawMessage
		if r.native && (json.Unmarshal(raw, &keys) != nil || !slices.ContainsFunc(append(argsKeys(), "function"), func(k string) bool {
			return len(keys[k]) > 0
		})) {
			return false
		}
	}
	return true
}

// unfenced returns the inside of a code fence that holds the whole text.
func unfenced(s string) string {
	s = strings.TrimSpace(s)
	inner, ok := strings.CutPrefix(s, "```")
	if !ok {
		return s
	}
	if inner, ok = strings.CutSuffix(inner, "```"); !ok {
		return s
	}
	if word, rest, more := strings.Cut(inner, "\n"); more && !strings.Contains(word, "{") {
		inner = rest
	}
	return strings.TrimSpace(inner)
}
