// Package servers reads and writes lists of MCP servers in the formats of several programs and identifies their
// secrets. Package agent/mcp connects to the servers.
package servers

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strings"

	"fawn/agent/config/syntax"
)

// Keys returns the possible names of the list of servers, the usual one first.
func Keys() []string { return []string{"mcpServers", "mcp_servers", "servers"} }

// List holds the entries of mcpServers as written: references to variables are unresolved, and unknown keys are
// included.
type List map[string]map[string]any

// Bad is why a change of the MCP servers is refused.
type Bad struct {
	Why   string
	NoKey bool     // there is no key to seal secrets shared with other servers
	Asks  *Command // command the owner must approve first; nil for none
}

// Command is the command that a server runs, as shown to its owner for approval.
type Command struct{ Name, Line, Sum string }

// CommandOf returns the command of an entry. Its sum changes with everything that affects the command.
func CommandOf(name string, entry map[string]any) *Command {
	var words []string
	variables, _ := entry["env"].(map[string]any)
	for _, key := range slices.Sorted(maps.Keys(variables)) {
		words = append(words, key+"=…")
	}
	words = append(words, fmt.Sprint(entry["command"]))
	list, _ := entry["args"].([]any)
	for _, a := range list {
		word := fmt.Sprint(a)
		if word == "" || strings.ContainsAny(word, " \t\n'\"\\$`|&;<>()*?#~") {
			word = "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
		}
		words = append(words, word)
	}
	b, err := json.Marshal([]any{name, entry})
	if err != nil { // it was read from JSON
		b = []byte(strings.Join(words, "\x00"))
	}
	sum := sha256.Sum256(b)
	return &Command{Name: name, Line: strings.Join(words, " "), Sum: hex.EncodeToString(sum[:16])}
}

// Error returns the reason.
func (e *Bad) Error() string { return e.Why }

// Masked returns the servers with masked secrets and with all keys that DeerFlow knows.
func (s List) Masked() List {
	out := List{}
	for name, entry := range s {
		m := maskEntry(entry)
		for key, usual := range map[string]any{"enabled": true, "command": nil, "args": []any{},
			"env": map[string]any{}, "url": nil, "headers": map[string]any{}, "oauth": nil, "description": "",
			"tools":            map[string]any{},
			"routing":          map[string]any{"mode": "off", "priority": 0, "keywords": []any{}},
			"tool_name_prefix": true, "tool_call_timeout": nil} {
			if _, ok := m[key]; !ok {
				m[key] = usual
			}
		}
		if _, ok := m["type"]; !ok {
			m["type"] = "stdio"
			if _, ok := entry["transport"].(string); ok {
				m["type"] = entry["transport"]
			} else if m["command"] == nil && m["url"] != nil {
				m["type"] = "http"
			}
		}
		out[name] = m
	}
	return out
}

func maskEntry(entry map[string]any) map[string]any {
	out := map[string]any{}
	for key, v := range entry {
		switch key {
		case "env", "headers":
			out[key] = maskAll(v)
		case "args":
			out[key] = maskArgs(v)
		case "url":
			out[key] = maskURL(v)
		case "oauth":
			out[key] = maskOAuth(v)
		default:
			out[key] = syntax.Masked(v, syntax.SecretKey(key))
		}
	}
	return out
}

// maskAll hides every text.
func maskAll(v any) any { return syntax.Masked(v, true) }

// maskArgs masks the value after a flag that sounds like a secret.
func maskArgs(v any) any {
	list, ok := v.([]any)
	if !ok {
		return maskAll(v)
	}
	out := slices.Clone(list)
	for i, a := range out {
		text, _ := a.(string)
		if text == "" || strings.HasPrefix(text, "$") {
			continue
		}
		if i > 0 {
			flag, _ := list[i-1].(string)
			if strings.HasPrefix(flag, "-") && !strings.Contains(flag, "=") && syntax.SecretKey(flag) &&
				!strings.HasPrefix(text, "-") {
				out[i] = syntax.Mask
				continue
			}
		}
		flag, value, ok := strings.Cut(text, "=")
		if ok && value != "" && syntax.SecretKey(flag) && !strings.HasPrefix(value, "$") {
			out[i] = flag + "=" + syntax.Mask
		}
	}
	return out
}

