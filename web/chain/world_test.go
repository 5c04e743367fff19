// Package chain_test drives every stage of the chain through the HTTP API and looks at the
// requests that arrive at the model's server.
package chain_test

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/labstack/echo/v4"

	"fawn/agent"
	"fawn/agent/agenttest"
	"fawn/agent/agenttest/must"
	"fawn/agent/config"
	"fawn/agent/lead"
	"fawn/agent/middleware"
	"fawn/agent/runs"
	"fawn/sandbox"
	"fawn/sandbox/changes"
	"fawn/sandbox/files"
	"fawn/store"
	"fawn/web/api"
	"fawn/web/e2e/scriptmodel"
	"fawn/web/gateway"
	"fawn/web/httpx"
	"fawn/web/principal"
	"fawn/web/route"
	"fawn/web/webtest"
)

// patience bounds every wait of these tests.
const patience = webtest.Patience

// world is the real API, chain, tools and store, before a model server whose answers are
// written down. Commands are echoed instead of run.
type world struct {
	url     string
	model   *scriptmodel.Server
	builder *lead.Builder
	runs    *runs.Manager
	db      *store.DB
	log     *agenttest.Log
	audited chan middleware.AuditRecord
}

// setup changes what a world is made of before it is made.
type setup func(*config.File, *lead.Options)

func open(t *testing.T, change ...setup) *world {
	t.Helper()
	w := &world{model: scriptmodel.Start(t), log: &agenttest.Log{},
		audited: make(chan middleware.AuditRecord, 64)}
	log := slog.New(slog.NewTextHandler(w.log, nil))
	file := config.Default()
	base := w.model.URL + "/v1"
	price := &config.Pricing{Currency: "EUR", InputPerMillion: 1, OutputPerMillion: 1}
	file.Models = []config.Model{
		{Name: "main", Use: "openai", Model: "main-1", BaseURL: base, ContextWindow: 100_000, SupportsVision: true, Pricing: price},
		{Name: "helper", Use: "openai", Model: "helper-1", BaseURL: base},
	}
	file.Title.Enabled = false
	file.LLMCall.Base, file.LLMCall.Cap, file.LLMCall.BurstBase = time.Millisecond, time.Millisecond, time.Millisecond
	o := lead.Options{Sandbox: echoes{}, Audit: func(r middleware.AuditRecord) {
		select {
		case w.audited <- r:
		default:
		}
	}}
	o.Spent = func(_ context.Context, c lead.SideCall) {
		log.Info("side call", "purpose", c.Purpose, "tokens", c.Usage.Total)
	}
	for _, f := range change {
		f(&file, &o)
	}
	dir := t.TempDir()
	db, err := store.Open(t.Context(), store.Config{Dir: dir, Log: log})
	must.Do(t, err)
	w.db = db
	dirs := files.Dirs{Root: dir}
	snapshot := config.Fixed(&config.Snapshot{File: file}).Current
	var m *runs.Manager
	o.Retitle = func(ctx context.Context, thread, from, to string, _ []lead.SideCall) {
		if err := m.Retitle(ctx, thread, from, to); err != nil && ctx.Err() == nil {
			log.Error("retitle", "err", err)
		}
	}
	if o.Spawn != nil { // a setup asks for helpers
		o.Spawn = func(ctx context.Context, t *agent.Turn, task runs.Task) (store.Run, agent.State, error) {
			return m.Child(ctx, t, task)
		}
	}
	w.builder = lead.NewWith(snapshot, dirs, log, o)
	m = runs.New(runs.Config{DB: db, Watch: changes.New(dirs), Build: w.builder.Build, Log: log, Remove: dirs.Remove})
	w.runs = m
	parts := route.NewParts(route.Deps{DB: db, Runs: m, Dirs: dirs, Log: log, Version: "test", Snapshot: snapshot,
		Compact: w.builder.Compact, Aside: w.builder})
	served := api.New(parts)
	e := echo.New()
	e.Use(principal.Middleware(principal.Single))
	e.HTTPErrorHandler = httpx.ErrorHandler(log)
	served.Routes(e.Group(""), false)
	served.Routes(e.Group("/api"), true)
	gateway.New(parts, served).Routes(e.Group("/api"))
	srv := httptest.NewServer(e)
	w.url = srv.URL
	t.Cleanup(func() {
		m.Close()
		w.builder.Close()
		srv.Close()
		served.Close()
		if err := db.Close(); err != nil {
			t.Error(err)
		}
		webtest.ShowLog(t, w.log)
	})
	return w
}

