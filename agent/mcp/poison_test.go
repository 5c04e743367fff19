package mcp_test

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"fawn/agent/agenttest/must"
	"fawn/agent/mcp"
)

// poison is one way in which servers break the protocol. Its texts stand in place of those of a good server; $ID is
// that of the request, $N counts the calls.
type poison struct {
	name                  string
	first, before, behind string // written at the start, before and behind each answer
	hello, list, call     string // whole lines
	says                  string // of the first call; "" is done 1
	log, skipped          string // words that the server's log, or the reasons of its tools have
}

const (
	goodHello = `{"jsonrpc":"2.0","id":$ID,"result":{"protocolVersion":"2025-06-18","capabilities":{"tools":{}},"serverInfo":{"name":"p","version":"1"}}}`
	goodTool  = `{"name":"fine","description":"d","inputSchema":{"type":"object","properties":{}}}`
	goodCall  = `{"jsonrpc":"2.0","id":$ID,"result":{"content":[{"type":"text","text":"done $N"}]}}`
)

// lists and calls put a part into an answer.
func lists(tools string) string {
	return `{"jsonrpc":"2.0","id":$ID,"result":{"tools":[` + tools + `]}}`
}

func calls(result string) string { return `{"jsonrpc":"2.0","id":$ID,"result":` + result + `}` }

func hello(result string) string { return `{"jsonrpc":"2.0","id":$ID,"result":` + result + `}` }

