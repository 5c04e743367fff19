package web_test

import (
	"bytes"
	"context"
	"mime/multipart"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"testing"

	"fawn/agent/agenttest"
	"fawn/store"
	"fawn/web"
	"fawn/web/principal"
)

// ofThread are routes below a thread, and ofRun those of a run wherever they stand.
var (
	ofThread = regexp.MustCompile(`/(threads|chats)/:(id|tid)(/|$)`)
	ofRun    = regexp.MustCompile(`/runs/:rid(/|$)`)
)

// concerned are the routes that name a thread or one of its runs, with the values of their
// parameters filled in.
func concerned(app *web.App, thread, run, link string) (list []route) {
	fill := strings.NewReplacer(":tid", thread, ":id", thread, ":rid", run, ":run", run, ":name", "up.txt",
		":token", link, ":message", "m1", "artifacts/*", "artifacts/mnt/user-data/uploads/up.txt",
		"*", "mnt/user-data/uploads/up.txt")
	for _, r := range app.Route() {
		switch {
		case r.Method == "echo_route_not_found":
		case ofThread.MatchString(r.Path), ofRun.MatchString(r.Path), strings.HasPrefix(r.Path, "/share/:token"):
			list = append(list,
				route{r.Method, r.Path, regexp.MustCompile(`:[a-z]+`).ReplaceAllString(fill.Replace(r.Path), "x")})
		}
	}
	return list
}

type route struct{ method, pattern, path string }

// status asks for a route and gives only the status of the answer, which may be a stream.
func (s *server) status(t *testing.T, r route) int {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	kind, body := "application/json", "{}"
	if strings.HasPrefix(r.path, "/ui/") {
		kind, body = "application/x-www-form-urlencoded", "text=x"
	}
	res, err := s.request(ctx, r.method, r.path, strings.NewReader(agenttest.RunBody(r.path, body)),
		"Content-Type", kind)
	if err != nil {
		t.Fatalf("%s %s: %v", r.method, r.path, err)
	}
	res.Body.Close()
	return res.StatusCode
}

// TestADeletedThreadAnswersNowhere: from the moment of its deletion on, no route that names it
// or a run of it answers or does anything, also while the deletion can be undone; undone, the
// thread is as it was. The same holds for a thread of somebody else's.
func TestADeletedThreadAnswersNowhere(t *testing.T) {
	s := start(t, "")
	const thread = "thread-to-delete"
	ran := s.send(t, "POST", "/threads/"+thread+"/runs/wait", human("hello"))
	if ran.status != http.StatusOK {
		t.Fatalf("run: %d %s", ran.status, ran.body)
	}
	run := ran.header.Get("Content-Location")
	run = run[strings.LastIndex(run, "/")+1:]
	s.upload(t, thread)
	if a := s.send(t, "POST", "/ui/threads/"+thread+"/share", ""); a.status != http.StatusSeeOther {
		t.Fatalf("share: %d %s", a.status, a.body)
	}
	link := regexp.MustCompile(`/share/([A-Z0-9]{20,})`).FindStringSubmatch(s.send(t, "GET",
		"/ui/threads/"+thread+"/share", "").body)
	if link == nil {
		t.Fatal("there is no link")
	}
	routes := concerned(s.app, thread, run, link[1])
	// What a path without its thread or run says, too, proves nothing.
	silent := []string{"/messages/:message", "/steps/:step", "/goal", "/diagram", "/feedback/:fid", "/state/:cid",
		"/share/:token/files", "/share/:token/view", "/files.zip", "/mcp-tasks/", "/apps/:step", "/trace/:span",
		"/browser/live", "/version/", "/saved-prompt"}
	for _, r := range routes {
		if r.method == http.MethodGet && s.status(t, r) == http.StatusNotFound &&
			!slices.ContainsFunc(silent, func(end string) bool { return strings.Contains(r.pattern, end) }) {
			t.Errorf("GET %s is not found before the deletion", r.pattern)
		}
	}
	before := s.send(t, "GET", "/threads/"+thread, "").body

	gone := s.send(t, "POST", "/ui/threads/"+thread+"/delete", "")
	back, err := url.Parse(gone.header.Get("Location"))
	if err != nil || gone.status != http.StatusSeeOther || back.Query().Get("undo") == "" {
		t.Fatalf("delete: %d %s", gone.status, gone.header.Get("Location"))
	}
	s.answersNowhere(t, thread, routes, "a deleted thread")
	a := s.send(t, "POST", "/ui/threads/restore", url.Values{"undo": {back.Query().Get("undo")}}.Encode(),
		"Content-Type", "application/x-www-form-urlencoded")
	if a.status != http.StatusSeeOther {
		t.Fatalf("restore: %d %s", a.status, a.body)
	}
	if after := s.send(t, "GET", "/threads/"+thread, "").body; after != before {
		t.Errorf("something was done to it:\n%s\n%s", before, after)
	}
	if a := s.send(t, "GET", "/api/threads/"+thread+"/uploads/list", ""); !strings.Contains(a.body, `"up.txt"`) {
		t.Errorf("its files: %s", a.body)
	}
	s.give(t, thread, "eve")
	s.answersNowhere(t, thread, routes, "somebody else's thread")
	s.give(t, thread, principal.Default)
	if after := s.send(t, "GET", "/threads/"+thread, "").body; after != before {
		t.Errorf("something was done to somebody else's:\n%s\n%s", before, after)
	}
	if a := s.send(t, "GET", "/api/threads/"+thread+"/uploads/list", ""); !strings.Contains(a.body, `"up.txt"`) {
		t.Errorf("somebody else's files: %s", a.body)
	}
}

