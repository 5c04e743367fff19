package web_test

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"image"
	"image/png"
	"net/http"
	"strings"
	"sync"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"fawn/agent/agenttest/must"
	"fawn/web"
	"fawn/web/account"
	"fawn/web/e2e/scriptmodel"
	"fawn/web/webtest"
)

// outside is another agent that uses Fawn through the official SDK.
type outside struct {
	*sdk.ClientSession
	mu    sync.Mutex
	steps []string
	told  chan struct{} // gets one for each step
}

func (o *outside) seen() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return strings.Join(o.steps, " | ")
}

// connectTo connects a client over a transport.
func connectTo(t *testing.T, over sdk.Transport) *outside {
	t.Helper()
	o := &outside{told: make(chan struct{}, 1000)}
	client := sdk.NewClient(&sdk.Implementation{Name: "test", Version: "1"}, &sdk.ClientOptions{
		ProgressNotificationHandler: func(_ context.Context, r *sdk.ProgressNotificationClientRequest) {
			o.mu.Lock()
			o.steps = append(o.steps, r.Params.Message)
			o.mu.Unlock()
			o.told <- struct{}{}
		}})
	var err error
	if o.ClientSession, err = client.Connect(t.Context(), over, nil); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { o.Close() })
	return o
}

func (s *server) outside(t *testing.T) *outside {
	t.Helper()
	return connectTo(t, &sdk.StreamableClientTransport{Endpoint: s.url + "/mcp", HTTPClient: s.client, MaxRetries: -1})
}

// toolTask is what tools say about a task.
type toolTask struct {
	Thread   string `json:"thread_id"`
	Run      string `json:"run_id"`
	Status   string
	Title    string
	Answer   string
	Error    string
	URL      string
	Question struct {
		Text    string
		Options []string
	}
	Artifacts []struct {
		Path, URI string
		Type      string `json:"mime_type"`
		Size      int64
	}
}

// use calls a tool and returns its structured result and its texts.
func use[T any](t *testing.T, o *outside, name string, args map[string]any) (out T, text string, failed bool) {
	t.Helper()
	p := &sdk.CallToolParams{Name: name, Arguments: args}
	p.SetProgressToken("steps")
	r, err := o.CallTool(t.Context(), p)
	must.Do(t, err, name)
	for _, c := range r.Content {
		if c, ok := c.(*sdk.TextContent); ok {
			text += c.Text
		}
	}
	b, err := json.Marshal(r.StructuredContent)
	if err == nil && r.StructuredContent != nil {
		err = json.Unmarshal(b, &out)
	}
	must.Do(t, err, fmt.Sprintf("%s: in %s", name, b))
	return out, text, r.IsError
}

// script is a message for the scripted model.
func script(turns string) string { return `SCRIPT{"turns":[` + turns + `]}` }

const writesReport = `{"text":"Looking","tool_calls":[{"name":"write_file","args":{"description":"write the report","path":"/mnt/user-data/outputs/report.md","content":"# Report\n\nAll is well."}}]},
{"tool_calls":[{"name":"present_files","args":{"filepaths":["/mnt/user-data/outputs/report.md"]}}]},
{"text":"The report is written."}`

