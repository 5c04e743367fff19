package web_test

import (
	"bufio"
	"context"
	"encoding/json"
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
	debug.SetGCPercent(300) // opening programs leaves much behind
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
		if err := os.WriteFile(s.conf, []byte(conf), 0o600); err != nil {
			t.Fatal(err)
		}
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
	var v T
	if err := json.Unmarshal([]byte(a.body), &v); err != nil || a.status != http.StatusOK {
		t.Fatalf("%d %v: %s", a.status, err, a.body)
	}
	return v
}

// works fails the test unless the server still makes, runs and reads a thread.
func (s *server) works(t *testing.T) {
	t.Helper()
	id := decoded[struct {
		ID string `json:"thread_id"`
	}](t, s.send(t, "POST", "/threads", "{}")).ID
	if a := s.send(t, "GET", "/threads/"+id+"/state", ""); a.status != http.StatusOK {
		t.Errorf("the next good request: %d %s", a.status, a.body)
	}
	if a := s.send(t, "GET", "/workspace/chats/new", "", "Accept", "text/html"); a.status != http.StatusOK {
		t.Errorf("the next good page: %d %s", a.status, a.body)
	}
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
	if err != nil {
		t.Fatal(err)
	}
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