// give makes a thread another owner's.
func (s *server) give(t *testing.T, thread, owner string) {
	t.Helper()
	row, err := s.app.DB().Thread(t.Context(), thread)
	if err != nil {
		t.Fatal(err)
	}
	row.Owner = owner
	if err := s.app.DB().Commit(t.Context(), store.Batch{Thread: &row}); err != nil {
		t.Fatal(err)
	}
}

// answersNowhere checks that every route that names the thread says it is not there, and that
// requests which name it in their bodies get nothing of it.
func (s *server) answersNowhere(t *testing.T, thread string, routes []route, what string) {
	t.Helper()
	if len(routes) < 150 {
		t.Fatalf("only %d routes name a thread: the table of routes is not what it was", len(routes))
	}
	for _, r := range routes {
		if got := s.status(t, r); got != http.StatusNotFound {
			t.Errorf("%s %s of %s: %d", r.method, r.pattern, what, got)
		}
	}
	for _, a := range []answer{
		s.send(t, "GET", "/workspace/chats/new?thread="+thread, "", "Accept", "text/html"),
		s.send(t, "POST", "/ui/threads", url.Values{"thread": {thread}, "text": {"x"}}.Encode(), "Content-Type", "application/x-www-form-urlencoded"),
		s.send(t, "POST", "/runs/wait", human("x", `"config": {"configurable": {"thread_id": "`+thread+`"}}`)),
	} {
		if a.status == http.StatusSeeOther || strings.Contains(a.body, "up.txt") ||
			strings.Contains(a.body, `"messages"`) {
			t.Errorf("a side door to %s is open: %d %s", what, a.status, a.body)
		}
	}
}

// upload stores up.txt among the uploads of a thread.
func (s *server) upload(t *testing.T, thread string) {
	t.Helper()
	if a := s.sendFile(t, "/api/threads/"+thread+"/uploads", "words"); a.status != http.StatusOK {
		t.Fatalf("upload: %d %s", a.status, a.body)
	}
}

// sendFile sends up.txt as a form.
func (s *server) sendFile(t *testing.T, path, content string, headers ...string) answer {
	t.Helper()
	var form bytes.Buffer
	w := multipart.NewWriter(&form)
	part, err := w.CreateFormFile("files", "up.txt")
	if err == nil {
		_, err = part.Write([]byte(content))
	}
	if err == nil {
		err = w.Close()
	}
	if err != nil {
		t.Fatal(err)
	}
	return s.send(t, "POST", path, form.String(), append(headers, "Content-Type", w.FormDataContentType())...)
}
