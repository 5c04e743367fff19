package httpx

import (
	"encoding/json"
	"net/url"
	"strconv"
	"strings"
)

// List reads a list parameter in every encoding clients use: a repeated key, a JSON list
// of strings, or a plain value. Absent is nil.
func List(q url.Values, name string) []string {
	var out []string
	for _, v := range q[name] {
		v = strings.TrimSpace(v)
		var list []string
		switch {
		case v == "" || v == "null":
		case v[0] == '[' && json.Unmarshal([]byte(v), &list) == nil:
			out = append(out, list...)
		default:
			out = append(out, unquoted(v))
		}
	}
	return out
}

// unquoted returns a value that a client may have sent as a JSON string.
func unquoted(v string) string {
	var s string
	if len(v) > 1 && v[0] == '"' && json.Unmarshal([]byte(v), &s) == nil {
		return s
	}
	return v
}

// Bool reads a flag: 1, true and yes against 0, false, no and nothing, in any case. Absent
// is def, anything else a 422.
func Bool(q url.Values, name string, def bool) (bool, error) {
	if !q.Has(name) {
		return def, nil
	}
	switch strings.ToLower(q.Get(name)) {
	case "1", "true", "yes":
		return true, nil
	case "0", "false", "no", "", "null":
		return false, nil
	}
	return false, Invalid("query", name, "want true or false, got %q", q.Get(name))
}

// Int reads a whole number between low and high. Absent is def, anything else a 422.
func Int(q url.Values, name string, def, low, high int) (int, error) {
	v := q.Get(name)
	if v == "" || v == "null" {
		return def, nil
	}
	n, err := strconv.Atoi(v)
	if err != nil || n < low || n > high {
		return 0, Invalid("query", name, "want a whole number from %d to %d, got %q", low, high, v)
	}
	return n, nil
}
