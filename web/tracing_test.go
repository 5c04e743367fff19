package web_test

import (
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	collector "go.opentelemetry.io/proto/slim/otlp/collector/trace/v1"
	otlp "go.opentelemetry.io/proto/slim/otlp/trace/v1"
	"google.golang.org/protobuf/proto"

	"fawn/agent/agenttest"
	"fawn/agent/agenttest/must"
	"fawn/web"
	"fawn/web/cli"
	"fawn/web/e2e/scriptmodel"
	"fawn/web/webtest"
)

// traces is a collector: it takes what servers send and decodes it.
type traces struct {
	*httptest.Server
	mu      sync.Mutex
	spans   []*otlp.Span
	service string
	heads   []http.Header
	paths   []string
}

func collect(t *testing.T) *traces {
	c := &traces{}
	c.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		var req collector.ExportTraceServiceRequest
		if err == nil {
			err = proto.Unmarshal(body, &req)
		}
		if err != nil || r.Method != http.MethodPost || r.Header.Get("Content-Type") != "application/x-protobuf" {
			http.Error(w, fmt.Sprint(r.Method, r.Header, err), http.StatusBadRequest)
			return
		}
		c.mu.Lock()
		defer c.mu.Unlock()
		c.heads, c.paths = append(c.heads, r.Header), append(c.paths, r.URL.Path)
		for _, rs := range req.ResourceSpans {
			for _, kv := range rs.Resource.Attributes {
				if kv.Key == "service.name" {
					c.service = kv.Value.GetStringValue()
				}
			}
			for _, ss := range rs.ScopeSpans {
				c.spans = append(c.spans, ss.Spans...)
			}
		}
		w.Header().Set("Content-Type", "application/x-protobuf")
	}))
	t.Cleanup(c.Close)
	return c
}

// named are the spans of a name.
func (c *traces) named(name string) (out []*otlp.Span) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, s := range c.spans {
		if s.Name == name {
			out = append(out, s)
		}
	}
	return out
}

// one is the only span of a name.
func (c *traces) one(t *testing.T, name string) *otlp.Span {
	t.Helper()
	list := c.named(name)
	if len(list) != 1 {
		t.Fatalf("%d spans are called %q", len(list), name)
	}
	return list[0]
}

// said are the attributes of a span as text.
func said(s *otlp.Span) map[string]string {
	out := map[string]string{}
	for _, kv := range s.Attributes {
		switch v := kv.Value; {
		case v.GetStringValue() != "":
			out[kv.Key] = v.GetStringValue()
		case v.GetIntValue() != 0:
			out[kv.Key] = fmt.Sprint(v.GetIntValue())
		case v.GetDoubleValue() != 0:
			out[kv.Key] = fmt.Sprint(v.GetDoubleValue())
		default:
			out[kv.Key] = v.String()
		}
	}
	return out
}

// paintedRun lets a scripted model send a helper, call a tool and answer.
func paintedRun(t *testing.T, conf string, headers ...string) (*server, string) {
	t.Helper()
	model := scriptmodel.Start(t)
	turn := func(prompt, completion int, text string, calls ...scriptmodel.Call) scriptmodel.Turn {
		return scriptmodel.Turn{Text: text, ToolCalls: calls,
			Usage: &scriptmodel.Usage{Prompt: prompt, Completion: completion}}
	}
	model.When("paint it", scriptmodel.Script{Turns: []scriptmodel.Turn{
		turn(1000, 100, "",
			scriptmodel.Call{Name: "task",
				Args: json.RawMessage(
					`{"description":"Mix","prompt":"mix the colour","subagent_type":"general-purpose"}`)},
			scriptmodel.Call{Name: "read_file", Args: json.RawMessage(`{"path":"/mnt/user-data/workspace/none.txt"}`)}),
		turn(2000, 100, "Painted with "+canary("model")+".")}})
	model.When("mix the colour", scriptmodel.Script{Turns: []scriptmodel.Turn{turn(5000, 300, "Mixed.")}})
	conf = strings.Replace(priced(model.URL, 2, 10), "title: {model_name: cheap}", "title: {enabled: false}", 1) + conf
	s := start(t, strings.Replace(conf, "api_key: test", "api_key: "+canary("model"), 1), web.Patient(patience))
	const thread = "11111111-1111-4111-8111-111111111111"
	res := s.send(t, "POST", "/threads/"+thread+"/runs/wait",
		human("paint it", `"context":{"subagent_enabled":true}`), headers...)
	if !strings.Contains(res.body, "Painted") {
		t.Fatalf("%d %s", res.status, res.body)
	}
	return s, thread
}