func poisons() []poison {
	with := func(tool string) string { return lists(goodTool + "," + tool) }
	return []poison{
		{name: "none"},
		{name: "banner", first: "Welcome to the server!\n", log: "Welcome to"},
		{name: "banner with colours", first: "\x1b[32m✔ ready\x1b[0m\n", log: "ready"},
		{name: "banner in brackets", first: "[INFO] listening on stdio\n", log: "listening"},
		{name: "banner in braces", first: "{starting}\nnow\n", log: "starting"},
		{name: "banner without an end", first: "Server started. ", log: "Server started"},
		{name: "bytes that are no text", first: "\xff\xfe\x00\n"},
		{name: "byte order mark", first: "\uFEFF"},
		{name: "empty lines", before: "\n  \n\r\n"},
		{name: "lines between", before: "debug: got it\n", log: "debug: got it"},
		{name: "log in JSON", before: `{"level":30,"time":1,"msg":"handled"}` + "\n", log: "handled"},
		{name: "log in JSON with a method", before: `{"level":"info","method":"GET","id":null}` + "\n", log: "GET"},
		{name: "values", before: "42\n\"text\"\nnull\n[1,2]\ntrue\n", log: "42"},
		{name: "half a message", before: `{"jsonrpc":"2.0","id":` + "\n", log: "jsonrpc"},
		{name: "stranger's answer", before: `{"jsonrpc":"2.0","id":99999,"result":{}}` + "\n"},
		{name: "answer to nobody", before: `{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"Parse error"}}` + "\n"},
		{name: "answer twice", behind: `{"jsonrpc":"2.0","id":$ID,"result":{}}` + "\n"},
		{name: "unknown notice", before: `{"jsonrpc":"2.0","method":"notifications/odd","params":[1]}` + "\n"},
		{name: "broken notice", before: `{"jsonrpc":"2.0","method":"notifications/message","params":{"level":3,"data":null}}` + "\n"},
		{name: "broken progress", before: `{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":"x","progress":"half"}}` + "\n"},
		{name: "unknown request", before: `{"jsonrpc":"2.0","id":"q","method":"roots/odd","params":null}` + "\n"},
		{name: "carriage returns", hello: goodHello + "\r", list: lists(goodTool) + "\r"},
		{name: "several lines", list: strings.ReplaceAll(lists(goodTool), ",", ",\n  ")},
		{name: "two in a line", list: `{"jsonrpc":"2.0","method":"notifications/odd"}` + lists(goodTool)},
		{name: "a batch", list: "[" + lists(goodTool) + "]"},
		{name: "no version of JSON-RPC", list: strings.Replace(lists(goodTool), `"jsonrpc":"2.0",`, "", 1)},
		{name: "version as a number", list: strings.Replace(lists(goodTool), `"2.0"`, "2.0", 1)},
		{name: "id as text", list: strings.Replace(lists(goodTool), "$ID", `"$ID"`, 1), call: strings.Replace(goodCall, "$ID", `"$ID"`, 1)},
		{name: "id as a fraction", list: strings.Replace(lists(goodTool), "$ID", "$ID.0", 1)},
		{name: "error beside the result", list: strings.Replace(lists(goodTool), `"result"`, `"error":null,"result"`, 1)},

		{name: "no capabilities", hello: hello(`{"protocolVersion":"2025-06-18","serverInfo":{"name":"p","version":"1"}}`)},
		{name: "capabilities as a list", hello: hello(`{"protocolVersion":"2025-06-18","capabilities":[],"serverInfo":{"name":"p","version":"1"}}`)},
		{name: "capabilities as flags", hello: hello(`{"protocolVersion":"2025-06-18","capabilities":{"tools":true,"prompts":false},"serverInfo":{"name":"p","version":"1"}}`)},
		{name: "no server info", hello: hello(`{"protocolVersion":"2025-06-18","capabilities":{"tools":{}}}`)},
		{name: "version as a number of the server", hello: hello(`{"protocolVersion":"2025-06-18","capabilities":{"tools":{"listChanged":"true"}},"serverInfo":{"name":"p","version":1.5}}`)},
		{name: "instructions as a list", hello: hello(`{"protocolVersion":"2025-06-18","capabilities":{"tools":{}},"serverInfo":{"name":"p","version":"1"},"instructions":["a","b"]}`)},

		{name: "description as a number", list: with(`{"name":"x","description":5,"inputSchema":{"type":"object"}}`)},
		{name: "no schema", list: with(`{"name":"x","description":"d"}`)},
		{name: "schema is null", list: with(`{"name":"x","inputSchema":null}`)},
		{name: "schema as text", list: with(`{"name":"x","inputSchema":"{\"type\":\"object\"}"}`)},
		{name: "schema of a list", list: with(`{"name":"x","inputSchema":{"type":"array"}}`), skipped: "no schema of an object"},
		{name: "tool is null", list: with(`null`), skipped: "no name"},
		{name: "tool as text", list: with(`"x"`), skipped: "no name"},
		{name: "no name", list: with(`{"description":"d","inputSchema":{"type":"object"}}`), skipped: "no name"},
		{name: "name as a number", list: with(`{"name":7,"inputSchema":{"type":"object"}}`)},
		{name: "annotations as text", list: with(`{"name":"x","annotations":"safe","inputSchema":{"type":"object"}}`)},
		{name: "hints as text", list: with(`{"name":"x","annotations":{"readOnlyHint":"yes"},"inputSchema":{"type":"object"}}`)},
		{name: "output schema as a list", list: with(`{"name":"x","outputSchema":[],"icons":{},"_meta":[],"inputSchema":{"type":"object"}}`)},
		{name: "tools as a map", list: `{"jsonrpc":"2.0","id":$ID,"result":{"tools":{"fine":{"inputSchema":{"type":"object"}}}}}`},
		{name: "cursor is null", list: `{"jsonrpc":"2.0","id":$ID,"result":{"tools":[` + goodTool + `],"nextCursor":null}}`},
		{name: "meta as a list", list: `{"jsonrpc":"2.0","id":$ID,"result":{"tools":[` + goodTool + `],"_meta":[]}}`},

		{name: "result as text", call: calls(`"done"`), says: "done"},
		{name: "content as text", call: calls(`{"content":"done"}`), says: "done"},
		{name: "content as an object", call: calls(`{"content":{"type":"text","text":"done"}}`), says: "done"},
		{name: "content is null", call: calls(`{"content":null}`), says: "(no output)"},
		{name: "no content", call: calls(`{}`), says: "(no output)"},
		{name: "text as a number", call: calls(`{"content":[{"type":"text","text":42}]}`), says: "42"},
		{name: "text is null", call: calls(`{"content":[{"type":"text","text":null},{"type":"text","text":"done"}]}`), says: "done"},
		{name: "part as text", call: calls(`{"content":["done"]}`), says: "done"},
		{name: "unknown part", call: calls(`{"content":[{"type":"table","rows":[1]}]}`), says: "rows"},
		{name: "part without a type", call: calls(`{"content":[{"text":"done"}]}`), says: "done"},
		{name: "broken image", call: calls(`{"content":[{"type":"image","mimeType":"image/png","data":"%%%"}]}`), says: "image"},
		{name: "annotations of a part", call: calls(`{"content":[{"type":"text","text":"done","annotations":"x"}],"isError":"false"}`), says: "done"},
		{name: "structured beside a summary", call: calls(`{"content":[{"type":"text","text":"Found 1."}],"structuredContent":{"rows":[17]}}`), says: `{"rows":[17]}`},
		{name: "structured as a list", call: calls(`{"structuredContent":[17]}`), says: "[17]"},
		{name: "error as text", call: `{"jsonrpc":"2.0","id":$ID,"error":"no luck"}`, says: "no luck"},
		{name: "error code as text", call: `{"jsonrpc":"2.0","id":$ID,"error":{"code":"E1","message":"no luck"}}`, says: "no luck"},
		{name: "error without words", call: `{"jsonrpc":"2.0","id":$ID,"error":{"code":-1}}`, says: "refused the call"},
	}
}