// TestAnAgentWorksThroughFawn is a whole job by the official client: a task with a file and
// progress, its files, a question and its answer, the same conversation again, and the list.
func TestAnAgentWorksThroughFawn(t *testing.T) {
	t.Parallel()
	s := start(t, scripted(t))
	o := s.outside(t)
	done, text, _ := use[toolTask](t, o, "ask", map[string]any{"message": script(writesReport),
		"files": []any{map[string]string{"name": "notes.txt", "text": "mind the gap"},
			map[string]string{"name": "raw.bin", "data": base64.StdEncoding.EncodeToString([]byte{0, 1, 2})}}})
	if done.Status != "completed" || done.Answer != "The report is written." || text != done.Answer ||
		done.Thread == "" || done.URL != s.url+"/workspace/chats/"+done.Thread {
		t.Fatalf("the task: %+v with %q", done, text)
	}
	for _, want := range []string{"Writing", "write_file: write the report", "write_file done", "present_files"} {
		// The client handles what it is told beside what it is answered.
		webtest.UntilSeen(t, func() bool { return strings.Contains(o.seen(), want) }, o.seen)
	}
	a := s.send(t, "GET", "/threads/"+done.Thread+"/artifacts/mnt/user-data/uploads/notes.txt", "")
	webtest.Same(t, "the file it was given", a.body, "mind the gap")
	if len(done.Artifacts) != 1 || done.Artifacts[0].Path != "/mnt/user-data/outputs/report.md" {
		t.Fatalf("its files: %+v", done.Artifacts)
	}
	report := done.Artifacts[0]
	if _, text, _ := use[any](t, o, "read_artifact",
		map[string]any{"thread_id": done.Thread, "path": report.Path}); text != "# Report\n\nAll is well." {
		t.Errorf("the file reads %q", text)
	}
	res, err := o.ReadResource(t.Context(), &sdk.ReadResourceParams{URI: report.URI})
	if err != nil || res.Contents[0].Text != "# Report\n\nAll is well." ||
		!strings.HasPrefix(res.Contents[0].MIMEType, "text/markdown") {
		t.Errorf("as a resource: %+v %v", res, err)
	}
	all, err := o.ListResources(t.Context(), nil)
	if err != nil || len(all.Resources) != 1 || all.Resources[0].URI != report.URI ||
		all.Resources[0].Size != report.Size {
		t.Errorf("resources: %+v %v", all, err)
	}

	asked, text, _ := use[toolTask](t, o, "ask", map[string]any{"thread_id": done.Thread, "message": script(
		`{"tool_calls":[{"name":"ask_clarification","args":{"question":"Which town?","clarification_type":"missing_info","options":["Rome","Oslo"]}}]},{"text":"Oslo it is."}`)})
	if asked.Status != "input_required" || asked.Thread != done.Thread || asked.Question.Text != "Which town?" ||
		strings.Join(asked.Question.Options, " ") != "Rome Oslo" || !strings.Contains(text, "Which town?") {
		t.Fatalf("the question: %+v with %q", asked, text)
	}
	said, _, _ := use[toolTask](t, o, "answer_question", map[string]any{"thread_id": done.Thread, "answer": "Oslo"})
	if said.Status != "completed" || said.Answer != "Oslo it is." {
		t.Errorf("after the answer: %+v", said)
	}
	first, _, _ := use[toolTask](t, o, "get_task", map[string]any{"thread_id": done.Thread, "run_id": done.Run})
	if first.Status != "completed" || first.Answer != done.Answer {
		t.Errorf("the first task again: %+v", first)
	}
	list, _, _ := use[struct {
		Threads []struct {
			ID     string `json:"thread_id"`
			Status string
		}
	}](t, o, "list_threads", nil)
	if len(list.Threads) != 1 || list.Threads[0].ID != done.Thread || list.Threads[0].Status != "idle" {
		t.Errorf("the conversations: %+v", list)
	}
}

// TestATaskOfAnotherAgentGoesOn: it is started, waited for in turns, canceled while it works and
// while it waits; and a client that leaves does not end it.
func TestATaskOfAnotherAgentGoesOn(t *testing.T) {
	t.Parallel()
	m := scriptmodel.Start(t)
	s := start(t,
		"title: {model_name: offline}\nmemory: {model_name: offline}\nmodels: [{name: script, use: openai, model: script, base_url: \""+
			m.URL+"/v1\", api_key: test}]\n")
	o := s.outside(t)
	begun, text, _ := use[toolTask](t, o, "start_task", map[string]any{"mode": "flash", "model": "script",
		"message": script(`{"text":"Wait","gate":"one","tokens":3}`)})
	if begun.Status != "queued" && begun.Status != "working" || !strings.Contains(text, "wait_task") {
		t.Fatalf("begun: %+v with %q", begun, text)
	}
	now, _, _ := use[toolTask](t, o, "wait_task", map[string]any{"thread_id": begun.Thread, "wait_seconds": 0})
	if now.Status != begun.Status && now.Status != "working" {
		t.Errorf("without waiting: %+v", now)
	}
	ctx, leave := context.WithCancel(t.Context())
	left := make(chan error, 1)
	p := &sdk.CallToolParams{Name: "wait_task", Arguments: map[string]any{"thread_id": begun.Thread}}
	p.SetProgressToken("steps")
	go func() {
		_, err := o.CallTool(ctx, p)
		left <- err
	}()
	<-o.told // it waits
	leave()
	if err := <-left; err == nil {
		t.Error("a client that left got an answer")
	}
	m.Open("one")
	if now, _, _ := use[toolTask](t, o, "wait_task",
		map[string]any{"thread_id": begun.Thread}); now.Status != "completed" ||
		!strings.HasPrefix(now.Answer, "Wait") {
		t.Errorf("at its end: %+v", now)
	}

	held, _, _ := use[toolTask](t, o, "start_task",
		map[string]any{"message": script(`{"text":"Wait","gate":"never","tokens":3}`)})
	if now, _, _ := use[toolTask](t, o, "cancel_task",
		map[string]any{"thread_id": held.Thread}); now.Status != "canceled" {
		t.Errorf("canceled at work: %+v", now)
	}
	_, text, failed := use[toolTask](t, o, "cancel_task", map[string]any{"thread_id": held.Thread})
	if !failed || !strings.Contains(text, "has ended") {
		t.Errorf("canceled twice: %q", text)
	}
	asks := script(`{"tool_calls":[{"name":"ask_clarification","args":{"question":"Which town?","clarification_type":"missing_info"}}]},{"text":"Fine."}`)
	held, _, _ = use[toolTask](t, o, "ask", map[string]any{"message": asks})
	if now, _, _ := use[toolTask](t, o, "cancel_task",
		map[string]any{"thread_id": held.Thread}); now.Status != "canceled" {
		t.Errorf("canceled at a question: %+v", now)
	}
	_, text, failed = use[toolTask](t, o, "answer_question", map[string]any{"thread_id": held.Thread, "answer": "Oslo"})
	if !failed || !strings.Contains(text, "does not wait") {
		t.Errorf("an answer to nothing: %q", text)
	}
	held, _, _ = use[toolTask](t, o, "ask", map[string]any{"message": asks})
	if now, _, _ := use[toolTask](t, o, "ask",
		map[string]any{"thread_id": held.Thread, "message": "Oslo"}); now.Answer != "Fine." {
		t.Errorf("a message to one that waits: %+v", now)
	}
	bad, text, failed := use[toolTask](t, o, "ask",
		map[string]any{"message": script(`{"error":{"status":401,"message":"no such key"}}`)})
	if !failed || bad.Status != "failed" || bad.Error == "" || !strings.Contains(text, "failed") {
		t.Errorf("a task that fails: %+v with %q", bad, text)
	}
}