// echoes is a provider whose commands say what they are.
type echoes struct{ sandbox.Provider }

func (echoes) Name() string { return "echo" }

func (echoes) Acquire(_ context.Context, ref sandbox.ThreadRef, _ sandbox.Policy) (sandbox.Sandbox, error) {
	return echoBox{}, nil
}

type echoBox struct{ sandbox.Sandbox }

func (echoBox) Exec(_ context.Context, req sandbox.ExecReq) (sandbox.ExecResult, error) {
	return sandbox.ExecResult{Output: []byte("ran " + req.Command)}, nil
}

// tool is a tool of a test.
func tool(name, result string) *agent.Tool {
	return &agent.Tool{Name: name, Description: name, Schema: json.RawMessage(`{"type":"object"}`),
		Run: func(context.Context, *agent.Turn, agent.ToolCall) (agent.Result, error) {
			return agent.TextResult(result), nil
		}}
}

// say and call are turns of the model.
func say(text string) scriptmodel.Turn { return scriptmodel.Turn{Text: text} }

// call takes names and arguments of tools.
func call(parts ...string) scriptmodel.Turn {
	var turn scriptmodel.Turn
	for i := 0; i+1 < len(parts); i += 2 {
		turn.ToolCalls = append(turn.ToolCalls, scriptmodel.Call{Name: parts[i], Args: json.RawMessage(parts[i+1])})
	}
	return turn
}

// when scripts the turns behind a message that contains match.
func (w *world) when(match string, turns ...scriptmodel.Turn) {
	w.model.When(match, scriptmodel.Script{Turns: turns})
}

// rules replaces all scripts.
func (w *world) rules(list ...scriptmodel.Rule) { w.model.Replace(list) }

func (w *world) send(t *testing.T, method, path, body string, headers ...string) string {
	t.Helper()
	client := &http.Client{Timeout: patience}
	res, text := webtest.Send(t, client, method, w.url+path, strings.NewReader(agenttest.RunBody(path, body)), headers...)
	if res.StatusCode/100 != 2 {
		t.Fatalf("%s %s: %d %s", method, path, res.StatusCode, text)
	}
	return text
}

// run says something in the thread t1 and gives the stream of the run. context is its
// options as JSON, "" for none.
func (w *world) run(t *testing.T, text, options string) string {
	t.Helper()
	quoted, err := json.Marshal(text)
	must.Do(t, err)
	return w.runInput(t, `{"messages":[{"type":"human","content":`+string(quoted)+`}]}`, options)
}

func (w *world) runInput(t *testing.T, input, options string) string {
	t.Helper()
	if options == "" {
		options = "{}"
	}
	return w.send(t, "POST", "/threads/t1/runs/stream",
		`{"input":`+input+`,"context":`+options+`,"stream_mode":["values","custom"]}`)
}

// last is the newest run of the thread.
func (w *world) last(t *testing.T) (r struct {
	Status     string `json:"status"`
	StopReason string `json:"stop_reason"`
	Error      string `json:"error"`
}) {
	t.Helper()
	var list []json.RawMessage
	if err := json.Unmarshal([]byte(w.send(t, "GET", "/threads/t1/runs", "")), &list); err != nil || len(list) == 0 {
		t.Fatal(err, len(list))
	}
	must.Do(t, json.Unmarshal(list[0], &r))
	return r
}