// answer is the line for a request; false for a notification.
func (p poison) answer(request []byte, calls *int) (string, bool) {
	var r struct {
		ID     json.RawMessage `json:"id"`
		Method string          `json:"method"`
	}
	if json.Unmarshal(request, &r) != nil || r.ID == nil || r.Method == "" {
		return "", false
	}
	or := func(own, usual string) string {
		if own == "" {
			return usual
		}
		return own
	}
	text := `{"jsonrpc":"2.0","id":$ID,"result":{}}`
	switch r.Method {
	case "initialize":
		text = or(p.hello, goodHello)
	case "tools/list":
		text = or(p.list, lists(goodTool))
	case "tools/call":
		*calls++
		if text = goodCall; *calls == 1 {
			text = or(p.call, goodCall)
		}
	}
	return strings.NewReplacer("$ID", string(r.ID), "$N", fmt.Sprint(*calls)).Replace(p.before + text + "\n" + p.behind), true
}

func poisonNamed(name string) poison {
	for _, p := range poisons() {
		if p.name == name {
			return p
		}
	}
	panic(name)
}

// poisoned is such a server on standard input and output.
func poisoned(name string) {
	p, n := poisonNamed(name), 0
	fmt.Print(p.first)
	for lines := bufio.NewReader(os.Stdin); ; {
		line, err := lines.ReadBytes('\n')
		if err != nil {
			return
		}
		if text, ok := p.answer(line, &n); ok {
			fmt.Print(text)
		}
	}
}

// TestNoPoisonEndsASession: the good tool is offered, answers, and does so in the same session afterwards.
func TestNoPoisonEndsASession(t *testing.T) {
	t.Parallel()
	for _, p := range poisons() {
		t.Run(p.name, func(t *testing.T) {
			t.Parallel()
			p.survives(t, stdio("s", "poison", p.name))
		})
	}
}

