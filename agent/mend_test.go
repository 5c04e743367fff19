package agent_test

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"

	"fawn/agent"
)

func TestMendReadsWhatModelsGetWrong(t *testing.T) {
	for name, c := range map[string]struct{ in, want string }{
		"plain":              {` {"a": [1, 2.5e3, true, null, "x"]} `, `{"a":[1,2.5e3,true,null,"x"]}`},
		"comma too many":     {`{"a": 1, "b": [1, 2,],}`, `{"a":1,"b":[1,2]}`},
		"single quotes":      {`{'a': 'it\'s "so"'}`, `{"a":"it's \"so\""}`},
		"names":              {`{path: "/mnt", max_depth: 2}`, `{"path":"/mnt","max_depth":2}`},
		"Python":             {`{"a": True, "b": False, "c": None}`, `{"a":true,"b":false,"c":null}`},
		"line ends":          {"{\"a\": \"one\ntwo\tthree\"}", `{"a":"one\ntwo\tthree"}`},
		"unknown escapes":    {`{"a": "\d+ C:\Users \u00e9 \u12"}`, `{"a":"\\d+ C:\\Users é \\u12"}`},
		"fence":              {"```json\n{\"a\": 1}\n```", `{"a":1}`},
		"fence without name": {"```\n{\"a\": 1}```", `{"a":1}`},
		"encoded twice":      {`"{\"a\": \"b\"}"`, `{"a":"b"}`},
		"broken bytes":       {"{\"a\": \"\xff\"}", `{"a":"�"}`},
		"empty":              {`{}`, `{}`},
	} {
		got, err := agent.Mend(c.in, false)
		var a, b any
		if err != nil || json.Unmarshal(got, &a) != nil || json.Unmarshal([]byte(c.want), &b) != nil ||
			!reflect.DeepEqual(a, b) {
			t.Errorf("%s: %s, %v, want %s", name, got, err, c.want)
		}
	}
}

func TestMendMakesNothingUp(t *testing.T) {
	for name, c := range map[string]struct {
		in    string
		whole string // what a whole text becomes; "" = an error too
	}{
		"a string without end": {`{"command": "rm -rf /tmp/x`, ``},
		"a number without end": {`{"n": 1`, ``},
		"a name without value": {`{"path"`, ``},
		"no closing bracket":   {`{"path": "/mnt"`, `{"path":"/mnt"}`},
		"none in the middle":   {`{"a": {"b": ["x"`, `{"a":{"b":["x"]}}`},
		"two objects":          {`{"a":"b"}{"a":"c"}`, ``},
		"words":                {`list the folder`, ``},
		"a bare word":          {`{"path": /mnt}`, ``},
		"a list":               {`[1]`, ``},
		"no comma":             {`{"a": "b" "c": "d"}`, ``},
		"nothing":              {``, ``},
		"too deep":             {strings.Repeat(`[`, 5000), ``},
		"a list in a string":   {`"[1]"`, ``},
	} {
		if got, err := agent.Mend(c.in, false); err == nil {
			t.Errorf("%s: became %s", name, got)
		}
		if got, err := agent.Mend(c.in, true); (err == nil) != (c.whole != "") || string(got) != c.whole {
			t.Errorf("%s: whole, it is %s, %v, want %s", name, got, err, c.whole)
		}
	}
}

func TestArgumentsAreMendedOrTold(t *testing.T) {
	var m agent.Message
	m.AddCall("a", "ls", `{'path': '/mnt',}`)
	m.AddCall("b", "ls", `{"path": "/mn`)
	if len(m.ToolCalls) != 1 || string(m.ToolCalls[0].Args) != `{"path":"/mnt"}` {
		t.Errorf("calls %+v", m.ToolCalls)
	}
	if len(m.Invalid) != 1 || m.Invalid[0].Args != `{"path": "/mn` || m.Invalid[0].Error == "" {
		t.Errorf("invalid %+v", m.Invalid)
	}
}

// FuzzMend holds the mender to what encoding/json says about text that is in order, and to
// JSON in its results.
func FuzzMend(f *testing.F) {
	for _, s := range []string{`{"a":1}`, `{'a':[True,],}`, "```json\n{}\n```", `"{\"a\":\"b\"}"`,
		`{"a":"\ud83d\ude00\q"}`, `{"a":{"b":"c"`, `{a:-0.5e+3 }`, "{\"\xff\":\x01}"} {
		f.Add(s, true)
	}
	f.Fuzz(func(t *testing.T, in string, whole bool) {
		got, err := agent.Mend(in, whole)
		var want map[string]any
		if json.Unmarshal([]byte(in), &want) == nil && want != nil {
			var have map[string]any
			if depth := strings.Count(in, "{") + strings.Count(in, "["); err != nil && depth > 90 {
				return
			}
			if err != nil || json.Unmarshal(got, &have) != nil || !reflect.DeepEqual(have, want) {
				t.Fatalf("%q became %q, %v", in, got, err)
			}
		}
		if err == nil && (!json.Valid(got) || got[0] != '{') {
			t.Fatalf("%q became %q", in, got)
		}
	})
}
