package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"io"
	"mime/multipart"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"fawn/agent/agenttest"
	"fawn/agent/agenttest/must"
	"fawn/agent/skills/skilltool"
	"fawn/sandbox/ns"
	"fawn/uploads/convert"
	"fawn/web/e2e/scriptmodel"
	"fawn/web/webtest"
)

// patience bounds every wait of these tests.
const patience = 3 * time.Minute

// asProgram makes the test binary behave as the program itself.
const asProgram = "FAWN_TEST_AS_PROGRAM"

func TestMain(m *testing.M) {
	// Else a server that starts its own program in a sandbox would start the tests again, and
	// they more servers, without end.
	convert.Main()
	skilltool.Main()
	ns.Reexec()
	handicap()
	if os.Getenv(asACPAgent) != "" {
		beACPAgent()
		return
	}
	if os.Getenv(asProgram) == "1" {
		main()
	}
	os.Exit(m.Run())
}

// program is the program as a process of its own, in an empty folder and with an
// environment that holds nothing of the machine's.
func program(t *testing.T, env []string, args ...string) *exec.Cmd {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 2*patience)
	t.Cleanup(cancel)
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(ctx, self, args...)
	cmd.Dir = t.TempDir()
	cmd.Env = append([]string{asProgram + "=1", "HOME=" + t.TempDir()}, env...)
	return cmd
}

// result is how a command ended.
type result struct {
	code           int
	stdout, stderr string
}

func finished(t *testing.T, cmd *exec.Cmd) result {
	t.Helper()
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	err := cmd.Run()
	if exit := (*exec.ExitError)(nil); err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	return result{cmd.ProcessState.ExitCode(), stdout.String(), stderr.String()}
}

// server is a running "fawn serve".
type server struct {
	cmd            *exec.Cmd
	url            string
	stdout, stderr string        // complete once it has ended
	ended          chan struct{} // closed then
	client         *http.Client
}

// serve starts "fawn serve" on a free port and waits until it says that it is ready.
func serve(t *testing.T, env []string, args ...string) *server {
	t.Helper()
	return started(t, program(t, env, append([]string{"serve", "--addr", "127.0.0.1:0"}, args...)...))
}

// started starts a server and waits until it says that it is ready.
func started(t *testing.T, cmd *exec.Cmd) *server {
	t.Helper()
	s := &server{cmd: cmd, ended: make(chan struct{}),
		client: &http.Client{Transport: &http.Transport{}, Timeout: patience}}
	var stderr bytes.Buffer
	s.cmd.Stderr = &stderr
	out, err := s.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := s.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	ready := make(chan string, 1)
	go func() {
		defer close(s.ended)
		defer close(ready)
		r := bufio.NewReader(out)
		line, _ := r.ReadString('\n')
		ready <- line
		rest, _ := io.ReadAll(r)
		_ = s.cmd.Wait() // how it ended is in ProcessState
		s.stdout, s.stderr = line+string(rest), stderr.String()
	}()
	t.Cleanup(func() {
		s.signal(t, os.Kill)
		<-s.ended
		s.client.CloseIdleConnections()
		if t.Failed() {
			t.Logf("%s\n%s", s.stdout, s.stderr)
		}
	})
	var ok bool
	if s.url, ok = strings.CutPrefix(strings.TrimSpace(<-ready), "Fawn is ready at "); !ok {
		t.Fatal("the server did not become ready")
	}
	return s
}

func (s *server) signal(t *testing.T, sig os.Signal) {
	t.Helper()
	if err := s.cmd.Process.Signal(sig); err != nil && !errors.Is(err, os.ErrProcessDone) {
		t.Error(err)
	}
}

// end sends a signal and waits for the end of the process.
func (s *server) end(t *testing.T, sig os.Signal) (code int, took time.Duration) {
	t.Helper()
	began := time.Now()
	s.signal(t, sig)
	select {
	case <-s.ended:
	case <-time.After(patience):
		t.Fatalf("it goes on after %v", sig)
	}
	return s.cmd.ProcessState.ExitCode(), time.Since(began)
}

