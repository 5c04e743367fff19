package store

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"maps"
)

// mergedMetadata is a thread's metadata with the members a patch brings, nil when they
// change nothing. It is read inside the transaction, so that of two patches in one
// moment both have their effect.
func (w *writer) mergedMetadata(thread string, p *ThreadPatch) (*string, error) {
	s, err := w.stmt(`SELECT metadata FROM thread WHERE id = ?`)
	if err != nil {
		return nil, err
	}
	old := []byte(p.Metadata)
	if old == nil {
		if err := s.QueryRowContext(context.Background(), thread).Scan(&old); err != nil {
			return nil, translate(err)
		}
	}
	have, err := members(old)
	if err != nil {
		return nil, fmt.Errorf("metadata: %w", err)
	}
	fresh, err := members(p.MergeNew)
	if err != nil {
		return nil, fmt.Errorf("metadata: %w", err)
	}
	over, err := members(p.Merge)
	if err != nil {
		return nil, fmt.Errorf("metadata: %w", err)
	}
	maps.Copy(fresh, have)
	maps.Copy(fresh, over)
	var out bytes.Buffer
	enc := json.NewEncoder(&out)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(fresh); err != nil {
		return nil, err
	}
	merged := string(bytes.TrimSpace(out.Bytes()))
	if merged == string(old) && p.Metadata == nil {
		return nil, nil
	}
	return &merged, nil
}

// members are those of a JSON object; nothing and null have none.
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
