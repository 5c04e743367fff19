package store

import (
	"bytes"
	"database/sql/driver"
	"encoding/json"
	"fmt"
	"maps"
	"sync"

	"modernc.org/sqlite"
)

// patchedMetadata returns the expression for a thread's metadata after the patch of p, with its arguments. A database
// function merges members into the current value, so concurrent patches both take effect.
func (p *batch) patchedMetadata() (expr string, args []any, err error) {
	pa := p.Patch
	if pa.Merge == nil && pa.MergeNew == nil {
		return `coalesce(?, metadata)`, []any{objectText(pa.Metadata)}, nil
	}
	for _, raw := range []json.RawMessage{pa.Metadata, pa.MergeNew, pa.Merge} {
		if _, err := members(raw); err != nil {
			return "", nil, fmt.Errorf("thread %s: metadata: %w", p.ThreadID, err)
		}
	}
	return `merged_members(coalesce(?, metadata), ?, ?)`,
		[]any{objectText(pa.Metadata), object(pa.MergeNew), object(pa.Merge)}, nil
}

// mergeFunction registers merged_members for SQLite connections opened from then on.
var mergeFunction = sync.OnceValue(func() error {
	return sqlite.RegisterDeterministicScalarFunction("merged_members", 3,
		func(_ *sqlite.FunctionContext, args []driver.Value) (driver.Value, error) {
			var raw [3][]byte
			for i, a := range args {
				switch a := a.(type) {
				case string:
					raw[i] = []byte(a)
				case []byte:
					raw[i] = a
				}
			}
			return mergedMembers(raw[0], raw[1], raw[2])
		})
})

// mergedMembers merges over into have, and fills in absent members from fresh.
func mergedMembers(have, fresh, over []byte) (string, error) {
	all, err := members(fresh)
	if err != nil {
		return "", err
	}
	for _, raw := range [][]byte{have, over} {
		m, err := members(raw)
		if err != nil {
			return "", err
		}
		maps.Copy(all, m)
	}
	var out bytes.Buffer
	enc := json.NewEncoder(&out)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(all); err != nil {
		return "", err
	}
	return string(bytes.TrimSpace(out.Bytes())), nil
}

// members decodes the members of a JSON object; nothing and null have none.
func members(raw json.RawMessage) (map[string]json.RawMessage, error) {
	m := map[string]json.RawMessage{}
	if len(raw) == 0 {
		return m, nil
	}
	if err := json.Unmarshal(raw, &m); err != nil {
		return nil, err
	}
	if m == nil { // null
		m = map[string]json.RawMessage{}
	}
	return m, nil
}
