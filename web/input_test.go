package web_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"mime/multipart"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"fawn/agent/agenttest/must"
	"fawn/web"
	"fawn/web/webtest"
)

// TestBadInputIsAnsweredAndTheServerGoesOn sends what no good client sends; a good request
// follows each.
func TestBadInputIsAnsweredAndTheServerGoesOn(t *testing.T) {
	t.Parallel()
	s := start(t, scripted(t))
	decoded[any](t, s.send(t, "POST", "/threads", `{"thread_id": "t1"}`))
	long := strings.Repeat("x", 5<<20)
	for _, c := range []struct {
		name, method, path, body string
		status                   int
		says                     string
	}{
		{"no JSON", "POST", "/threads", `{"thread_id": `, 422, "not valid JSON"},
		{"no JSON for a run", "POST", "/threads/t1/runs", `{]`, 422, "not valid JSON"},
		{"no JSON for a stream", "POST", "/threads/t1/runs/stream", `hello`, 422, "not valid JSON"},
		{"no object", "POST", "/threads/search", `[1]`, 422, "want an object"},
		{"field of a wrong type", "POST", "/threads", `{"thread_id": 7}`, 422, `"thread_id"`},
		{"wrong types deep inside", "POST", "/threads/t1/runs", `{"input": {"messages": [{"type": "human", "content": 7}]}}`, 400, "input.messages[0]"},
		{"strange role", "POST", "/threads/t1/runs", `{"input": {"messages": [{"type": "boss", "content": "x"}]}}`, 400, "input.messages[0]"},
		{"not UTF-8", "POST", "/threads", "{\"metadata\": {\"a\": \"\xff\xfe\"}}", 422, "not valid UTF-8 at byte 20"},
		{"unknown thread", "GET", "/threads/none", "", 404, "none"},
		{"state of an unknown thread", "GET", "/threads/none/state", "", 404, "none"},
		{"unknown run", "GET", "/threads/t1/runs/none", "", 404, "Run none not found"},
		{"stream of an unknown run", "GET", "/threads/t1/runs/none/stream", "", 404, "Run none not found"},
		{"cancel of an unknown run", "POST", "/threads/t1/runs/none/cancel", "", 404, "Run none not found"},
		{"unknown checkpoint", "GET", "/threads/t1/state/none", "", 404, "none"},
		{"unknown assistant", "GET", "/assistants/none", "", 404, "none"},
		{"assistant of a run", "POST", "/threads/t1/runs", `{"assistant_id": "none"}`, 404, "none"},
		{"unknown file", "GET", "/threads/t1/artifacts/mnt/user-data/outputs/none.txt", "", 404, "detail"},
		{"unknown path", "GET", "/no/such/thing", "", 404, "Not Found"},
		{"wrong method", "PUT", "/threads", "{}", 405, "Method Not Allowed"},
		{"id that leads away", "GET", "/threads/..%2F..%2Fetc", "", 422, "thread_id"},
		{"id that leads away to a state", "GET", "/threads/..%2Ft1/state", "", 422, "thread_id"},
		{"id of dots", "GET", "/threads/%2e%2e/state", "", 422, "thread_id"},
		{"id that leads away in a body", "POST", "/threads", `{"thread_id": "../t1"}`, 422, "thread_id"},
		{"id that leads away in an upload", "POST", "/threads/..%2Fx/uploads", "", 422, "thread_id"},
		{"id with a zero byte", "GET", "/threads/a%00b", "", 422, "thread_id"},
		{"id with a line break", "DELETE", "/threads/a%0Ab", "", 422, "thread_id"},
		{"long id", "POST", "/threads", `{"thread_id": "` + strings.Repeat("a", 65) + `"}`, 422, "1 to 64"},
		{"file that leads away", "GET", "/threads/t1/artifacts/mnt/user-data/outputs/..%2f..%2f..%2f..%2f..%2fetc/passwd", "", 403, "detail"},
		{"file of the machine", "GET", "/threads/t1/artifacts/etc/passwd", "", 400, "/mnt/user-data"},
		{"message of 5 MB", "POST", "/threads/t1/runs", human(long), 413, "server.max_message_bytes"},
		{"message of 5 MB as state", "POST", "/threads/t1/state", `{"values": {"messages": [{"type": "human", "content": "` + long + `"}]}}`, 413, "server.max_message_bytes"},
		{"body of 20 MB", "POST", "/threads/t1/runs", human(long + long + long + long), 413, "server.max_body_bytes"},
		{"metadata of 65 KB", "POST", "/threads", `{"metadata": {"a": "` + strings.Repeat("x", 65<<10) + `"}}`, 413, "server.max_metadata_bytes"},
		{"upload without a form", "POST", "/threads/t1/uploads", "x", 400, "detail"},
		{"limit that is no number", "GET", "/threads/t1/history?limit=many", "", 422, "limit"},
		{"deep JSON", "POST", "/threads/t1/runs", `{"input": ` + strings.Repeat("[", 100_000), 422, "JSON"},
		{"query that cannot be read", "GET", "/threads?limit=%zz&offset=1000", "", 200, "[]"},
	} {
		t.Run(c.name, func(t *testing.T) {
			a := s.send(t, c.method, c.path, c.body, "Content-Type", "application/json")
			if a.status != c.status || !strings.Contains(a.body, c.says) || len(a.body) > 1000 {
				t.Errorf("%d %.300s, want %d with %q", a.status, a.body, c.status, c.says)
			}
			var object struct {
				Detail any `json:"detail"`
			}
			if a.status >= 400 && (json.Unmarshal([]byte(a.body), &object) != nil || object.Detail == nil) {
				t.Errorf("no detail in %s", a.body)
			}
			a.holds(t, "the answer", "!internal error")
			s.works(t)
		})
	}
	for line := range strings.Lines(s.log.String()) {
		webtest.Holds(t, "a client's mistake is logged as an error of ours", line, "!level=ERROR")
	}
}