// call makes a request and decodes the JSON of a good answer.
func call[T any](t *testing.T, s *server, method, path, body string) T {
	t.Helper()
	res, text := webtest.Send(t, s.client, method, s.url+path, strings.NewReader(agenttest.RunBody(path, body)))
	if res.StatusCode != http.StatusOK {
		t.Fatalf("%s %s: %d %s", method, path, res.StatusCode, text)
	}
	return webtest.Decode[T](t, text)
}

// follow starts a run and reads its stream until what has been shown n times. all reads to
// the end and returns the whole stream.
func follow(t *testing.T, s *server, thread, content, what string, n int) (all func() string) {
	t.Helper()
	res, err := s.client.Post(s.url+"/threads/"+thread+"/runs/stream", "application/json",
		strings.NewReader(agenttest.RunBody("/runs", input(content))))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { res.Body.Close() })
	r := bufio.NewReader(res.Body)
	var seen strings.Builder
	for n > 0 {
		line, err := r.ReadString('\n')
		if err != nil {
			t.Fatalf("the stream ended before %q: %v", what, err)
		}
		seen.WriteString(line)
		n -= strings.Count(line, what)
	}
	return sync.OnceValue(func() string {
		b, _ := io.ReadAll(r) // a killed server cuts it off
		return seen.String() + string(b)
	})
}

// input is the body of a run with one message.
func input(content string) string {
	return webtest.Human(content, `"stream_mode": "messages-tuple"`)
}

// configured is a configuration file whose model is a scripted one.
func configured(t *testing.T, more ...string) string {
	t.Helper()
	return file(t, "config.yaml", strings.Join(more, "\n")+
		"\nmemory: {model_name: offline}\n"+webtest.Model(scriptmodel.Start(t)))
}

func file(t *testing.T, name, content string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// form has files for an upload: a name, a text, and so on.
func form(t *testing.T, files ...string) (*bytes.Buffer, string) {
	t.Helper()
	var b bytes.Buffer
	w := multipart.NewWriter(&b)
	for i := 0; i+1 < len(files); i += 2 {
		part := must.Get(w.CreateFormFile("files", files[i]))(t)
		must.Get(io.WriteString(part, files[i+1]))(t)
	}
	must.Do(t, w.Close())
	return &b, w.FormDataContentType()
}

// until waits for what the server does by itself.
func until(t *testing.T, done func() bool) {
	t.Helper()
	webtest.Until(t, "what the server does by itself", done)
}

// status of a thread, as GET tells it.
func status(t *testing.T, s *server, thread string) string {
	t.Helper()
	return call[struct{ Status string }](t, s, "GET", "/threads/"+thread, "").Status
}

type runRow struct {
	ID         string `json:"run_id"`
	Status     string `json:"status"`
	StopReason string `json:"stop_reason"`
}

// runsOf are a thread's runs, the oldest first.
func runsOf(t *testing.T, s *server, thread string) []runRow {
	t.Helper()
	list := call[[]runRow](t, s, "GET", "/threads/"+thread+"/runs", "")
	for i, j := 0, len(list)-1; i < j; i, j = i+1, j-1 {
		list[i], list[j] = list[j], list[i]
	}
	return list
}

const speaking = `SCRIPT{"turns": [{"text": "first words, ", "chunk": 9, "tokens": 100000, "rate": 200}]}`

type message struct {
	Type    string `json:"type"`
	Content any    `json:"content"`
}

// messages are the texts of a thread.
func messages(t *testing.T, s *server, thread string) string {
	t.Helper()
	state := call[struct {
		Values struct{ Messages []message }
	}](t, s, "GET", "/threads/"+thread+"/state", "")
	var b strings.Builder
	for _, m := range state.Values.Messages {
		text, _ := m.Content.(string)
		b.WriteString(m.Type + ":" + text + "\n")
	}
	return b.String()
}
