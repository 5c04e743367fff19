package web_test

import (
	"bufio"
	"context"
	"io"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"runtime/debug"
	"strings"
	"testing"
	"time"

	"fawn/agent/agenttest"
	"fawn/agent/agenttest/must"
	"fawn/agent/mcp/mcptest"
	"fawn/sandbox/initbin"
	"fawn/sandbox/ns"
	"fawn/uploads/convert"
	"fawn/web"
	"fawn/web/cli"
	"fawn/web/e2e/scriptmodel"
	"fawn/web/webtest"
)

// patience bounds every wait of these tests.
const patience = 3 * time.Minute

// TestMain lets the test binary stand in for the small program that sandboxes start, and for
// an MCP server.
func TestMain(m *testing.M) {
	if len(os.Args) == 2 && os.Args[1] == mcpServerArg {
		serveMCP()
		return
	}
	if len(os.Args) == 3 && os.Args[1] == mcpServerArg && mcptest.Serve(os.Args[2]) {
		return
	}
	convert.Main()
	ns.Reexec()
	initbin.Keep()
	ns.Keep()
	for name, value := range map[string]string{"NOTES_SECRET": mcpCanary, "DEER_FLOW_MCP_STDIO_COMMAND_ALLOWLIST": os.Args[0]} {
		if err := os.Setenv(name, value); err != nil {
			panic(err)
		}
	}
	debug.SetGCPercent(300) // opening programs leaves much behind
	webtest.Wide(8)
	os.Exit(m.Run())
}

// server is the whole program on a port of the system's choice.
type server struct {
	app       *web.App
	url, conf string
	log, out  *agenttest.Log
	client    *http.Client
	stop      func() error // ends it in order, as a signal does
}

// start opens a server with a configuration file of the given content.
func start(t *testing.T, conf string, change ...func(*web.Options)) *server {
	t.Helper()
	s := &server{conf: filepath.Join(t.TempDir(), "config.yaml"), log: &agenttest.Log{}, out: &agenttest.Log{}}
	s.configure(t, conf)
	o := web.Options{Addr: "127.0.0.1:0", Data: t.TempDir(), Config: s.conf, Version: "test", Doctor: cli.Doctor, HashMemory: 64,
		Log: slog.New(slog.NewTextHandler(s.log, nil)), Out: s.out}
	for _, f := range change {
		f(&o)
	}
	var err error
	if s.app, err = web.Open(t.Context(), o); err != nil {
		t.Fatal(err)
	}
	s.client = &http.Client{Transport: &http.Transport{}, Timeout: patience,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	running := webtest.Run(t, s.app, s.client, s.log)
	s.url, s.stop = running.URL, running.Stop
	return s
}

// configure writes the configuration file; a server that runs takes it at once.
func (s *server) configure(t *testing.T, conf string) {
	t.Helper()
	s.takes(t, func() {
		must.Do(t, os.WriteFile(s.conf, []byte(conf), 0o600))
	})
}

// takes changes files of the configuration; a server that runs takes them at once, and may have seen them by itself.
func (s *server) takes(t *testing.T, change func()) {
	t.Helper()
	if s.app == nil {
		change()
		return
	}
	before := s.app.Config()
	change()
	if s.app.Poll(); s.app.Config() == before {
		t.Fatal("the configuration was not taken")
	}
}

// scripted is a configuration whose only model is the scripted one. Titles are made by rule,
// so that nothing happens to a thread behind the end of its run.
func scripted(t *testing.T) string { return scriptedBy(scriptmodel.Start(t)) }

// scriptedBy is scripted for a model that the test has in its hands.
func scriptedBy(model *scriptmodel.Server) string {
	return "title: {model_name: offline}\nmemory: {model_name: offline}\n" + webtest.Model(model)
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

// fine ends the test unless a says that something was done.
func (a answer) fine(t *testing.T, what any) answer {
	t.Helper()
	if a.status/100 != 2 {
		t.Fatalf("%v: %d %s", what, a.status, a.body)
	}
	return a
}

// send makes one request. Headers are names and values; Host is one too.
func (s *server) send(t *testing.T, method, path, body string, headers ...string) answer {
	t.Helper()
	return s.sendBody(t, method, path, strings.NewReader(agenttest.RunBody(path, body)), headers...)
}

func (s *server) sendBody(t *testing.T, method, path string, body io.Reader, headers ...string) answer {
	t.Helper()
	res, text := webtest.Send(t, s.client, method, s.url+path, body, headers...)
	a := answer{res.StatusCode, res.Header, text}
	conforms(t, method, path, a)
	return a
}

func (s *server) request(ctx context.Context, method, path string, body io.Reader,
	headers ...string) (*http.Response, error) {
	return webtest.Request(ctx, s.client, method, s.url+path, body, headers...)
}

// decoded is the JSON of an answer that must be a good one.
func decoded[T any](t *testing.T, a answer) T {
	t.Helper()
	return webtest.Decode[T](t, a.must(t, "the answer", http.StatusOK).body)
}

// works fails the test unless the server still makes, runs and reads a thread.
func (s *server) works(t *testing.T) {
	t.Helper()
	id := decoded[struct {
		ID string `json:"thread_id"`
	}](t, s.send(t, "POST", "/threads", "{}")).ID
	s.send(t, "GET", "/threads/"+id+"/state", "").want(t, "the next good request", http.StatusOK)
	s.send(t, "GET", "/workspace/chats/new", "", "Accept", "text/html").want(t, "the next good page", http.StatusOK)
}

// human is the body of a run with one message, with more members if there are any.
func human(content string, more ...string) string { return webtest.Human(content, more...) }

// stream is a run that is being followed.
type stream struct {
	res  *http.Response
	line *bufio.Scanner
}

func (s *server) stream(t *testing.T, ctx context.Context, path, body string) *stream {
	t.Helper()
	res, err := s.request(ctx, "POST", path, strings.NewReader(agenttest.RunBody(path, body)))
	must.Do(t, err)
	t.Cleanup(func() { res.Body.Close() })
	if res.StatusCode != http.StatusOK {
		b, _ := io.ReadAll(res.Body)
		t.Fatalf("%d %s", res.StatusCode, b)
	}
	return newStream(res)
}

func newStream(res *http.Response) *stream {
	lines := bufio.NewScanner(res.Body)
	lines.Buffer(nil, 16<<20)
	return &stream{res, lines}
}

// until reads on to a line that contains what.
func (s *stream) until(t *testing.T, what string) string {
	t.Helper()
	for s.line.Scan() {
		if strings.Contains(s.line.Text(), what) {
			return s.line.Text()
		}
	}
	t.Fatalf("the stream ended without %q: %v", what, s.line.Err())
	return ""
}
