package deerflow

import (
	"bytes"
	"encoding/json"
	"reflect"
	"testing"
	"time"

	"github.com/tinylib/msgp/msgp"

	"fawn/agent/agenttest/must"
)

// wrapped is a Python object as LangGraph writes it.
func wrapped(t testing.TB, kind int8, args ...any) []byte {
	t.Helper()
	inner := must.Get(msgp.AppendIntf(nil, args))(t)
	b := must.Get(msgp.AppendExtension(nil, &msgp.RawExtension{Type: kind, Data: inner}))(t)
	return b
}

func TestPythonObjectsAreReadAsTheirArguments(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		in   []byte
		want any
	}{
		"uuid":    {wrapped(t, 0, "uuid", "UUID", "abc"), "abc"},
		"decimal": {wrapped(t, 1, "decimal", "Decimal", []any{"1.5"}), []any{"1.5"}},
		"object":  {wrapped(t, 2, "x", "Y", map[string]any{"a": "b"}), map[string]any{"a": "b"}},
		"time":    {wrapped(t, 3, "datetime", "datetime", "2026-01-02T03:04:05+00:00", "fromisoformat"), "2026-01-02T03:04:05+00:00"},
		"old":     {wrapped(t, 4, "m", "M", map[string]any{"k": int64(1)}), map[string]any{"k": int64(1)}},
		"message": {wrapped(t, 5, "langchain_core.messages.human", "HumanMessage", map[string]any{"content": "hi"},
			"model_validate_json"), map[string]any{"content": "hi"}},
		"moment":       {msgp.AppendTimeExt(nil, time.Unix(1, 0)), "1970-01-01T00:00:01Z"},
		"not a number": {msgp.AppendFloat64(nil, nan()), nil},
		"broken text":  {msgp.AppendString(nil, "a\xffb"), "a\uFFFDb"},
	} {
		if got, err := decode(c.in); err != nil || !reflect.DeepEqual(got, c.want) {
			t.Errorf("%s: %#v, %v", name, got, err)
		}
	}
}

func nan() float64 { var zero float64; return zero / zero }

func TestHostileValuesEndInAnError(t *testing.T) {
	t.Parallel()
	deep := bytes.Repeat([]byte{0x91}, 100_000) // lists in lists
	for name, in := range map[string][]byte{
		"nothing":           nil,
		"four billion":      {0xdd, 0xff, 0xff, 0xff, 0xff, 1},
		"map of as many":    {0xdf, 0xff, 0xff, 0xff, 0xff, 1, 1},
		"deep":              append(deep, 0xc0),
		"cut text":          {0xa5, 'a'},
		"cut extension":     {0xc7},
		"other extension":   wrapped(t, 9, "a", "b", "c"),
		"too few arguments": wrapped(t, 5, "a", "b"),
		"more behind":       {0x01, 0x02},
		"reserved":          {0xc1},
	} {
		if v, err := decode(in); err == nil {
			t.Errorf("%s is read as %v", name, v)
		}
	}
}

// FuzzDecode: whatever the bytes are, the decoder ends, and what it gives is JSON.
func FuzzDecode(f *testing.F) {
	f.Add(wrapped(f, 5, "m", "M", map[string]any{"k": []any{int64(1), "x", nil, true}}))
	f.Add([]byte{0xdd, 0xff, 0xff, 0xff, 0xff})
	f.Fuzz(func(t *testing.T, b []byte) {
		v, err := decode(b)
		if err != nil {
			return
		}
		must.Try(json.Marshal(v))(t)
	})
}