// zeros gives n bytes and counts those which were asked for.
type zeros struct {
	left int64
	read atomic.Int64 // the client may still be sending when its answer is there
}

func (z *zeros) Read(p []byte) (int, error) {
	if z.left == 0 {
		return 0, io.EOF
	}
	n := min(int64(len(p)), z.left)
	clear(p[:n])
	z.left -= n
	z.read.Add(n)
	return int(n), nil
}

// form is an upload of one file of n bytes.
func form(t *testing.T, n int64) (body io.Reader, contentType string, length int64, sent *zeros) {
	t.Helper()
	var head bytes.Buffer
	w := multipart.NewWriter(&head)
	if _, err := w.CreateFormFile("files", "big.bin"); err != nil {
		t.Fatal(err)
	}
	tail := "\r\n--" + w.Boundary() + "--\r\n"
	sent = &zeros{left: n}
	return io.MultiReader(&head, sent, strings.NewReader(tail)), w.FormDataContentType(), int64(head.Len()) + n +
		int64(len(tail)), sent
}

func TestAnUploadOf200MBIsRefusedEarly(t *testing.T) {
	t.Parallel()
	s := start(t, "")
	for _, path := range []string{"/threads/t1/uploads", "/api/threads/t1/uploads", "/ui/threads/t1/uploads"} {
		for _, told := range []bool{true, false} {
			t.Run(fmt.Sprintf("%s length told %v", path, told), func(t *testing.T) {
				s.client.Transport = &http.Transport{ExpectContinueTimeout: patience}
				var res *http.Response
				var sent *zeros
				until(t, func() bool {
					body, kind, length, all := form(t, 200<<20)
					req, err := http.NewRequestWithContext(t.Context(), "POST", s.url+path, body)
					must.Do(t, err)
					req.Header.Set("Content-Type", kind)
					req.Header.Set("Expect", "100-continue")
					if told {
						req.ContentLength = length
					}
					sent = all
					// Who still sends when the connection ends may be told of that, instead of the answer.
					res, err = s.client.Do(req)
					return err == nil
				})
				defer res.Body.Close()
				b, err := io.ReadAll(res.Body)
				if err != nil || res.StatusCode != http.StatusRequestEntityTooLarge ||
					!strings.Contains(string(b), "too large") {
					t.Errorf("%d %s %v", res.StatusCode, b, err)
				}
				if n := sent.read.Load(); n > 64<<20 { // one file may have 50
					t.Errorf("%d bytes were taken", n)
				}
				s.works(t)
			})
		}
	}
	list := decoded[struct {
		Files []any `json:"files"`
	}](t, s.send(t, "GET", "/threads/t1/uploads/list", ""))
	if len(list.Files) != 0 {
		t.Errorf("something is left: %v", list.Files)
	}
}

