package web_test

import (
	"net/http"
	"strings"
	"testing"

	"fawn/web/webtest"
)

// TestModelsAnswerSideBySide in branches, one of which is preferred, and counts for its model.
func TestModelsAnswerSideBySide(t *testing.T) {
	t.Parallel()
	s := start(t, twoModels(t))
	s.send(t, "POST", "/threads/base/runs/wait", human("echo 3 tokens at 0 tok/s")).must(t, "/threads/base/runs/wait", http.StatusOK)
	type comparison struct {
		ID    string
		Sides []struct {
			Thread string `json:"thread_id"`
			Model  string
		}
		Chosen *string
	}
	const question = `"message":"echo 7 tokens at 0 tok/s"`
	for name, body := range map[string]string{"one": `"models":["script"]`, "twice the same": `"models":["script","script"]`,
		"unknown": `"models":["script","none"]`, "four": `"models":["a","b","c","d"]`} {
		s.send(t, "POST", "/api/comparisons", `{`+question+`,`+body+`}`).want(t, name, http.StatusUnprocessableEntity)
	}
	s.send(t, "POST", "/threads", `{"thread_id":"passing","temporary":true}`).must(t, "/threads", http.StatusOK)
	s.send(t, "POST", "/api/comparisons", `{"thread_id":"passing",`+question+`,"models":["script","other"]}`).want(t, "branches of a temporary chat would stay", http.StatusConflict)
	for _, thread := range []string{`"thread_id":"base",`, ""} {
		a := s.send(t, "POST", "/api/comparisons", `{`+thread+question+`,"models":["script","other"]}`)
		a.must(t, "the answer", http.StatusCreated)
		made := webtest.Decode[comparison](t, a.body)
		if len(made.Sides) != 2 || made.Sides[1].Model != "other" || made.Chosen != nil {
			t.Fatalf("%+v", made)
		}
		for _, side := range made.Sides {
			type shown struct {
				Values struct {
					Title    string
					Messages []struct{ Type string }
				}
			}
			var state shown
			want := map[bool]int{true: 4, false: 2}[thread != ""]
			webtest.UntilSeen(t, func() bool {
				state = webtest.Decode[shown](t, s.send(t, "GET", "/threads/"+side.Thread+"/state", "").body)
				n := len(state.Values.Messages)
				return n >= want && state.Values.Messages[n-1].Type == "ai"
			}, s.log.String)
			if len(state.Values.Messages) != want {
				t.Errorf("%s has %d messages, want %d", side.Model, len(state.Values.Messages), want)
			}
			if !strings.HasSuffix(state.Values.Title, " ("+side.Model+")") || !strings.HasPrefix(state.Values.Title, "echo ") {
				t.Errorf("the chat with the answer of %s is called %q", side.Model, state.Values.Title)
			}
			run := webtest.Decode[[]struct {
				Kwargs struct{ Context map[string]any }
			}](t, s.send(t, "GET", "/threads/"+side.Thread+"/runs", "").body)
			if run[0].Kwargs.Context["model_name"] != side.Model {
				t.Errorf("the run of %s: %v", side.Model, run[0].Kwargs.Context)
			}
		}
		s.send(t, "POST", "/api/comparisons/"+made.ID+"/choose", `{"thread_id":"base"}`).want(t, "a thread of no side", http.StatusNotFound)
		a = s.send(t, "POST", "/api/comparisons/"+made.ID+"/choose", `{"thread_id":"`+made.Sides[1].Thread+`"}`)
		if got := webtest.Decode[comparison](t, a.body); got.Chosen == nil || *got.Chosen != made.Sides[1].Thread {
			t.Errorf("chosen: %d %s", a.status, a.body)
		}
	}
	if a := s.send(t, "GET", "/threads/base/state", ""); strings.Count(a.body, `"type":"ai"`) != 1 {
		t.Errorf("the thread itself has changed: %s", a.body)
	}
	s.send(t, "GET", "/api/comparisons/records", "").holds(t, "records", `{"model":"other","won":2,"compared":2}`)
	s.send(t, "GET", "/workspace/settings/models", "", "Accept", "text/html").holds(t, "the models page doesn't say it", "preferred 2 of 2 times")
}

// TestPagesCompareModels: the message box starts a comparison, whose page frames the answers, and goes on with one.
func TestPagesCompareModels(t *testing.T) {
	t.Parallel()
	s := start(t, twoModels(t))
	form := []string{"Content-Type", "application/x-www-form-urlencoded", "Accept", "text/html"}
	const id = "0199aaaa-0000-7000-8000-000000000001"
	s.send(t, "GET", "/workspace/chats/new", "", "Accept", "text/html").holds(t, "the message box doesn't offer it", `name="compare"`)
	s.send(t, "POST", "/ui/threads/"+id+"/compare", "text=hello&compare=script", form...).want(t, "one model", http.StatusUnprocessableEntity, "Choose two to 3 models")
	a := s.send(t, "POST", "/ui/threads/"+id+"/compare", "text=hello&compare=script&compare=other", form...)
	where := a.header.Get("Location")
	if a.status != http.StatusSeeOther || !strings.HasPrefix(where, "/workspace/compare/") {
		t.Fatalf("%d %s", a.status, a.body)
	}
	shown := s.send(t, "GET", where, "", "Accept", "text/html").body
	if strings.Count(shown, "<iframe") != 2 {
		t.Fatalf("the page: %s", shown)
	}
	_, rest, _ := strings.Cut(shown, `src="/ui/threads/`)
	thread, _, _ := strings.Cut(rest, "/")
	for _, model := range []string{"script", "other"} {
		webtest.UntilSeen(t, func() bool {
			return strings.Contains(s.send(t, "GET", "/workspace/chats", "", "Accept", "text/html").body, "hello ("+model+")")
		}, s.log.String)
	}
	column := s.send(t, "GET", "/ui/threads/"+thread+"/column", "", "Accept", "text/html")
	if csp := column.header.Get("Content-Security-Policy"); !strings.Contains(csp, "frame-ancestors 'self'") || strings.Contains(column.body, `id="compose"`) {
		t.Errorf("the column: %d %s", column.status, csp)
	}
	a = s.send(t, "POST", "/ui/compare/"+strings.TrimPrefix(where, "/workspace/compare/"), "thread="+thread+"&delete=1", form...)
	if a.status != http.StatusSeeOther || !strings.HasPrefix(a.header.Get("Location"), "/workspace/chats/"+thread) {
		t.Errorf("go on: %d %v", a.status, a.header)
	}
	if again := s.send(t, "GET", where, "", "Accept", "text/html").body; strings.Count(again, "<iframe") != 1 || !strings.Contains(again, "Preferred") {
		t.Errorf("the page afterwards has %d answers", strings.Count(again, "<iframe"))
	}
}