// TestFilesComeInParts: text by offsets that never cut a character, pictures as pictures, others
// as they are, large ones as links, and nothing from outside the conversation.
func TestFilesComeInParts(t *testing.T) {
	t.Parallel()
	s := start(t, scripted(t))
	o := s.outside(t)
	long := strings.Repeat("ä", 50_000)
	var picture bytes.Buffer
	must.Do(t, png.Encode(&picture, image.NewGray(image.Rect(0, 0, 2, 2))))
	files := []any{map[string]string{"name": "long.txt", "text": "x" + long}, map[string]string{"name": "empty.txt"},
		map[string]string{"name": "dot.png", "data": base64.StdEncoding.EncodeToString(picture.Bytes())},
		map[string]string{"name": "a b.bin", "data": "AAEC"},
		map[string]string{"name": "big.bin", "data": base64.StdEncoding.EncodeToString(make([]byte, 5<<20))}}
	task, text, failed := use[toolTask](t, o, "ask", map[string]any{"message": script(`{"text":"ok"}`), "files": files})
	if failed {
		t.Fatal(text)
	}
	read := func(name string, offset int) *sdk.CallToolResult {
		r, err := o.CallTool(t.Context(), &sdk.CallToolParams{Name: "read_artifact",
			Arguments: map[string]any{"thread_id": task.Thread, "path": "/mnt/user-data/uploads/" + name,
				"offset": offset}})
		if err != nil || len(r.Content) == 0 {
			t.Fatalf("%s: %v", name, err)
		}
		return r
	}
	got, at := "", 0
	for parts := 0; ; parts++ {
		r := read("long.txt", at)
		text := r.Content[0].(*sdk.TextContent).Text
		text, _, _ = strings.Cut(text, "\n\n[bytes")
		got += text
		next, more := r.StructuredContent.(map[string]any)["next_offset"].(float64)
		if !more {
			break
		}
		if at = int(next); parts > 3 {
			t.Fatal("it never ends")
		}
	}
	if got != "x"+long {
		t.Errorf("the parts make %d bytes of %d", len(got), 1+len(long))
	}
	if c, ok := read("empty.txt", 0).Content[0].(*sdk.TextContent); !ok || c.Text != "" {
		t.Error("an empty file is not empty")
	}
	if c, ok := read("dot.png", 0).Content[0].(*sdk.ImageContent); !ok || !bytes.Equal(c.Data, picture.Bytes()) ||
		c.MIMEType != "image/png" {
		t.Error("a picture is not one")
	}
	c, ok := read("a b.bin", 0).Content[0].(*sdk.EmbeddedResource)
	if !ok || string(c.Resource.Blob) != "\x00\x01\x02" {
		t.Error("other bytes are not there")
	} else if res, err := o.ReadResource(t.Context(), &sdk.ReadResourceParams{URI: c.Resource.URI}); err != nil ||
		string(res.Contents[0].Blob) != "\x00\x01\x02" {
		t.Errorf("as a resource: %v", err)
	}
	if c, ok := read("big.bin", 0).Content[1].(*sdk.ResourceLink); !ok || *c.Size != 5<<20 {
		t.Error("a large file is no link")
	}
	for _, path := range []string{"/etc/passwd", "/mnt/user-data/../../etc/passwd", "../../config",
		"/mnt/user-data/uploads/none", "/mnt/user-data/uploads"} {
		_, text, failed := use[any](t, o, "read_artifact", map[string]any{"thread_id": task.Thread, "path": path})
		if !failed {
			t.Errorf("%s reads %q", path, text)
		}
	}
	for _, uri := range []string{"fawn://threads/" + task.Thread + "/artifacts/etc/passwd", "file:///etc/passwd",
		"fawn://threads/none/artifacts/mnt/user-data/uploads/long.txt"} {
		if r, err := o.ReadResource(t.Context(), &sdk.ReadResourceParams{URI: uri}); err == nil {
			t.Errorf("%s reads %v", uri, r.Contents)
		}
	}
}

