package web_test

import (
	"bufio"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"fawn/agent/agenttest/must"
	"fawn/web/webtest"
)

// clientCall is an event that has a client carry a tool out.
type clientCall struct {
	Type, ID, Name string
	Thread         string `json:"thread_id"`
	Call           string `json:"tool_call_id"`
	Args           map[string]any
}

const oven = `"client_tools":[{"name":"oven","description":"heats","parameters":{"type":"object","properties":{"degrees":{"type":"integer"}}}}]`

// streamed starts a run with a client's tool and gives its calls, and what else came once the stream ends.
func (s *server) streamed(t *testing.T, thread, script, more string) (calls <-chan clientCall, rest <-chan string) {
	t.Helper()
	body, err := json.Marshal(script)
	must.Do(t, err)
	res, err := s.request(t.Context(), "POST", "/threads/"+thread+"/runs/stream", strings.NewReader(
		`{"assistant_id":"lead_agent","if_not_exists":"create","input":{"messages":[{"type":"human","content":`+string(body)+
			`}]},"stream_mode":["custom","updates"],"context":{`+oven+more+`}}`))
	if err != nil || res.StatusCode != http.StatusOK {
		t.Fatalf("%v %v", res, err)
	}
	found, end := make(chan clientCall, 10), make(chan string, 1)
	go func() {
		defer res.Body.Close()
		defer close(found)
		all := ""
		for lines := bufio.NewScanner(res.Body); lines.Scan(); {
			var c clientCall
			data, ok := strings.CutPrefix(lines.Text(), "data: ")
			all += lines.Text() + "\n"
			if ok && json.Unmarshal([]byte(data), &c) == nil && c.Type == "client_tool_call" {
				found <- c
			}
		}
		end <- all
	}()
	return found, end
}

// TestClientsCarryToolsOutAtAnyServer: a run waits at one server, another one takes the result, once.
func TestClientsCarryToolsOutAtAnyServer(t *testing.T) {
	t.Parallel()
	conf := clustered(t, 200)
	a, b := start(t, conf, sealing(t)), start(t, conf, sealing(t))
	const script = `SCRIPT{"turns":[{"tool_calls":[{"name":"oven","args":{"degrees":180}},{"name":"oven","args":{"degrees":500}}]},{"text":"It is hot."}]}`
	calls, rest := a.streamed(t, "t1", script, "")
	for range 2 {
		c := <-calls
		at := "/api/threads/t1/client-tools/" + c.ID
		answer := `{"content":"it has 180 degrees"}`
		if c.Args["degrees"] == 500.0 {
			answer = `{"content":"it is too hot","is_error":true}`
		}
		if c.Name != "oven" || c.Thread != "t1" || c.Call == "" {
			t.Errorf("the call is %+v", c)
		}
		for body, want := range map[string]int{`{}`: 422, `{"content":"` + strings.Repeat("x", 1<<20+1) + `"}`: 413} {
			b.send(t, "POST", at, body).want(t, fmt.Sprintf("%.40s", body), want)
		}
		b.send(t, "POST", "/api/threads/t1/client-tools/none", answer).want(t, "a call that was never made", 404)
		b.send(t, "POST", at, answer).must(t, at, 200)
		for _, s := range []*server{a, b} {
			s.send(t, "POST", at, answer).want(t, "a second result", 409)
		}
	}
	all := <-rest
	webtest.Holds(t, "the stream", all, "it has 180 degrees", `"content":"it is too hot"`, `"status":"error"`, "It is hot.", `"client_tool_over"`)

	// A run that is cancelled takes its call along.
	calls, rest = a.streamed(t, "t2", script, "")
	c := <-calls
	run := decoded[[]struct {
		ID string `json:"run_id"`
	}](t, b.send(t, "GET", "/threads/t2/runs", ""))[0].ID
	b.send(t, "POST", "/threads/t2/runs/"+run+"/cancel?wait=true", "").fine(t, "/threads/t2/runs/"+run+"/cancel?wait=true")
	<-rest
	b.send(t, "POST", "/api/threads/t2/client-tools/"+c.ID, `{"content":"late"}`).want(t, "the call of a run that was cancelled", 404)
}

// TestClientToolsThatModelsRefuseAreRefused with the place and what is wanted there.
func TestClientToolsThatModelsRefuseAreRefused(t *testing.T) {
	t.Parallel()
	s := start(t, "")
	for tools, why := range map[string]string{
		`[{"name":"a b","parameters":{"type":"object"}}]`: "client_tools.0.name",
		`[{"name":"a","parameters":{"type":"array"}}]`:    "client_tools.0.parameters",
		`[{"name":"a"}]`: "client_tools.0.parameters",
		`[{"name":"a","parameters":{"type":"object"}},{"name":"a","parameters":{"type":"object"}}]`:          "twice",
		`[{"name":"a","description":"` + strings.Repeat("x", 300<<10) + `","parameters":{"type":"object"}}]`: "bytes at most",
	} {
		got := s.send(t, "POST", "/threads/t1/runs/wait", `{"assistant_id":"lead_agent","if_not_exists":"create",
			"input":{"messages":[{"type":"human","content":"hello"}]},"context":{"client_tools":`+tools+`}}`)
		got.want(t, fmt.Sprintf("%.60s: , want 400 and %s", tools, why), 400, why)
	}
}

// TestAClientReplacesNoToolOfTheServer, also not one that the configuration makes.
func TestAClientReplacesNoToolOfTheServer(t *testing.T) {
	t.Parallel()
	s := start(t, scripted(t)+"acp_agents: {helper: {command: /bin/false, description: helps}}\n")
	calls, rest := s.streamed(t, "t1", `SCRIPT{"turns":[{"tool_calls":[{"name":"invoke_acp_agent","args":{"agent":"helper","prompt":"hi"}},
		{"name":"ls","args":{"path":"/mnt/user-data"}}]},{"text":"Done."}]}`,
		`,"client_tools":[{"name":"invoke_acp_agent","description":"mine","parameters":{"type":"object"}},
			{"name":"ls","description":"mine","parameters":{"type":"object"}}]`)
	for c := range calls {
		t.Errorf("the client is to carry out %+v", c)
		s.send(t, "POST", "/api/threads/t1/client-tools/"+c.ID, `{"content":"forged"}`)
	}
	webtest.Holds(t, "all", <-rest, "Done.")
}
