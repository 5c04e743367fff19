package api

import (
	"encoding/json"
	"slices"
	"strconv"
	"strings"

	"fawn/agent"
	"fawn/web/httpx"
	"fawn/web/route"
)

// maxExtracts limits the values that one search extracts from each thread.
const maxExtracts = 10

// crumb is one step of a path into a thread: a member by its name, or of a list by its number,
// which may count from the end.
type crumb struct {
	name  string
	index int
	list  bool
}

// parsePlace reads a path such as values.messages[-1].content.
func parsePlace(path string) ([]crumb, bool) {
	var out []crumb
	for part := range strings.SplitSeq(path, ".") {
		name, rest, _ := strings.Cut(part, "[")
		if name == "" || strings.Contains(name, "]") || len(out) > 32 {
			return nil, false
		}
		out = append(out, crumb{name: name})
		for rest != "" {
			number, more, closed := strings.Cut(rest, "]")
			n, err := strconv.Atoi(number)
			if !closed || err != nil || more != "" && more[0] != '[' {
				return nil, false
			}
			out = append(out, crumb{index: n, list: true})
			rest = strings.TrimPrefix(more, "[")
			if more != "" && rest == "" {
				return nil, false
			}
		}
		if strings.HasSuffix(part, "[") {
			return nil, false
		}
	}
	roots := []string{"values", "metadata", "config", "status", "interrupts", "error", "thread_id", "created_at",
		"updated_at", "state_updated_at"}
	return out, slices.Contains(roots, out[0].name)
}

// at follows a path into a decoded value; null if there is nothing.
func at(v any, path []crumb) any {
	for _, p := range path {
		if p.list {
			list, _ := v.([]any)
			if p.index < 0 {
				p.index += len(list)
			}
			if p.index < 0 || p.index >= len(list) {
				return nil
			}
			v = list[p.index]
			continue
		}
		obj, _ := v.(map[string]any)
		v = obj[p.name]
	}
	return v
}

// extracts are the paths that a search extracts from each thread, by name.
type extracts map[string][]crumb

func parseExtracts(raw map[string]string) (extracts, error) {
	if len(raw) > maxExtracts {
		return nil, httpx.Invalid("body", "extract", "want at most %d paths, got %d", maxExtracts, len(raw))
	}
	out := extracts{}
	for alias, path := range raw {
		places, ok := parsePlace(path)
		if !ok {
			return nil, httpx.Invalid("body", "extract",
				"want paths such as values.title or values.messages[-1].content, got %q", route.Cut(path, 80))
		}
		out[alias] = places
	}
	return out, nil
}

// whole reports whether the paths need more than the thread's row.
func (e extracts) whole() bool {
	for _, places := range e {
		switch places[0].name {
		case "values":
			if len(places) != 2 || places[1].name != "title" {
				return true
			}
		case "interrupts", "error":
			return true
		}
	}
	return false
}

// from reads the paths from a thread.
func (e extracts) from(t threadJSON) (json.RawMessage, error) {
	b, err := agent.Encode(t)
	if err != nil {
		return nil, err
	}
	var all any
	if err := json.Unmarshal(b, &all); err != nil {
		return nil, err
	}
	out := make(map[string]any, len(e))
	for alias, places := range e {
		out[alias] = at(all, places)
	}
	return agent.Encode(out)
}
