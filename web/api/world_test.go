package api_test

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/labstack/echo/v4"

	"fawn/agent"
	"fawn/agent/agenttest"
	"fawn/agent/config"
	"fawn/agent/runs"
	"fawn/sandbox/files"
	"fawn/store"
	"fawn/uploads"
	"fawn/web/account"
	"fawn/web/api"
	"fawn/web/gateway"
	"fawn/web/httpx"
	"fawn/web/principal"
	"fawn/web/route"
	"fawn/web/webtest"
)

// world is the API on a real server over a real store, whose runs all use one agent.
type world struct {
	url   string
	db    *store.DB
	m     *runs.Manager
	dirs  files.Dirs
	api   *api.API
	drain func()
}

// asked makes the header X-Owner say whom a request acts for.
func asked(r *http.Request) principal.Principal {
	if owner := cmp.Or(r.Header.Get("X-Owner"), principal.Default); owner != principal.Default {
		return principal.Principal{Owner: owner, Role: principal.RoleUser}
	}
	return principal.Single(r)
}

type option func(*route.Deps)

// serve adds the routes of the API, and natively those of DeerFlow's gateway.
func serve(d route.Deps, g *echo.Group, native bool) *api.API {
	parts := route.NewParts(d)
	a := api.New(parts)
	if a.Routes(g, native); native {
		gateway.New(parts, a).Routes(g)
	}
	return a
}

func open(t testing.TB, a *agent.Agent, opts ...option) *world {
	t.Helper()
	dir := t.TempDir()
	log := slog.New(slog.DiscardHandler)
	db, err := store.Open(t.Context(), store.Config{Dir: dir, Log: log})
	if err != nil {
		t.Fatal(err)
	}
	dirs := files.Dirs{Root: dir}
	m := runs.New(runs.Config{DB: db, Log: log, Remove: dirs.Remove,
		Build: func(context.Context, runs.Spec) (*agent.Agent, error) { return a, nil }})
	if err := m.Recover(t.Context()); err != nil {
		t.Fatal(err)
	}
	draining, drain := context.WithCancel(context.Background())
	t.Cleanup(drain)
	d := route.Deps{DB: db, Runs: m, Dirs: dirs, Log: log, Version: "test", Draining: draining}
	for _, o := range opts {
		o(&d)
	}
	e := echo.New()
	e.Use(principal.Middleware(asked))
	e.HTTPErrorHandler = httpx.ErrorHandler(log)
	served := serve(d, e.Group("/api"), true)
	served.Routes(e.Group(""), false)
	served.Routes(e.Group("/api/langgraph"), false)
	srv := httptest.NewServer(e)
	w := &world{url: srv.URL, db: db, m: m, dirs: dirs, api: served, drain: drain}
	t.Cleanup(func() {
		w.drain()
		m.Close()
		srv.Close()
		served.Close()
		db.Close()
	})
	return w
}

// answer is what came back from a request.
type answer struct {
	status int
	header http.Header
	body   string
}

// want fails the test unless a has this status and its body has the parts; those behind a "!" must not be there.
func (a answer) want(t *testing.T, what any, status int, parts ...string) answer {
	t.Helper()
	webtest.Answered(t, what, a.status, a.body, status, parts...)
	return a
}

// must is want, and ends the test.
func (a answer) must(t *testing.T, what any, status int, parts ...string) answer {
	t.Helper()
	if !webtest.Answered(t, what, a.status, a.body, status, parts...) {
		t.FailNow()
	}
	return a
}

// holds is want for any status.
func (a answer) holds(t *testing.T, what any, parts ...string) {
	t.Helper()
	webtest.Answered(t, what, a.status, a.body, a.status, parts...)
}

func (w *world) send(t *testing.T, method, path, body string, headers ...string) answer {
	t.Helper()
	res, text := webtest.Send(t, http.DefaultClient, method, w.url+path, runBody(path, body), headers...)
	return answer{res.StatusCode, res.Header, text}
}

// runBody is the body of a request, nil if there is none.
func runBody(path, body string) io.Reader {
	if body == "" {
		return nil
	}
	return strings.NewReader(agenttest.RunBody(path, body))
}

func (w *world) request(t *testing.T, ctx context.Context, method, path, body string,
	headers ...string) *http.Response {
	t.Helper()
	res, err := webtest.Request(ctx, http.DefaultClient, method, w.url+path, runBody(path, body), headers...)
	if err != nil {
		t.Fatalf("%s %s: %v", method, path, err)
	}
	return res
}

// ok sends a request that must succeed and decodes the answer.
func (w *world) ok(t *testing.T, method, path, body string) map[string]any {
	t.Helper()
	a := w.send(t, method, path, body)
	if a.status != http.StatusOK {
		t.Fatalf("%s %s = %d %s", method, path, a.status, a.body)
	}
	return decode[map[string]any](t, a.body)
}

// eventually waits for something the server does on its own.
func (w *world) eventually(t *testing.T, done func() bool) {
	t.Helper()
	webtest.Until(t, "what the server does by itself", done)
}