func TestSlashesTooManyCountForNothing(t *testing.T) {
	t.Parallel()
	s := start(t, "")
	for _, path := range []string{"/ok/", "//ok", "//ok//", "/api//ok", "/api/langgraph//ok/", "///api/langgraph/ok"} {
		s.send(t, "GET", path, "").want(t, path, http.StatusOK, `"ok":true`)
	}
	s.send(t, "POST", "/api/langgraph//threads/", `{"thread_id": "t1"}`).want(t, "create", http.StatusOK)
	for _, path := range []string{"/threads/t1/", "//threads//t1//state/?x=//", "/workspace/chats/new/", "//"} {
		a := s.send(t, "GET", path, "", "Accept", "text/html")
		if a.status != http.StatusOK && a.status != http.StatusSeeOther && a.status != http.StatusFound {
			t.Errorf("%s: %d %.200s", path, a.status, a.body)
		}
	}
	for _, path := range []string{"//evil.example/", "//evil.example/workspace/../"} {
		if a := s.send(t, "GET", path, "", "Accept", "text/html"); a.header.Get("Location") != "" {
			t.Errorf("%s leads to %s", path, a.header.Get("Location"))
		}
	}
}

func TestLimitsAreConfigured(t *testing.T) {
	t.Parallel()
	s := start(t, "server: {max_body_bytes: 2KiB, max_message_bytes: 1KiB, max_metadata_bytes: 64, max_id_bytes: 40, max_header_bytes: 8KiB}\n")
	for _, c := range []struct {
		name, path, body, key string
		status                int
	}{
		{"body", "/threads", `{"metadata": {"a": "` + strings.Repeat("x", 2<<10) + `"}}`, "server.max_body_bytes", 413},
		{"message", "/threads/t1/runs", human(strings.Repeat("x", 1100)), "server.max_message_bytes", 413},
		{"metadata", "/threads", `{"metadata": {"a": "` + strings.Repeat("x", 70) + `"}}`, "server.max_metadata_bytes", 413},
		{"id", "/threads", `{"thread_id": "` + strings.Repeat("x", 41) + `"}`, "1 to 40", 422},
	} {
		s.send(t, "POST", c.path, c.body).want(t, c.name, c.status, c.key)
	}
	s.send(t, "GET", "/ok", "", "X-Fill", strings.Repeat("x", 7<<10)).want(t, "7 KB of headers", http.StatusOK)
	s.send(t, "GET", "/ok", "", "X-Fill", strings.Repeat("x", 16<<10)).want(t, "16 KB of headers", http.StatusRequestHeaderFieldsTooLarge)
	s.configure(t, "server: {max_metadata_bytes: 1KiB}\n")
	s.send(t, "POST", "/threads", `{"metadata": {"a": "`+strings.Repeat("x", 70)+`"}}`).want(t, "after the limit was raised", http.StatusOK)
	s.works(t)
}

func TestReadersAreCounted(t *testing.T) {
	t.Parallel()
	s := start(t, scripted(t)+"server: {max_readers: 1}\n")
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	first := s.stream(t, ctx, "/threads/t1/runs/stream", human(`SCRIPT{"turns": [{"text": "hm", "hang": true}]}`))
	first.until(t, "metadata")
	a := s.send(t, "POST", "/threads/t2/runs/stream", human("hi"))
	if a.status != http.StatusServiceUnavailable || a.header.Get("Retry-After") == "" ||
		!strings.Contains(a.body, "server.max_readers") {
		t.Errorf("%d %v %s", a.status, a.header, a.body)
	}
	s.send(t, "GET", "/threads/t2", "").want(t, "a refused run left a thread", http.StatusNotFound)
	cancel()
	until(t, func() bool {
		return s.send(t, "POST", "/runs/stream", human("echo 1 tokens at 0 tok/s")).status == http.StatusOK
	})
}

func TestSlowHeadersAreNotWaitedFor(t *testing.T) {
	t.Parallel()
	s := start(t, "server: {header_timeout: 1}\n")
	began := time.Now()
	if got, err := tryExchange(s, "GET /ok HTTP/1.1\r\nHost: local"); err == nil && !strings.Contains(got, " 408 ") {
		t.Error(got)
	}
	if took := time.Since(began); took > time.Minute {
		t.Errorf("it was waited for %v", took)
	}
	s.goesOn(t)
}