// TestOtherPeoplesThreadsAreNotThere for any tool or resource, nor is a server for other pages.
func TestOtherPeoplesThreadsAreNotThere(t *testing.T) {
	t.Parallel()
	s := start(t, scripted(t))
	o := s.outside(t)
	theirs, _, _ := use[toolTask](t, o, "ask", map[string]any{"message": script(writesReport)})
	s.give(t, theirs.Thread, "eve")
	for name, args := range map[string]map[string]any{"ask": {"message": "hi"}, "start_task": {"message": "hi"},
		"answer_question": {"answer": "x"}, "read_artifact": {"path": theirs.Artifacts[0].Path},
		"wait_task": {"run_id": theirs.Run}, "get_task": {}, "cancel_task": {}, "list_artifacts": {}} {
		args["thread_id"] = theirs.Thread
		_, text, failed := use[any](t, o, name, args)
		if !failed || !strings.Contains(text, "not found") && !strings.Contains(text, "there is no file") {
			t.Errorf("%s: %v %q", name, failed, text)
		}
	}
	mine, _, _ := use[toolTask](t, o, "ask", map[string]any{"message": script(`{"text":"mine"}`)})
	_, text, failed := use[any](t, o, "get_task", map[string]any{"thread_id": mine.Thread, "run_id": theirs.Run})
	if !failed {
		t.Errorf("a run of theirs on a thread of mine: %q", text)
	}
	all, err := o.ListResources(t.Context(), nil)
	if err != nil || len(all.Resources) != 0 {
		t.Errorf("resources: %+v %v", all, err)
	}
	if r, err := o.ReadResource(t.Context(), &sdk.ReadResourceParams{URI: theirs.Artifacts[0].URI}); err == nil {
		t.Errorf("their file reads %v", r.Contents)
	}

	body := `{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{}}`
	accept := []string{"Accept", "application/json, text/event-stream", "Content-Type", "application/json"}
	for name, c := range map[string]struct {
		headers []string
		want    int
	}{
		"a page elsewhere": {[]string{"Origin", "https://evil.example"}, http.StatusForbidden},
		"a name elsewhere": {[]string{"Host", "evil.example"}, http.StatusMisdirectedRequest},
		"this machine":     {nil, http.StatusOK},
	} {
		s.send(t, "POST", "/mcp", body, append(c.headers, accept...)...).want(t, name, c.want)
	}
	s.send(t, "GET", "/mcp", "").want(t, "GET", http.StatusMethodNotAllowed)
}