func decode[T any](t *testing.T, s string) T {
	t.Helper()
	return webtest.Decode[T](t, s)
}

// frame is one server-sent event.
type frame struct{ event, data, id string }

// frames splits a stream, refusing whatever is not framed exactly.
func frames(t *testing.T, stream string) []frame {
	t.Helper()
	var out []frame
	var f frame
	s := bufio.NewScanner(strings.NewReader(stream))
	s.Buffer(nil, 64<<20)
	for s.Scan() {
		line := s.Text()
		switch {
		case strings.HasPrefix(line, ":"):
		case line == "":
			out, f = append(out, f), frame{}
		case strings.HasPrefix(line, "event: ") && f == frame{}:
			f.event = line[7:]
		case strings.HasPrefix(line, "data: ") && f.event != "" && f.data == "":
			f.data = line[6:]
			if !json.Valid([]byte(f.data)) {
				t.Fatalf("data is no JSON: %s", line)
			}
		case strings.HasPrefix(line, "id: ") && f.data != "" && f.id == "":
			f.id = line[4:]
		default:
			t.Fatalf("unexpected line %q in frame %+v", line, f)
		}
	}
	if f != (frame{}) || s.Err() != nil {
		t.Fatalf("the stream breaks off: %+v %v", f, s.Err())
	}
	return out
}

// events is the sequence of event names.
func events(fs []frame) string {
	names := make([]string, len(fs))
	for i, f := range fs {
		names[i] = f.event
	}
	return strings.Join(names, " ")
}

// normal replaces what differs from run to run by words, and sorts object members.
func normal(t *testing.T, s string, words ...string) string {
	t.Helper()
	for i := 0; i+1 < len(words); i += 2 {
		s = strings.ReplaceAll(s, words[i], words[i+1])
	}
	var v any
	if err := json.Unmarshal([]byte(s), &v); err != nil {
		t.Fatalf("%v in %s", err, s)
	}
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(b.String())
}

const toolBody = `{"assistant_id":"lead_agent","input":{"messages":[{"role":"user","content":"weather please","id":"h1"}]},"stream_mode":["values","messages-tuple","updates","custom"]}`

// toolAgent answers with a call, then with text.
func toolAgent() *agent.Agent {
	return &agent.Agent{Tools: []*agent.Tool{agenttest.Echo("get_weather")},
		Model: &agenttest.Script{Replies: []agenttest.Reply{
			{Chunks: []agent.Chunk{{Reasoning: "thinking"}, {Text: "Let "}, {Text: "me."},
				{Calls: []agent.CallDelta{{ID: "call_1", Name: "get_weather"}}},
				{Calls: []agent.CallDelta{{Args: `{"city":`}}}, {Calls: []agent.CallDelta{{Args: `"Paris"}`}}},
				{Finish: "tool_calls", Usage: &agent.Usage{Input: 10, Output: 5, Total: 15}, Model: "fake"}}},
			agenttest.Say("It is ", "sunny."),
		}}}
}

func sayAgent(words ...string) *agent.Agent {
	return &agent.Agent{Model: &agenttest.Script{Replies: []agenttest.Reply{agenttest.Say(words...)}}}
}

// askAgent asks a question, then answers.
func askAgent() *agent.Agent {
	ask := &agent.Tool{Name: "ask_clarification", Description: "asks", Schema: json.RawMessage(`{"type":"object"}`),
		Run: func(context.Context, *agent.Turn, agent.ToolCall) (agent.Result, error) {
			return agent.Result{Content: agent.Text("Which colour?"), End: true,
				Artifact: json.RawMessage(
					`{"human_input":{"version":1,"kind":"human_input_request","question":"Which colour?","input_mode":"free_text"}}`)}, nil
		}}
	return &agent.Agent{Tools: []*agent.Tool{ask}, Model: &agenttest.Script{Replies: []agenttest.Reply{
		agenttest.Call("q1", "ask_clarification", `{"question":"Which colour?"}`), agenttest.Say("Blue ", "it is.")}}}
}

// failAgent says half an answer and fails, again and again.
func failAgent() *agent.Agent {
	half := agenttest.Reply{Chunks: []agent.Chunk{{Text: "half "}}, Err: namedError{}}
	return &agent.Agent{Model: &agenttest.Script{Replies: []agenttest.Reply{half, half, half}}}
}

type namedError struct{}

func (namedError) Error() string     { return "kaboom" }
func (namedError) ErrorName() string { return "TypeError" }

// withConfig lets a test change the configuration the API sees.
func withConfig(change func(*config.Snapshot)) option {
	return func(d *route.Deps) {
		s := &config.Snapshot{File: config.Default()}
		change(s)
		d.Snapshot = func() *config.Snapshot { return s }
	}
}

func withUploads(c uploads.Config) option {
	return func(d *route.Deps) { d.Uploads = func() uploads.Config { return c } }
}

// withAccounts puts accounts in force, for the handlers: who asks is still said by a header.
func withAccounts(d *route.Deps) {
	d.Accounts = account.New(account.Options{DB: d.DB, Log: d.Log, Required: true})
}