// TestErrorsFitWhoAsks: people get pages, programs get JSON.
func TestErrorsFitWhoAsks(t *testing.T) {
	t.Parallel()
	s := start(t, "")
	const browser = "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8"
	for _, c := range []struct {
		name, path string
		headers    []string
		kind       string
	}{
		{"person", "/workspace/chats/none", []string{"Accept", browser}, "text/html"},
		{"person with an impossible id", "/workspace/chats/..%2Fx", []string{"Accept", browser}, "text/html"},
		{"person lost", "/workspace/none", []string{"Accept", browser}, "text/html"},
		{"program on a page", "/workspace/chats/none", []string{"Accept", "*/*"}, "application/json"},
		{"program", "/threads/none", []string{"Accept", "*/*"}, "application/json"},
		{"program without Accept", "/threads/none", nil, "application/json"},
		{"the page's script", "/ui/threads/none/status", []string{"Accept", "application/json", "X-Fawn", "1"}, "application/json"},
	} {
		a := s.send(t, "GET", c.path, "", c.headers...)
		if a.status != http.StatusNotFound || !strings.HasPrefix(a.header.Get("Content-Type"), c.kind) {
			t.Errorf("%s: %d %s %.200s", c.name, a.status, a.header.Get("Content-Type"), a.body)
		}
		if html := strings.Contains(a.body, "<html"); html != (c.kind == "text/html") {
			t.Errorf("%s: %.200s", c.name, a.body)
		}
	}
	s.works(t)
}

func TestAClosedModelEndpointFailsTheRunInASentence(t *testing.T) {
	t.Parallel()
	addr := closedAddr(t)
	s := start(t, fmt.Sprintf("models: [{name: gone, use: openai, model: x, base_url: \"http://%s/v1\", api_key: secret-key-1}]\n", addr))
	st := s.stream(t, t.Context(), "/threads/t1/runs/stream", human("hi", `"stream_mode": "values"`))
	st.until(t, "event: error")
	line := st.until(t, "data: ")
	failure := webtest.Decode[struct{ Error, Message string }](t, strings.TrimPrefix(line, "data: "))
	if failure.Error == "" || !strings.Contains(failure.Message, addr) ||
		strings.Contains(failure.Message, "secret-key-1") {
		t.Errorf("%+v", failure)
	}
	st.until(t, "event: end")
	run := decoded[[]struct{ Status, Error string }](t, s.send(t, "GET", "/threads/t1/runs", ""))[0]
	thread := decoded[struct{ Status string }](t, s.send(t, "GET", "/threads/t1", ""))
	if run.Status != "error" || run.Error == "" || thread.Status != "error" {
		t.Errorf("run %+v, thread %+v", run, thread)
	}
	s.send(t, "GET", "/workspace/chats/t1", "", "Accept", "text/html").want(t, "the page does not say why", http.StatusOK, addr)
	s.works(t)

	s.configure(t, scripted(t))
	s.send(t, "POST", "/threads/t1/runs/wait", human(`SCRIPT{"turns": [{"text": "back again"}]}`)).want(t, "with a model that answers", http.StatusOK, "back again")
}

func TestASilentModelIsCancelled(t *testing.T) {
	t.Parallel()
	s := start(t, scripted(t))
	st := s.stream(t, t.Context(), "/threads/t1/runs/stream",
		human(`SCRIPT{"turns": [{"text": "so far", "chunk": 9, "hang": true}]}`, `"stream_mode": "messages-tuple"`))
	st.until(t, "so far")
	run := decoded[[]struct {
		ID string `json:"run_id"`
	}](t, s.send(t, "GET", "/threads/t1/runs", ""))[0].ID
	s.send(t, "POST", "/threads/t1/runs/"+run+"/cancel?wait=true", "").want(t, "cancel", http.StatusNoContent)
	st.until(t, "event: end")
	state := s.send(t, "GET", "/threads/t1/state", "")
	if !strings.Contains(state.body, "so far") || decoded[struct {
		Status string
	}](t, s.send(t, "GET", "/threads/t1", "")).Status != "interrupted" {
		t.Error(state.body)
	}
	s.send(t, "POST", "/threads/t1/runs/"+run+"/cancel", "").want(t, "cancelled again", http.StatusAccepted)
	s.send(t, "POST", "/threads/t1/runs/wait", human(`SCRIPT{"turns": [{"text": "fine"}]}`)).want(t, "the next run", http.StatusOK, "fine")
}

func TestASecondServerOnTheFolderIsRefused(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s := start(t, "", func(o *web.Options) { o.Data = dir })
	_, err := web.Open(t.Context(), web.Options{Addr: "127.0.0.1:0", Data: dir})
	if err == nil || !strings.Contains(err.Error(), s.app.Addr()) {
		t.Errorf("%v", err)
	}
	s.works(t)
}