// TestNoPoisonOverHTTPEndsASession, as an answer in JSON and as an event.
func TestNoPoisonOverHTTPEndsASession(t *testing.T) {
	t.Parallel()
	for _, p := range poisons() {
		if p.first != "" || p.behind != "" || strings.Contains(p.name, "lines") || strings.Contains(p.name, "line") {
			continue // of a stream
		}
		for kind, before := range map[string]string{"application/json": "", "text/event-stream": "data: "} {
			if before == "" && p.before != "" || p.name == "a batch" || strings.Contains(p.before, "\n  ") {
				continue
			}
			t.Run(p.name+" "+kind, func(t *testing.T) {
				t.Parallel()
				n, p := 0, p
				p.log = ""
				p.survives(t, mcp.Server{Name: "s", Type: mcp.HTTP, StartTimeout: patience,
					URL: listen(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
						body, err := io.ReadAll(r.Body)
						if err != nil || r.Method != http.MethodPost {
							w.WriteHeader(http.StatusMethodNotAllowed)
							return
						}
						text, ok := p.answer(bytes.TrimSpace(body), &n)
						if !ok {
							w.WriteHeader(http.StatusAccepted)
							return
						}
						w.Header().Set("Content-Type", kind)
						for line := range strings.Lines(text) {
							if before != "" {
								line = strings.TrimSpace(line) + "\n\n"
							}
							fmt.Fprint(w, before, line)
						}
					}))})
			})
		}
	}
}

func (p poison) survives(t *testing.T, s mcp.Server) {
	w := newWorld(t, s)
	want := p.says
	if want == "" {
		want = "done 1"
	}
	if got := w.call("t", "s_fine", "").Content.Text; !strings.Contains(got, want) {
		t.Errorf("the call says %q", got)
	}
	if got := w.says("t", "s_fine", ""); got != "done 2" {
		t.Errorf("the next call says %q", got)
	}
	st := w.status("s")
	var log strings.Builder
	for _, l := range st.Log {
		fmt.Fprintln(&log, l.Text)
	}
	if !strings.Contains(log.String(), p.log) {
		t.Errorf("the log is %q", log.String())
	}
	if skipped := strings.Join(st.Skipped, "\n"); !strings.Contains(skipped, p.skipped) || p.skipped == "" && skipped != "" {
		t.Errorf("left out are %q", skipped)
	}
}

