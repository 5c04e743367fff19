package api

import (
	"encoding/json"
	"testing"
)

func FuzzAliased(f *testing.F) {
	for _, s := range []string{`{"type":"human","id":"h"}`,
		`{"type":"ai","tool_calls":[{"id":"a","name":"x","args":{}}]}`, `{}`, `[]`, `{"id":1,"type":"tool"}`,
		`{"type":"ai","tool_calls":[5]}`, `{"type":"ai","tool_calls":[{}]}`} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		if !json.Valid(body) {
			return
		}
		out, _, err := aliased(body)
		if err == nil && !json.Valid(out) {
			t.Errorf("%s became %s", body, out)
		}
	})
}
