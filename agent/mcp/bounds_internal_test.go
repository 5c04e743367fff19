package mcp

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"testing"

	"fawn/agent/agenttest/must"
)

// TestSchemasThatLeadBackEnd, and those that double with each reference.
func TestSchemasThatLeadBackEnd(t *testing.T) {
	var doubling, nested strings.Builder
	doubling.WriteString(`{"anyOf":[{"$ref":"#/$defs/A60"}],"$defs":{"A0":{"properties":{"x":{"type":"string"}}}`)
	for i := 1; i <= 60; i++ {
		fmt.Fprintf(&doubling, `,"A%d":{"anyOf":[{"$ref":"#/$defs/A%d"},{"$ref":"#/$defs/A%d"}]}`, i, i-1, i-1)
	}
	doubling.WriteString("}}")
	nested.WriteString(strings.Repeat(`{"anyOf":[`, 4000) + "{}" + strings.Repeat("]}", 4000))
	for _, raw := range []string{
		`{"anyOf":[{"$ref":"#/$defs/A"}],"$defs":{"A":{"anyOf":[{"$ref":"#/$defs/A"}]}}}`,
		`{"properties":{"a":{"properties":{},"anyOf":[{"$ref":"#"}]}},"anyOf":[{"$ref":"#/properties/a"}]}`,
		`{"properties":{"t":{"properties":{"l":{"$ref":"#/properties/t"},"r":{"$ref":"#/properties/t"}}}}}`,
		`{"properties":{"a":{"$ref":"#/"},"b":{"$ref":"#/"}}}`,
		`{"properties":{"t":{"description":"` + strings.Repeat("x", 1000) + `","properties":{` +
			`"l":{"$ref":"#/properties/t"},"m":{"$ref":"#/properties/t"},"r":{"$ref":"#/properties/t"}}}}}`,
		doubling.String(),
		nested.String(),
	} {
		out, _, err := mended(json.RawMessage(raw))
		if err != nil || len(out) > maxSchema || !json.Valid(out) {
			t.Errorf("%.80s became %d bytes, %.200s, %v", raw, len(out), out, err)
		}
	}
}

// TestCopiesOfSchemasAreBounded in bytes, not only in number.
func TestCopiesOfSchemasAreBounded(t *testing.T) {
	raw := `{"t":{"description":"` + strings.Repeat("x", maxCopied/4) + `"},"properties":{`
	for i := range 50 {
		raw += fmt.Sprintf(`"p%d":{"$ref":"#/t"},`, i)
	}
	root := map[string]any{}
	must.Do(t, json.Unmarshal([]byte(strings.TrimSuffix(raw, ",")+"}}"), &root))
	m := &mender{root: root}
	m.schema(root, 0)
	out, err := json.Marshal(root["properties"])
	if n := strings.Count(string(out), "description"); err != nil || n != 3 || m.copied > maxCopied {
		t.Errorf("%d copies of %d bytes, %v", n, m.copied, err)
	}
}

// TestLinesOfServersAreReadOnce or a few times, whatever stands in them.
func TestLinesOfServersAreReadOnce(t *testing.T) {
	const message = `{"jsonrpc":"2.0","method":"x"}`
	read := func(in string) (out string, logged int) {
		m := newMessages(io.NopCloser(strings.NewReader(in)), 4<<20, func(string) { logged++ })
		b := must.Get(io.ReadAll(m))(t)
		return string(b), logged
	}
	if out, n := read("log: " + strings.Repeat(message, 1<<15) + " end\n" + message + "\n"); out != message+"\n" || n != 1 {
		t.Errorf("behind words: %d bytes, %d lines of the log", len(out), n)
	}
	long := "{\"jsonrpc\":\"2.0\",\"method\":\"x\",\"params\":{\"a\":[\n" + strings.Repeat("1,\n", 1<<18) + "1]}}\n"
	if out, _ := read(long); !strings.HasSuffix(out, "1,1]}}\n") || strings.Count(out, "\n") != 1 {
		t.Errorf("over lines: %d bytes", len(out))
	}
	for in, want := range map[string]string{
		"{starting} " + message + "\n":                             message + "\n",
		"{starting}\n{\n\"jsonrpc\":\"2.0\",\n\"method\":\"x\"}\n": message + "\n",
		"{a \"text\n" + message + "\n":                             message + "\n",
		strings.Repeat("{} {x} ", 50) + message + "\n":             message + "\n",
	} {
		if out, _ := read(in); out != want {
			t.Errorf("%.60q became %q", in, out)
		}
	}
}
