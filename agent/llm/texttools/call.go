package texttools

import (
	"encoding/json"
	"regexp"
	"strings"
	"sync"

	"fawn/agent"
)

// objects are the parts of a block which hold one call each.
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
			return []string{body} // one that needs mending
		}
		out = append(out, string(raw))
	}
	return out
}

// split finds the name and the arguments of a call. Arguments that cannot be read are given
// as they are: the model is told then, and sends the call again.
func split(text string, whole bool) (name, args string, ok bool) {
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
	for _, key := range []string{"name", "tool", "tool_name", "function"} {
		if json.Unmarshal(c[key], &name) == nil && name != "" {
			delete(c, key)
			break
		}
	}
	if name == "" {
		return "", "", false
	}
	for _, key := range []string{"arguments", "parameters", "args", "input"} {
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
	delete(c, "id")
	delete(c, "type")
	flat, err := json.Marshal(c) // the arguments beside the name
	return name, string(flat), err == nil
}

var nameInside = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`["'](?:name|tool)["']\s*:\s*["']([A-Za-z0-9_.-]{1,128})["']`)
})

// mayBeCall tells of the beginning of an answer without tags whether it can still become a
// call: a brace, or a fence with nothing but a word before one.
func mayBeCall(text string) bool {
	text = strings.TrimLeft(text, " \t\r\n")
	if inner, fenced := strings.CutPrefix(text, "```"); fenced {
		word, rest, more := strings.Cut(inner, "\n")
		if len(word) >= 32 || !more {
			return len(word) < 32
		}
		text = strings.TrimLeft(rest, " \t\r\n")
	} else if strings.HasPrefix("```", text) {
		return true
	}
	return text == "" || text[0] == '{' || text[0] == '['
}

// known tells whether text without tags is a call of a tool there is: anything else that
// begins with a brace or a fence is an answer.
func known(text string, names map[string]bool) bool {
	text = unfenced(text)
	if !strings.HasPrefix(text, "{") && !strings.HasPrefix(text, "[") {
		return false
	}
	for _, part := range objects(text) {
		raw, err := agent.Mend(part, false)
		if err != nil {
			return false
		}
		name, args, ok := split(string(raw), false)
		if !ok || !names[name] || args == "" {
			return false
		}
	}
	return true
}

// unfenced is the inside of a code fence that holds the whole text.
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
