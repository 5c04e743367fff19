package config

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"fawn/agent/config/syntax"
	"fawn/agent/extensions"
)

// Servers are the entries of mcpServers as they are written: references to variables are not
// resolved, and keys that nobody knows are there too.
type Servers map[string]map[string]any

// BadServers is why a change of the MCP servers is refused.
type BadServers struct{ Why string }

// Error gives the reason.
func (e *BadServers) Error() string { return e.Why }

// ErrNoServer is the error about a server that is not configured.
var ErrNoServer = errors.New("there is no MCP server of that name")

// serverKeys are what the list of servers is called, the usual name first.
var serverKeys = [...]string{"mcpServers", "mcp_servers", "servers"}

func serversOf(o extensions.Object) (key string, _ Servers, err error) {
	key = serverKeys[0]
	for _, k := range serverKeys {
		if o.Get(k) != nil {
			key = k
			break
		}
	}
	out := Servers{}
	raw := o.Get(key)
	if raw == nil {
		return key, out, nil
	}
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	if err := d.Decode(&out); err != nil {
		return key, nil, fmt.Errorf("read MCP servers: %w", err)
	}
	return key, out, nil
}

// Servers reads the MCP servers as they are written.
func (s *Store) Servers() (Servers, error) {
	o, err := extensions.Read(s.Current().ExtensionsPath)
	if err != nil {
		return nil, fmt.Errorf("read MCP servers: %w", err)
	}
	_, list, err := serversOf(o)
	return list, err
}

// EditServers changes the MCP servers and puts the result in force. What would make the
// configuration unusable is a *BadServers; nothing is written then. Whatever else is in the file stays.
func (s *Store) EditServers(change func(Servers) (Servers, error)) error {
	s.editing.Lock()
	defer s.editing.Unlock()
	file := s.Current().ExtensionsPath
	if file == "" || s.fixed {
		return ErrFixed
	}
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
		return fmt.Errorf("write MCP servers: %w", err)
	}
	err := extensions.Edit(file, func(o extensions.Object) (extensions.Object, error) {
		key, list, err := serversOf(o)
		if err != nil {
			return nil, err
		}
		if list, err = change(list); err != nil {
			return nil, err
		}
		value, err := encodeServers(o.Get(key), list)
		if err != nil {
			return nil, err
		}
		return o.With(key, value), nil
	}, func(data []byte) error {
		opts := s.opts
		opts.instead = map[string][]byte{file: data}
		_, _, err := load(opts)
		var bad *Invalid
		if errors.As(err, &bad) {
			return &BadServers{serverProblem(bad)}
		}
		return err
	})
	if err != nil {
		return err
	}
	s.Poll()
	return nil
}

// serverProblem is the first thing that is wrong, without a line of a file that has not been written.
func serverProblem(bad *Invalid) string {
	if len(bad.Problems) == 0 {
		return bad.Error()
	}
	return bad.Problems[0].Message
}

// encodeServers keeps the order and the text of entries that have not changed.
func encodeServers(old json.RawMessage, list Servers) (json.RawMessage, error) {
	before, err := extensions.Parse(old)
	if err != nil {
		return nil, err
	}
	var out extensions.Object
	for _, m := range before {
		if _, ok := list[m.Key]; ok && out.Get(m.Key) == nil {
			out = append(out, m)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(list)) {
		var b bytes.Buffer
		e := json.NewEncoder(&b)
		e.SetEscapeHTML(false)
		if err := e.Encode(list[name]); err != nil {
			return nil, err
		}
		var was map[string]any
		d := json.NewDecoder(bytes.NewReader(before.Get(name)))
		d.UseNumber()
		if d.Decode(&was) == nil {
			if same, err := json.Marshal(was); err == nil {
				if now, err := json.Marshal(list[name]); err == nil && bytes.Equal(same, now) {
					continue
				}
			}
		}
		out = out.With(name, bytes.TrimSpace(b.Bytes()))
	}
	return out.MarshalJSON()
}

// Masked are the servers without the values of secrets, with all keys that DeerFlow knows.
func (s Servers) Masked() Servers {
	out := Servers{}
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
			out[key] = syntax.Masked(v, SecretKey(key))
		}
	}
	return out
}

// maskAll hides every text.
func maskAll(v any) any { return syntax.Masked(v, true) }

// maskArgs hides what follows a flag that sounds like a secret.
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
			if strings.HasPrefix(flag, "-") && !strings.Contains(flag, "=") && SecretKey(flag) &&
				!strings.HasPrefix(text, "-") {
				out[i] = syntax.Mask
				continue
			}
		}
		flag, value, ok := strings.Cut(text, "=")
		if ok && value != "" && SecretKey(flag) && !strings.HasPrefix(value, "$") {
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

// oauthFields are names of fields, which sound like secrets and are none.
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
			out[key] = syntax.Masked(x, SecretKey(key))
		}
	}
	return out
}

// Restored are servers that a client has sent, with the secrets that it got masked.
func (s Servers) Restored(stored Servers) (Servers, error) {
	out := Servers{}
	for name, entry := range s {
		if entry == nil {
			return nil, &BadServers{fmt.Sprintf("%s must be an object", name)}
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
				delete(m, key) // as if it were not there
			}
		}
		out[name] = m
	}
	return out, nil
}

// restore puts what is stored in the place of a mask.
func restore(v, old, shown any, at string) (any, error) {
	switch v := v.(type) {
	case string:
		if !strings.Contains(v, syntax.Mask) {
			return v, nil
		}
		if was, ok := old.(string); ok && (shown == v || v == syntax.Mask) {
			return was, nil
		}
		return nil, &BadServers{fmt.Sprintf("%s is %s, but nothing is stored there", at, syntax.Mask)}
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