// TestSchemasAreMended offers schemas as servers have them, and says what models are told.
func TestSchemasAreMended(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ in, want string }{
		{`{"type":"object","properties":{"coin":{"type":"string"},"n":{"type":"integer"}},"required":["coin"]}`, ""},
		{`{"type":"object","properties":{"a":{"type":"string"}},"required":"a"}`, `{"properties":{"a":{"type":"string"}},"required":["a"],"type":"object"}`},
		{`{"type":"object","properties":{"a":{"type":"string","required":true}}}`, `{"properties":{"a":{"type":"string"}},"required":["a"],"type":"object"}`},
		{`{"type":"object","properties":{"a":{"type":"string"}},"required":["b","a","a"]}`, `{"properties":{"a":{"type":"string"}},"required":["a"],"type":"object"}`},
		{`{"type":"object","properties":{},"required":null}`, `{"properties":{},"type":"object"}`},
		{`{"type":"object","properties":{"a":{"type":"any"}}}`, `{"properties":{"a":{}},"type":"object"}`},
		{`{"type":"object","properties":{"a":{"type":"str"},"b":{"type":"INT"},"c":{"type":["float","None"]},"d":"string"}}`, `{"properties":{"a":{"type":"string"},"b":{"type":"integer"},"c":{"type":["number","null"]},"d":{"type":"string"}},"type":"object"}`},
		{`{"type":"object","properties":{"a":{"type":"array"}}}`, `{"properties":{"a":{"items":{},"type":"array"}},"type":"object"}`},
		{`{"type":"object","properties":{"a":{"type":"array","items":[{"type":"string"},{"type":"number"}]}}}`, `{"properties":{"a":{"items":{"anyOf":[{"type":"string"},{"type":"number"}]},"type":"array"}},"type":"object"}`},
		{`{"type":"object","properties":{"a":{"type":"array","prefixItems":[{"type":"string"}]}}}`, `{"properties":{"a":{"items":{"type":"string"},"type":"array"}},"type":"object"}`},
		{`{"type":"object","properties":null}`, `{"properties":{},"type":"object"}`},
		{`{"type":"object","properties":[{"name":"a","type":"string"}]}`, `{"properties":{"a":{"type":"string"}},"type":"object"}`},
		{`{"properties":{"a":{"type":"string"}}}`, `{"properties":{"a":{"type":"string"}},"type":"object"}`},
		{`{}`, `{"properties":{},"type":"object"}`},
		{`{"type":["object","null"],"properties":{}}`, `{"properties":{},"type":"object"}`},
		{`{"type":"object","properties":{"a":{"$ref":"#/$defs/Gone"}}}`, `{"properties":{"a":{}},"type":"object"}`},
		{`{"type":"object","properties":{"a":{"$ref":"https://example.org/x.json","description":"d"}}}`, `{"properties":{"a":{"description":"d"}},"type":"object"}`},
		{`{"type":"object","properties":{"a":{"type":"string"},"b":{"$ref":"#/properties/a"}}}`, `{"properties":{"a":{"type":"string"},"b":{"type":"string"}},"type":"object"}`},
		{`{"type":"object","properties":{"a":{"$ref":"#/$defs/T","default":1}},"$defs":{"T":{"type":"string"}}}`, `{"$defs":{"T":{"type":"string"}},"properties":{"a":{"$ref":"#/$defs/T"}},"type":"object"}`},
		{`{"$ref":"#/definitions/Args","definitions":{"Args":{"type":"object","properties":{"a":{"type":"string"}}}}}`, `{"definitions":{"Args":{"properties":{"a":{"type":"string"}},"type":"object"}},"properties":{"a":{"type":"string"}},"type":"object"}`},
		{`{"anyOf":[{"type":"object","properties":{"a":{"type":"string"}},"required":["a"]},{"type":"object","properties":{"b":{"type":"string"}},"required":["b"]}]}`, `{"properties":{"a":{"type":"string"},"b":{"type":"string"}},"type":"object"}`},
		{`{"type":"object","oneOf":[{"properties":{"a":{"type":"string"}},"required":["a"]},{"properties":{"a":{"type":"integer"}},"required":["a"]}]}`, `{"properties":{"a":{"anyOf":[{"type":"string"},{"type":"integer"}]}},"required":["a"],"type":"object"}`},
		{`{"type":"object","allOf":[{"properties":{"a":{"type":"string"}},"required":["a"]},{"properties":{"b":{"type":"string"}},"required":["b"]}]}`, `{"properties":{"a":{"type":"string"},"b":{"type":"string"}},"required":["a","b"],"type":"object"}`},
		{`{"type":"object","properties":{"a":{"enum":[]},"b":{"enum":"x"},"c":{"enum":["x","x"]}}}`, `{"properties":{"a":{},"b":{"enum":["x"]},"c":{"enum":["x"]}},"type":"object"}`},
		{`{"type":"object","properties":{"a":{"type":"number","minimum":0,"exclusiveMinimum":true,"maximum":"9","description":5}}}`, `{"properties":{"a":{"description":"5","exclusiveMinimum":0,"maximum":9,"type":"number"}},"type":"object"}`},
		{`{"type":"object","properties":{"a":true,"b":null},"additionalProperties":"no"}`, `{"properties":{"a":{},"b":{}},"type":"object"}`},
		{`{"type":"object","properties":{"a b":{"type":"string"},"$c":{"type":"string"}},"required":["a b"]}`, `{"properties":{"_c":{"type":"string"},"a_b":{"type":"string"}},"required":["a_b"],"type":"object"}`},
		{`{"type":"object","properties":{"a":{"anyOf":[]},"b":{"oneOf":"x"}}}`, `{"properties":{"a":{},"b":{}},"type":"object"}`},
	} {
		if c.want == "" {
			c.want = `{"properties":{"coin":{"type":"string"},"n":{"type":"integer"}},"required":["coin"],"type":"object"}`
		}
		w := newWorld(t, mcp.Server{Name: "s", Type: mcp.HTTP, StartTimeout: patience, URL: listen(t, oneTool(c.in, nil))})
		if got := string(w.has("s_fine").Schema); got != c.want {
			t.Errorf("%s\nbecomes %s\nwant    %s", c.in, got, c.want)
		}
		must.Report(t, w.Close())
	}
}

