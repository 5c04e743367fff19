package servers

import (
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
)

// Parse reads MCP servers from the JSON of Claude Desktop, Cursor, VS Code and others: whole
// files, or only the object with the servers. An entry that it refuses is a *Bad; the other servers are returned.
func Parse(text string) (List, error) {
	d := json.NewDecoder(strings.NewReader(text))
	d.UseNumber()
	var top map[string]any
	if err := d.Decode(&top); err != nil || d.More() {
		return nil, &Bad{Why: "that is not a JSON object"}
	}
	if inner, ok := top["mcp"].(map[string]any); ok && inner["command"] == nil && inner["url"] == nil {
		top = inner // settings.json of VS Code
	}
	list := top
	for _, key := range Keys() {
		if inner, ok := top[key].(map[string]any); ok && inner["command"] == nil && inner["url"] == nil {
			list = inner
			break
		}
	}
	out := List{}
	var refused []string
	for _, name := range slices.Sorted(maps.Keys(list)) {
		entry, ok := list[name].(map[string]any)
		if !ok || entry["command"] == nil && entry["url"] == nil &&
			entry["serverUrl"] == nil && entry["httpUrl"] == nil {
			refused = append(refused, fmt.Sprintf("%q has neither a command nor a url", name))
			continue
		}
		for other, typ := range map[string]any{"serverUrl": nil, "httpUrl": "http"} {
			if address, ok := entry[other]; ok && entry["url"] == nil {
				entry["url"] = address
				if typ != nil && entry["type"] == nil {
					entry["type"] = typ
				}
				delete(entry, other)
			}
		}
		if err := foreignVariables(entry, name); err != nil {
			refused = append(refused, err.Error())
			continue
		}
		out[name] = entry
	}
	switch {
	case len(refused) > 0:
		return out, &Bad{Why: strings.Join(refused, "; ")}
	case len(out) == 0:
		return nil, &Bad{Why: "there is no server in it"}
	}
	return out, nil
}

// foreignVariables converts other programs' references to ours, which must be whole values.
func foreignVariables(entry map[string]any, at string) error {
	whole := regexp.MustCompile(`^\$\{(?:env:|input:)?([A-Za-z_][A-Za-z0-9_.-]*)\}$`)
	fallback := regexp.MustCompile(`^\$\{[A-Za-z_][A-Za-z0-9_]*:-[^${}]*\}$`)
	var walk func(v any) (any, error)
	walk = func(v any) (any, error) {
		switch v := v.(type) {
		case string:
			if rest, ok := strings.CutPrefix(v, "${workspaceFolder}"); ok {
				v = "/mnt/user-data/workspace" + rest
			}
			if m := whole.FindStringSubmatch(v); m != nil {
				name := strings.NewReplacer("-", "_", ".", "_").Replace(m[1])
				if strings.HasPrefix(v, "${input:") {
					name = strings.ToUpper(name)
				}
				return "$" + name, nil
			}
			if fallback.MatchString(v) {
				return v, nil
			}
			if strings.Contains(v, "${") {
				return nil, &Bad{Why: fmt.Sprintf("%s has a variable inside a longer value; "+
					"make the whole value $NAME", at)}
			}
			return v, nil
		case []any:
			for i := range v {
				var err error
				if v[i], err = walk(v[i]); err != nil {
					return nil, err
				}
			}
		case map[string]any:
			for key := range v {
				var err error
				if v[key], err = walk(v[key]); err != nil {
					return nil, err
				}
			}
		}
		return v, nil
	}
	_, err := walk(entry)
	return err
}
