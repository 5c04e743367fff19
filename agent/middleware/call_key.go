package middleware

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"fawn/agent"
)

// readBucket is the number of lines that count as the same place of a file.
const readBucket = 200

// callsHash returns the same value for answers that make equivalent calls, in any order.
func callsHash(calls []agent.ToolCall) string {
	keys := make([]string, len(calls))
	for i, c := range calls {
		keys[i] = c.Name + ":" + callKey(c)
	}
	slices.Sort(keys)
	sum := sha256.Sum256([]byte(strings.Join(keys, "\x00")))
	return hex.EncodeToString(sum[:])[:12]
}

// callKey identifies a call, ignoring insignificant variations.
func callKey(c agent.ToolCall) string {
	args := map[string]any{}
	raw := []byte(c.Args)
	var text string
	if json.Unmarshal(raw, &text) == nil {
		raw = []byte(text)
	}
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.UseNumber()
	if dec.Decode(&args) != nil {
		return string(raw)
	}
	switch c.Name {
	case "read_file":
		from, to := line(args["start_line"], 1), line(args["end_line"], 0)
		if to != 0 && to < from {
			from, to = to, from
		}
		return fmt.Sprint(args["path"], " ", max(from-1, 0)/readBucket, " ", max(to-1, 0)/readBucket)
	case "write_file", "str_replace":
		return wholeKey(args)
	}
	named := map[string]any{}
	for _, name := range []string{"path", "url", "query", "command", "pattern", "glob", "cmd"} {
		if v, ok := args[name]; ok && v != nil {
			named[name] = v
		}
	}
	if len(named) == 0 {
		if named = args; len(args) > 1 {
			delete(named, "description") // the reason doesn't matter
		}
	}
	return wholeKey(named)
}

// wholeKey returns an object with its keys in order.
func wholeKey(args map[string]any) string {
	b, err := json.Marshal(args)
	if err != nil { // decoded JSON always encodes
		return fmt.Sprint(args)
	}
	return string(b)
}

func line(v any, otherwise int) int {
	n, ok := v.(json.Number)
	if !ok {
		return otherwise
	}
	i, err := n.Int64()
	if err != nil {
		return otherwise
	}
	return int(min(max(i, 0), 1<<40))
}