// oneTool is a server with one tool of a schema, which hands on what it is called with.
func oneTool(schema string, called chan<- string) http.Handler {
	p, n := poison{list: `{"jsonrpc":"2.0","id":$ID,"result":{"tools":[{"name":"fine","inputSchema":` + schema + `}]}}`}, 0
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil || r.Method != http.MethodPost {
			w.WriteHeader(http.StatusMethodNotAllowed)
			return
		}
		var call struct {
			Params struct{ Arguments json.RawMessage }
		}
		if json.Unmarshal(body, &call) == nil && call.Params.Arguments != nil && called != nil {
			called <- string(call.Params.Arguments)
		}
		text, ok := p.answer(body, &n)
		if !ok {
			w.WriteHeader(http.StatusAccepted)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprint(w, text)
	})
}

// TestRenamedPropertiesComeBack: a server gets its own names, whatever models were told.
func TestRenamedPropertiesComeBack(t *testing.T) {
	called := make(chan string, 1)
	w := newWorld(t, mcp.Server{Name: "s", Type: mcp.HTTP, StartTimeout: patience, URL: listen(t, oneTool(
		`{"type":"object","properties":{"my file":{"type":"object","properties":{"Größe":{"type":"integer"}}},"list":{"type":"array","items":{"type":"object","properties":{"a/b":{}}}},"c":{}}}`, called))})
	args := map[string]any{"my_file": map[string]any{"Gr____e": 7}, "list": []any{map[string]any{"a_b": 1}}, "c": 2}
	if r, err := w.callIn(t.Context(), "t", "s_fine", args, &sink{}); err != nil || r.IsError {
		t.Fatalf("%+v, %v", r, err)
	}
	if got, want := <-called, `{"c":2,"list":[{"a/b":1}],"my file":{"Größe":7}}`; got != want {
		t.Errorf("called with %s", got)
	}
}

// TestAWithdrawnToolIsTold with the reason, and is back when its server is started anew.
func TestAWithdrawnToolIsTold(t *testing.T) {
	w := newWorld(t, mcp.Server{Name: "s", Type: mcp.HTTP, StartTimeout: patience, URL: listen(t, oneTool(`{"type":"object"}`, nil))})
	w.Withdraw(w.has("s_fine"), "400: it is odd")
	if st := w.status("s"); len(w.names()) != 0 || len(st.Skipped) != 1 || !strings.Contains(st.Skipped[0], "400: it is odd") {
		t.Errorf("offered %v, left out %q", w.names(), st.Skipped)
	}
	must.Do(t, w.Reconnect("s"))
	w.has("s_fine")
}

// TestTemporaryFilesHaveRoomForSockets however deep the data folder is, and are the thread's.
func TestTemporaryFilesHaveRoomForSockets(t *testing.T) {
	w := worldIn(t, filepath.Join(t.TempDir(), strings.Repeat("deep/", 20)), stdio("s", "good"))
	tmp := ""
	for line := range strings.Lines(w.says("t", "s_env", "")) {
		if rest, ok := strings.CutPrefix(line, "TMPDIR="); ok {
			tmp = strings.TrimSpace(rest)
		}
	}
	if tmp != "/mnt/user-data/workspace/.mcp/tmp" {
		t.Errorf("the model reads that they are in %q", tmp)
	}
	if got := w.says("t", "s_socket", ""); got != "listening" {
		t.Errorf("a socket: %s", got)
	}
}