// TestARunIsATrace: it goes on with the caller's, has spans for the agent, its model calls, its
// tools and its helper, and no word of what was said.
func TestARunIsATrace(t *testing.T) {
	t.Parallel()
	c := collect(t)
	s, thread := paintedRun(t,
		fmt.Sprintf("tracing: {endpoint: %q, headers: {x-collector-key: letmein}, service_name: studio}\n", c.URL),
		"traceparent", "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01")
	if err := s.stop(); err != nil { // sends what is left
		t.Fatal(err)
	}
	agent, helper := c.one(t, "invoke_agent lead_agent"), c.one(t, "invoke_agent general-purpose")
	task, read := c.one(t, "execute_tool task"), c.one(t, "execute_tool read_file")
	chats := c.named("chat script")
	if len(chats) != 3 {
		t.Fatalf("%d chat spans", len(chats))
	}
	webtest.Same(t, "the run's parent", hex.EncodeToString(agent.ParentSpanId), "00f067aa0ba902b7")
	under := func(child, parent *otlp.Span) {
		t.Helper()
		if string(child.ParentSpanId) != string(parent.SpanId) {
			t.Errorf("%s is not under %s", child.Name, parent.Name)
		}
	}
	under(task, agent)
	under(read, agent)
	under(helper, task)
	total := map[string]int{}
	for _, span := range chats {
		a := said(span)
		total[hex.EncodeToString(span.ParentSpanId)]++
		if a["gen_ai.operation.name"] != "chat" || a["gen_ai.request.model"] != "script" ||
			a["gen_ai.usage.input_tokens"] == "" || a["gen_ai.response.time_to_first_chunk"] == "" ||
			span.Kind != otlp.Span_SPAN_KIND_CLIENT || span.EndTimeUnixNano <= span.StartTimeUnixNano {
			t.Errorf("a chat: %v %v", span, a)
		}
	}
	if total[hex.EncodeToString(agent.SpanId)] != 2 || total[hex.EncodeToString(helper.SpanId)] != 1 {
		t.Errorf("the chats are under %v", total)
	}
	a := said(agent)
	if a["gen_ai.conversation.id"] != thread || a["fawn.run.status"] != "success" || a["user.id"] != "default" ||
		c.service != "studio" {
		t.Errorf("the run: %v of %s", a, c.service)
	}
	if read.Status.GetCode() != otlp.Status_STATUS_CODE_ERROR || said(read)["error.type"] == "" {
		t.Errorf("a call that failed: %v", read)
	}
	for _, span := range c.spans {
		if hex.EncodeToString(span.TraceId) != "4bf92f3577b34da6a3ce929d0e0e4736" {
			t.Errorf("%s is in another trace", span.Name)
		}
		webtest.Holds(t, fmt.Sprintf("%s tells what was said", span.Name), span.String(), "!paint it", "!none.txt", "!Painted", "!cAnArY")
	}
	if c.paths[0] != "/v1/traces" || c.heads[0].Get("x-collector-key") != "letmein" {
		t.Errorf("sent to %s with %v", c.paths[0], c.heads[0])
	}
}

// TestContentOfTracesHasNoSecrets: with tracing.content prompts, answers, arguments and results are
// told, in the form of the conventions.
func TestContentOfTracesHasNoSecrets(t *testing.T) {
	t.Parallel()
	c := collect(t)
	s, _ := paintedRun(t, fmt.Sprintf("tracing: {endpoint: %q, content: true}\n", c.URL+"/v1/traces"))
	must.Do(t, s.stop())
	if a := said(c.one(t, "execute_tool read_file")); !strings.Contains(a["gen_ai.tool.call.arguments"], "none.txt") ||
		a["gen_ai.tool.call.result"] == "" {
		t.Errorf("a tool: %v", a)
	}
	type msg struct {
		Role  string `json:"role"`
		Parts []struct {
			Type, Content, Response string
		} `json:"parts"`
	}
	var asked, answered bool
	for _, span := range c.named("chat script") {
		a := said(span)
		var in, out []msg
		if err := json.Unmarshal([]byte(a["gen_ai.input.messages"]), &in); err != nil || len(in) == 0 {
			t.Fatalf("the prompt: %v %s", err, a["gen_ai.input.messages"])
		}
		if err := json.Unmarshal([]byte(a["gen_ai.output.messages"]), &out); err != nil || len(out) != 1 {
			t.Fatalf("the answer: %v %s", err, a["gen_ai.output.messages"])
		}
		for _, m := range in {
			asked = asked || m.Role == "user" && strings.Contains(m.Parts[0].Content, "\npaint it\n")
		}
		for _, p := range out[0].Parts {
			answered = answered || p.Content == "Painted with ***."
		}
		webtest.Holds(t, "a span", span.String(), "!cAnArY")
	}
	if !asked || !answered {
		t.Errorf("asked %v, answered %v", asked, answered)
	}
}