// values is the thread's state as JSON, member by member.
func (w *world) values(t *testing.T) map[string]json.RawMessage {
	t.Helper()
	return w.valuesAt(t, "/threads/t1/state")
}

func (w *world) valuesAt(t *testing.T, path string) map[string]json.RawMessage {
	t.Helper()
	s := webtest.Decode[struct {
		Values map[string]json.RawMessage `json:"values"`
	}](t, w.send(t, "GET", path, ""))
	return s.Values
}

// request is one request as it arrived at the model's server.
type request struct {
	Model    string `json:"model"`
	Messages []struct {
		Role    string          `json:"role"`
		Name    string          `json:"name"`
		Content json.RawMessage `json:"content"`
		Calls   []struct {
			ID       string `json:"id"`
			Function struct {
				Name string `json:"name"`
			} `json:"function"`
		} `json:"tool_calls"`
		CallID string `json:"tool_call_id"`
	} `json:"messages"`
	Tools []struct {
		Function struct {
			Name string `json:"name"`
		} `json:"function"`
	} `json:"tools"`
}

// request is the nth the model got, the first is 0.
func (w *world) request(t *testing.T, n int) request {
	t.Helper()
	all := w.model.Requests()
	if n >= len(all) {
		t.Fatalf("the model got %d requests, not %d", len(all), n+1)
	}
	r := webtest.Decode[request](t, string(all[n].Body))
	return r
}

// lines are the messages behind the system prompt as "role: text", with the names of calls and without
// the lines around what people wrote.
func (r request) lines() string {
	var b strings.Builder
	for _, m := range r.Messages {
		if m.Role == "system" {
			continue
		}
		var text string
		if json.Unmarshal(m.Content, &text) != nil {
			text = string(m.Content)
		}
		text = strings.NewReplacer("--- BEGIN USER INPUT ---\n", "", "\n--- END USER INPUT ---", "").Replace(text)
		fmt.Fprintf(&b, "%s: %s", m.Role, text)
		for _, c := range m.Calls {
			b.WriteString(" [calls " + c.Function.Name + "]")
		}
		b.WriteString("\n")
	}
	return b.String()
}

func (r request) system() string {
	var all []string
	for _, m := range r.Messages {
		var text string
		if m.Role == "system" && json.Unmarshal(m.Content, &text) == nil {
			all = append(all, text)
		}
	}
	return strings.Join(all, "\n=====\n")
}

func (r request) offers(tool string) bool {
	for _, have := range r.Tools {
		if have.Function.Name == tool {
			return true
		}
	}
	return false
}

// holds fails the test unless all words are in text; those with a ! in front must not be.
func holds(t *testing.T, what, text string, words ...string) {
	t.Helper()
	for _, word := range words {
		no, ok := strings.CutPrefix(word, "!")
		if ok && strings.Contains(text, no) || !ok && !strings.Contains(text, word) {
			t.Errorf("%s: %q in\n%.4000s", what, word, text)
		}
	}
}

// drivenBelow are the stages whose tests are in agent/lead, with the same model, store and runs and without HTTP:
// what they do is seen in requests to the model and in the run, and no route has a part in it.
func drivenBelow() []string {
	return []string{"authorization", "deferred_tools", "guardrail", "length_stop", "llm_errors", "loop_detection", "memory",
		"subagent_limit", "terminal_response", "todos", "token_budget", "refusals"}
}

// stages is what each stage's test is called.
func stages() []string {
	out := drivenBelow()
	for _, c := range slices.Concat(seedStages(), otherStages()) {
		out = append(out, c.stage)
	}
	return out
}

// driven is a stage with what drives it.
type driven struct {
	stage  string
	change setup
	drive  func(t *testing.T, w *world)
}

func drive(t *testing.T, all []driven) {
	for _, c := range all {
		t.Run(c.stage, func(t *testing.T) {
			var change []setup
			if c.change != nil {
				change = append(change, c.change)
			}
			c.drive(t, open(t, change...))
		})
	}
}
