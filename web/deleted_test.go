package web_test

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"testing"

	"fawn/agent/agenttest"
	"fawn/agent/agenttest/must"
	"fawn/store"
	"fawn/web"
	"fawn/web/principal"
	"fawn/web/webtest"
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
	must.Do(t, err, fmt.Sprintf("%s %s", r.method, r.path))
	res.Body.Close()
	return res.StatusCode
}

// TestADeletedThreadAnswersNowhere: from the moment of its deletion on, no route that names it
// or a run of it answers or does anything, also while the deletion can be undone; undone, the
// thread is as it was. The same holds for a thread of somebody else's.
func TestADeletedThreadAnswersNowhere(t *testing.T) {
	t.Parallel()
	s := start(t, "")
	const thread = "thread-to-delete"
	ran := s.send(t, "POST", "/threads/"+thread+"/runs/wait", human("hello"))
	ran.must(t, "run", http.StatusOK)
	run := ran.header.Get("Content-Location")
	run = run[strings.LastIndex(run, "/")+1:]
	s.upload(t, thread)
	s.send(t, "POST", "/ui/threads/"+thread+"/share", "").must(t, "share", http.StatusSeeOther)
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
	webtest.Each(routes, func(r route) {
		if r.method == http.MethodGet && s.status(t, r) == http.StatusNotFound &&
			!slices.ContainsFunc(silent, func(end string) bool { return strings.Contains(r.pattern, end) }) {
			t.Errorf("GET %s is not found before the deletion", r.pattern)
		}
	})
	before := s.send(t, "GET", "/threads/"+thread, "").body

	gone := s.send(t, "POST", "/ui/threads/"+thread+"/delete", "")
	back, err := url.Parse(gone.header.Get("Location"))
	if err != nil || gone.status != http.StatusSeeOther || back.Query().Get("undo") == "" {
		t.Fatalf("delete: %d %s", gone.status, gone.header.Get("Location"))
	}
	s.answersNowhere(t, thread, routes, "a deleted thread")
	a := s.send(t, "POST", "/ui/threads/restore", url.Values{"undo": {back.Query().Get("undo")}}.Encode(),
		"Content-Type", "application/x-www-form-urlencoded")
	a.must(t, "restore", http.StatusSeeOther)
	webtest.Same(t, "something was done to it", s.send(t, "GET", "/threads/"+thread, "").body, before)
	s.send(t, "GET", "/api/threads/"+thread+"/uploads/list", "").holds(t, "its files", `"up.txt"`)
	s.give(t, thread, "eve")
	s.answersNowhere(t, thread, routes, "somebody else's thread")
	s.give(t, thread, principal.Default)
	webtest.Same(t, "something was done to somebody else's", s.send(t, "GET", "/threads/"+thread, "").body, before)
	s.send(t, "GET", "/api/threads/"+thread+"/uploads/list", "").holds(t, "somebody else's files", `"up.txt"`)
}

// give makes a thread another owner's.
func (s *server) give(t *testing.T, thread, owner string) {
	t.Helper()
	row, err := s.app.DB().Thread(t.Context(), thread)
	must.Do(t, err)
	row.Owner = owner
	must.Do(t, s.app.DB().Commit(t.Context(), store.Batch{Thread: &row}))
}

// answersNowhere checks that every route that names the thread says it is not there, and that
// requests which name it in their bodies get nothing of it.
func (s *server) answersNowhere(t *testing.T, thread string, routes []route, what string) {
	t.Helper()
	if len(routes) < 150 {
		t.Fatalf("only %d routes name a thread: the table of routes is not what it was", len(routes))
	}
	webtest.Each(routes, func(r route) { // soon: a deletion can be undone for a moment only
		webtest.Same(t, fmt.Sprintf("%s %s of %s", r.method, r.pattern, what), s.status(t, r), http.StatusNotFound)
	})
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
	s.sendFile(t, "/api/threads/"+thread+"/uploads", "words").must(t, "upload", http.StatusOK)
}

// sendFile sends up.txt as a form.
func (s *server) sendFile(t *testing.T, path, content string, headers ...string) answer {
	t.Helper()
	body, kind := webtest.Form(t, "files", "up.txt", content)
	return s.send(t, "POST", path, body, append(headers, "Content-Type", kind)...)
}