// maskURL hides the password and the parameters.
func maskURL(v any) any {
	text, ok := v.(string)
	if !ok {
		return v
	}
	u, err := url.Parse(text)
	if err != nil {
		return syntax.Mask
	}
	if _, set := u.User.Password(); set {
		text = strings.Replace(text, u.User.String()+"@", u.User.Username()+":"+syntax.Mask+"@", 1)
	}
	if head, query, ok := strings.Cut(text, "?"); ok {
		pairs := strings.Split(query, "&")
		for i, p := range pairs {
			if key, value, ok := strings.Cut(p, "="); ok && value != "" {
				pairs[i] = key + "=" + syntax.Mask
			}
		}
		text = head + "?" + strings.Join(pairs, "&")
	}
	return text
}

// oauthFields are names of fields that sound like secrets but aren't.
var oauthFields = []string{"token_url", "token_field", "token_type_field", "default_token_type"}

func maskOAuth(v any) any {
	m, ok := v.(map[string]any)
	if !ok {
		return v
	}
	out := map[string]any{}
	for key, x := range m {
		switch {
		case key == "client_secret", key == "refresh_token":
			out[key] = nil
		case key == "extra_token_params":
			out[key] = maskAll(x)
		case slices.Contains(oauthFields, key):
			out[key] = x
		default:
			out[key] = syntax.Masked(x, syntax.SecretKey(key))
		}
	}
	return out
}

// Restored returns servers sent by a client with masked secrets restored.
func (s List) Restored(stored List) (List, error) {
	out := List{}
	for name, entry := range s {
		if entry == nil {
			return nil, &Bad{Why: fmt.Sprintf("%s must be an object", name)}
		}
		old := stored[name]
		shown := maskEntry(old)
		m := map[string]any{}
		for key, v := range entry {
			restored, err := restore(v, old[key], shown[key], name+"."+key)
			if err != nil {
				return nil, err
			}
			m[key] = restored
		}
		for _, key := range []string{"routing", "tools"} {
			if _, sent := m[key]; !sent && old[key] != nil {
				m[key] = old[key]
			}
		}
		if o, ok := m["oauth"].(map[string]any); ok {
			was, _ := old["oauth"].(map[string]any)
			for _, key := range []string{"client_secret", "refresh_token"} {
				switch v, sent := o[key]; {
				case sent && v == "":
					delete(o, key)
				case v == nil && was[key] != nil:
					o[key] = was[key]
				case v == nil:
					delete(o, key)
				}
			}
		}
		for key, v := range m {
			if v == nil {
				delete(m, key) // as if it were absent
			}
		}
		out[name] = m
	}
	return out, nil
}

// restore replaces a mask with the stored value.
func restore(v, old, shown any, at string) (any, error) {
	switch v := v.(type) {
	case string:
		if !strings.Contains(v, syntax.Mask) {
			return v, nil
		}
		if was, ok := old.(string); ok && (shown == v || v == syntax.Mask) {
			return was, nil
		}
		return nil, &Bad{Why: fmt.Sprintf("%s is %s, but nothing is stored there", at, syntax.Mask)}
	case map[string]any:
		before, _ := old.(map[string]any)
		seen, _ := shown.(map[string]any)
		out := map[string]any{}
		for key, x := range v {
			r, err := restore(x, before[key], seen[key], at+"."+key)
			if err != nil {
				return nil, err
			}
			out[key] = r
		}
		return out, nil
	case []any:
		before, _ := old.([]any)
		seen, _ := shown.([]any)
		out := make([]any, len(v))
		for i, x := range v {
			var b, s any
			if i < len(before) && i < len(seen) {
				b, s = before[i], seen[i]
			}
			r, err := restore(x, b, s, fmt.Sprintf("%s[%d]", at, i))
			if err != nil {
				return nil, err
			}
			out[i] = r
		}
		return out, nil
	}
	return v, nil
}
