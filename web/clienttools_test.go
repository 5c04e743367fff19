package web_test

import (
	"bufio"
	"encoding/json"
	"net/http"
	"strings"
	"testing"
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
	if err != nil {
		t.Fatal(err)
	}
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
			if got := b.send(t, "POST", at, body); got.status != want {
				t.Errorf("%.40s: %d %.200s, want %d", body, got.status, got.body, want)
			}
		}
		if got := b.send(t, "POST", "/api/threads/t1/client-tools/none", answer); got.status != 404 {
			t.Errorf("a call that was never made: %d %s", got.status, got.body)
		}
		if got := b.send(t, "POST", at, answer); got.status != 200 {
			t.Fatalf("%d %s", got.status, got.body)
		}
		for _, s := range []*server{a, b} {
			if got := s.send(t, "POST", at, answer); got.status != 409 {
				t.Errorf("a second result: %d %s", got.status, got.body)
			}
		}
	}
	all := <-rest
	for _, want := range []string{"it has 180 degrees", `"content":"it is too hot"`, `"status":"error"`, "It is hot.", `"client_tool_over"`} {
		if !strings.Contains(all, want) {
			t.Errorf("the stream lacks %s: %s", want, all)
		}
	}

	// A run that is cancelled takes its call along.
	calls, rest = a.streamed(t, "t2", script, "")
	c := <-calls
	run := decoded[[]struct {
		ID string `json:"run_id"`
	}](t, b.send(t, "GET", "/threads/t2/runs", ""))[0].ID
	if got := b.send(t, "POST", "/threads/t2/runs/"+run+"/cancel?wait=true", ""); got.status/100 != 2 {
		t.Fatalf("%d %s", got.status, got.body)
	}
	<-rest
	if got := b.send(t, "POST", "/api/threads/t2/client-tools/"+c.ID, `{"content":"late"}`); got.status != 404 {
		t.Errorf("the call of a run that was cancelled: %d %s", got.status, got.body)
	}
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
		if got.status != 400 || !strings.Contains(got.body, why) {
			t.Errorf("%.60s: %d %.200s, want 400 and %s", tools, got.status, got.body, why)
		}
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
	if all := <-rest; !strings.Contains(all, "Done.") {
		t.Error(all)
	}
}
