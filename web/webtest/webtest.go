// Package webtest contains helpers for tests that use the program over HTTP, whole or in part: it runs an opened
// program until its test ends, makes requests, writes the configuration of a scripted model and the body of a run, and
// waits for conditions. It doesn't import the program, so that tests of a part don't have to link the whole. Helpers
// for a single package's tests, such as the parts of its server, stay with them.
package webtest

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"mime/multipart"
	"net"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"fawn/agent/agenttest/must"
	"fawn/web/e2e/scriptmodel"
)

// Patience limits every wait.
const Patience = 5 * time.Minute

// Wide lets n tests that call t.Parallel run at a time, unless -parallel names another number. It is for packages whose
// tests mostly wait, and stands in TestMain before m.Run. A program that a test opens takes about 30 MB.
func Wide(n int) {
	if err := flag.Set("test.parallel", strconv.Itoa(n)); err != nil {
		panic(err)
	}
}

// Program is a listening server that isn't running yet, as returned by web.Open.
type Program interface {
	Addr() string // host and port
	Run(context.Context) error
	Close() error
}

// Server is a program that runs.
type Server struct {
	URL  string       // base address, on loopback
	Stop func() error // ends it in order, as a signal does, and returns the first error; later calls return the same
}

// Run runs a program until the test ends or [Server.Stop] is called. An error of its end fails the test, and a test
// that failed shows the log. client is used for requests, and its idle connections are closed with the program.
func Run(t testing.TB, app Program, client *http.Client, log fmt.Stringer) *Server {
	t.Helper()
	_, port, err := net.SplitHostPort(app.Addr())
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- app.Run(ctx) }()
	s := &Server{URL: "http://127.0.0.1:" + port}
	s.Stop = sync.OnceValue(func() error {
		cancel()
		err := <-ended
		client.CloseIdleConnections()
		if closeErr := app.Close(); err == nil {
			err = closeErr
		}
		return err
	})
	t.Cleanup(func() {
		if err := s.Stop(); err != nil {
			t.Error("stop:", err)
		}
		ShowLog(t, log)
	})
	return s
}

// ShowLog logs a server's log if the test has failed.
func ShowLog(t testing.TB, log fmt.Stringer) {
	t.Helper()
	if t.Failed() {
		t.Logf("log:\n%s", log)
	}
}

// Request makes a request. Headers are names and values; Host is one too. The caller closes the body.
func Request(ctx context.Context, c *http.Client, method, url string, body io.Reader, headers ...string) (
	*http.Response, error) {
	req, err := http.NewRequestWithContext(ctx, method, url, body)
	if err != nil {
		return nil, err
	}
	for i := 0; i+1 < len(headers); i += 2 {
		if headers[i] == "Host" {
			req.Host = headers[i+1]
		}
		req.Header.Set(headers[i], headers[i+1])
	}
	return c.Do(req)
}

// Send makes a request like [Request], and returns the completely read response. A connection error ends the test.
func Send(t testing.TB, c *http.Client, method, url string, body io.Reader, headers ...string) (
	res *http.Response, text string) {
	t.Helper()
	res, err := Request(t.Context(), c, method, url, body, headers...)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	b, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatalf("%s %s: %v", method, url, err)
	}
	return res, string(b)
}

// Form returns the body and content type of a form with files: their names and contents in turn, all in one field. A
// name that begins with "=" is that of a plain field instead.
func Form(t testing.TB, field string, pairs ...string) (body, kind string) {
	t.Helper()
	var b strings.Builder
	m := multipart.NewWriter(&b)
	for i := 0; i+1 < len(pairs); i += 2 {
		if name, plain := strings.CutPrefix(pairs[i], "="); plain {
			must.Do(t, m.WriteField(name, pairs[i+1]))
			continue
		}
		part, err := m.CreateFormFile(field, pairs[i])
		must.Do(t, err)
		_, err = io.WriteString(part, pairs[i+1])
		must.Do(t, err)
	}
	must.Do(t, m.Close())
	return b.String(), m.FormDataContentType()
}

// Decode returns the value of a JSON text, or ends the test.
func Decode[T any](t testing.TB, text string) (v T) {
	t.Helper()
	if err := json.Unmarshal([]byte(text), &v); err != nil {
		t.Fatalf("%v in %s", err, text)
	}
	return v
}

// Model returns the part of a configuration with the scripted model as its only one, by the name script.
func Model(model *scriptmodel.Server) string {
	return fmt.Sprintf("models: [{name: script, use: openai, model: script, base_url: %q, api_key: test}]\n", model.URL+"/v1")
}

// Human returns the body of a run with one user message, with more members if there are any, each `"name": value`.
func Human(content string, more ...string) string {
	text, err := json.Marshal(content)
	if err != nil {
		panic(err)
	}
	members := append([]string{fmt.Sprintf(`"input": {"messages": [{"type": "human", "content": %s}]}`, text)}, more...)
	return "{" + strings.Join(members, ", ") + "}"
}

// Until waits for a condition, or ends the test after [Patience]; what names the missing event.
func Until(t testing.TB, what string, done func() bool) {
	t.Helper()
	UntilSeen(t, done, func() string { return what })
}

// UntilSeen is [Until] for conditions that report the actual state at the end.
func UntilSeen(t testing.TB, done func() bool, see func() string) {
	t.Helper()
	for end := time.Now().Add(Patience); !done(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("after %s still not: %s", Patience, see())
		}
	}
}

// Each calls a function with each value of a list, eight at a time, and returns when all calls have.
func Each[T any](list []T, do func(T)) {
	var all sync.WaitGroup
	places := make(chan struct{}, 8)
	for _, one := range list {
		places <- struct{}{}
		all.Go(func() {
			defer func() { <-places }()
			do(one)
		})
	}
	all.Wait()
}

// Same fails the test unless a value is the wanted one; what says which value.
func Same[T comparable](t testing.TB, what any, got, want T) {
	t.Helper()
	if got != want {
		t.Errorf("%v: got %v, want %v", what, got, want)
	}
}

// Holds fails the test for each part that text lacks; a part behind a "!" must not be in it. what says what text is.
func Holds(t testing.TB, what any, text string, parts ...string) bool {
	t.Helper()
	bad := ""
	for _, part := range parts {
		if no, unwanted := strings.CutPrefix(part, "!"); unwanted && strings.Contains(text, no) {
			bad += fmt.Sprintf(" unwanted %q", no)
		} else if !unwanted && !strings.Contains(text, part) {
			bad += fmt.Sprintf(" no %q", part)
		}
	}
	if bad != "" {
		t.Errorf("%v:%s in\n%.4000s", what, bad, text)
	}
	return bad == ""
}

// Answered fails the test for a response with another status, or whose body is not as [Holds] wants it.
func Answered(t testing.TB, what any, status int, body string, want int, parts ...string) bool {
	t.Helper()
	if status != want {
		t.Errorf("%v: %d, want %d: %.4000s", what, status, want, body)
		return false
	}
	return Holds(t, what, body, parts...)
}