// TestToolsRefuseWhatTheyCannotDo, with words that say what to do.
func TestToolsRefuseWhatTheyCannotDo(t *testing.T) {
	t.Parallel()
	s := start(t, scripted(t), func(o *web.Options) {})
	o := s.outside(t)
	for _, c := range []struct {
		tool string
		args map[string]any
		want string
	}{
		{"ask", map[string]any{"message": ""}, "say what to do"},
		{"ask", map[string]any{"message": "x", "mode": "fast"}, "mode"},
		{"ask", map[string]any{"message": "x", "wait_seconds": 4000}, "want 0 to 3600"},
		{"ask", map[string]any{"message": "x", "model": "none"}, "allowlist"},
		{"ask", map[string]any{"message": "x", "agent": "none"}, "agent"},
		{"ask", map[string]any{"message": "x", "files": []any{map[string]string{"name": "a", "data": "%"}}}, "base64"},
		{"ask", map[string]any{"message": "x", "files": []any{map[string]string{"name": "..", "text": "x"}}}, "were rejected"},
		{"get_task", map[string]any{"thread_id": "none"}, "not found"},
		{"get_task", map[string]any{"thread_id": "../settings/models"}, "id"},
		{"list_threads", map[string]any{"limit": 1000}, "want 1 to 100"},
	} {
		if _, text, failed := use[any](t, o, c.tool, c.args); !failed || !strings.Contains(text, c.want) {
			t.Errorf("%s %v: %v %q", c.tool, c.args, failed, text)
		}
	}
	if list, _, _ := use[struct{ Threads []any }](t, o, "list_threads", nil); len(list.Threads) != 0 {
		t.Errorf("what was refused left %v", list.Threads)
	}
}

// bearing is a client that carries a token.
type bearing struct {
	token string
	base  http.RoundTripper
}

func (b bearing) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set("Authorization", "Bearer "+b.token)
	return b.base.RoundTrip(r)
}

// TestAgentsAreTheUsersOfTheirTokens: each sees its user's conversations, one whose token may only read
// begins nothing, and nobody gets in without.
func TestAgentsAreTheUsersOfTheirTokens(t *testing.T) {
	t.Parallel()
	s := guarded(t, scripted(t))
	ann := s.owner(t)
	eve := ann.member(t, "eve@x.org", account.RoleUser)
	with := func(token string) *outside {
		client := *s.client
		client.Transport = bearing{token, s.client.Transport}
		return connectTo(t, &sdk.StreamableClientTransport{Endpoint: s.url + "/mcp", HTTPClient: &client,
			MaxRetries: -1})
	}
	writes, reads, other := with(ann.token(t, "write")), with(ann.token(t, "read")), with(eve.token(t, "write"))
	done, _, _ := use[toolTask](t, writes, "ask", map[string]any{"message": script(writesReport)})
	for who, o := range map[string]*outside{"of ann's that reads": reads, "of eve's": other} {
		_, text, failed := use[toolTask](t, o, "get_task", map[string]any{"thread_id": done.Thread})
		list, _, _ := use[struct{ Threads []any }](t, o, "list_threads", nil)
		all, err := o.ListResources(t.Context(), nil)
		mine := o == reads
		if err != nil || failed == mine || len(list.Threads) == 1 != mine || len(all.Resources) == 1 != mine {
			t.Errorf("a token %s: %q, %d threads, %v %v", who, text, len(list.Threads), all, err)
		}
	}
	if _, text, failed := use[any](t, reads, "ask", map[string]any{"message": "hi"}); !failed {
		t.Errorf("a token that may only read begins a task: %q", text)
	}
	_, text, failed := use[any](t, reads, "ask", map[string]any{"message": "hi", "thread_id": done.Thread})
	if !failed {
		t.Errorf("or goes on with one: %q", text)
	}
	body := `{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{}}`
	for _, headers := range [][]string{nil, {"Authorization", "Bearer fawn_none"}} {
		a := s.send(t, "POST", "/mcp", body, append(headers, "Accept", "application/json, text/event-stream",
			"Content-Type", "application/json")...)
		a.want(t, headers, http.StatusUnauthorized)
	}
}

// TestAnAgentNamesCollections that a task searches; a wrong name is an error of the call.
func TestAnAgentNamesCollections(t *testing.T) {
	t.Parallel()
	model := scriptmodel.Start(t)
	s := start(t, webtest.Model(model))
	by := &browser{s, nil}
	know(t, by, newCollection(t, by, "Handbook"), "meals.md", "A lunch may cost 30 francs.")
	o := s.outside(t)
	ask := map[string]any{"message": script(`{"tool_calls":[{"name":"search_documents","args":{"query":"lunch"}}]},{"text":"See it."}`)}
	ask["knowledge"] = []string{"none"}
	if _, text, failed := use[toolTask](t, o, "ask", ask); !failed || !strings.Contains(text, `no collection`) {
		t.Errorf("a wrong name: %q", text)
	}
	ask["knowledge"] = []string{"handbook"}
	model.Forget()
	if done, text, failed := use[toolTask](t, o, "ask", ask); failed || done.Status != "completed" {
		t.Fatalf("%+v %q", done, text)
	}
	found := false
	for _, sent := range model.Requests() {
		found = found || strings.Contains(string(sent.Body), "30 francs")
	}
	if !found {
		t.Error("the collection isn't searched")
	}
}