// TestHostedTracersGetTheirKeys: the environment names Langfuse and LangSmith as DeerFlow reads it.
func TestHostedTracersGetTheirKeys(t *testing.T) {
	fuse, smith := collect(t), collect(t)
	for name, v := range map[string]string{"LANGFUSE_TRACING": "true", "LANGFUSE_PUBLIC_KEY": "pk-lf-1",
		"LANGFUSE_SECRET_KEY": "sk-lf-2", "LANGFUSE_HOST": fuse.URL, "LANGSMITH_TRACING": "true",
		"LANGSMITH_API_KEY": "lsv2-3", "LANGSMITH_ENDPOINT": smith.URL, "LANGSMITH_PROJECT": "deer"} {
		t.Setenv(name, v)
	}
	s, thread := paintedRun(t, "")
	must.Do(t, s.stop())
	for _, c := range []*traces{fuse, smith} {
		if a := said(c.one(t, "invoke_agent lead_agent")); a["session.id"] != thread {
			t.Errorf("%v", a)
		}
	}
	h := fuse.heads[0]
	if h.Get("Authorization") != "Basic cGstbGYtMTpzay1sZi0y" || h.Get("X-Langfuse-Ingestion-Version") != "4" ||
		fuse.paths[0] != "/api/public/otel/v1/traces" {
		t.Errorf("Langfuse: %s %v", fuse.paths[0], h)
	}
	if h := smith.heads[0]; h.Get("X-Api-Key") != "lsv2-3" || h.Get("Langsmith-Project") != "deer" ||
		smith.paths[0] != "/otel/v1/traces" {
		t.Errorf("LangSmith: %s %v", smith.paths[0], h)
	}
}

// TestADeadCollectorCostsARunNothing: one that takes requests and never answers holds up neither
// runs nor, for long, the end of the server.
func TestADeadCollectorCostsARunNothing(t *testing.T) {
	t.Parallel()
	release := make(chan struct{})
	dead := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { <-release }))
	t.Cleanup(func() { close(release); dead.Close() })
	s := start(t, scripted(t)+fmt.Sprintf("tracing: {endpoint: %q}\n", dead.URL))
	for range 20 {
		s.send(t, "POST", "/threads/t1/runs/wait", human("hello")).must(t, "/threads/t1/runs/wait", http.StatusOK)
	}
	must.Do(t, s.stop())
	webtest.Holds(t, "nobody is told that the traces are lost", s.log.String(), "couldn't send traces")
}

// TestDoctorTriesCollectors.
func TestDoctorTriesCollectors(t *testing.T) {
	c := collect(t)
	refuses := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		http.Error(w, "who are you?", http.StatusUnauthorized)
	}))
	t.Cleanup(refuses.Close)
	for name, v := range map[string]string{"LANGSMITH_TRACING": "true", "LANGSMITH_API_KEY": "lsv2-3",
		"LANGSMITH_ENDPOINT": refuses.URL} {
		t.Setenv(name, v)
	}
	conf, out := filepath.Join(t.TempDir(), "config.yaml"), &agenttest.Log{}
	must.Do(t, os.WriteFile(conf, fmt.Appendf(nil, "tracing: {endpoint: %q}\n", c.URL), 0o600))
	_, err := cli.Doctor(t.Context(), web.Options{Addr: "127.0.0.1:0", Data: t.TempDir(), Config: conf, Out: out})
	must.Do(t, err)
	webtest.Holds(t, "doctor", out.String(),
		"ok    metrics", "ok    tracing       the collector at "+c.URL+"/v1/traces takes traces",
		"note  tracing       LangSmith doesn't take traces", "401 Unauthorized: \"who are you?")
}
