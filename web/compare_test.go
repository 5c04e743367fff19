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
	if a := s.send(t, "POST", "/threads/base/runs/wait", human("echo 3 tokens at 0 tok/s")); a.status != http.StatusOK {
		t.Fatal(a.body)
	}
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
		if a := s.send(t, "POST", "/api/comparisons", `{`+question+`,`+body+`}`); a.status != http.StatusUnprocessableEntity {
			t.Errorf("%s: %d %s", name, a.status, a.body)
		}
	}
	if a := s.send(t, "POST", "/threads", `{"thread_id":"passing","temporary":true}`); a.status != http.StatusOK {
		t.Fatal(a.body)
	}
	if a := s.send(t, "POST", "/api/comparisons", `{"thread_id":"passing",`+question+`,"models":["script","other"]}`); a.status != http.StatusConflict {
		t.Errorf("branches of a temporary chat would stay: %d %s", a.status, a.body)
	}
	for _, thread := range []string{`"thread_id":"base",`, ""} {
		a := s.send(t, "POST", "/api/comparisons", `{`+thread+question+`,"models":["script","other"]}`)
		if a.status != http.StatusCreated {
			t.Fatalf("%d %s", a.status, a.body)
		}
		made := decodeAs[comparison](t, a.body)
		if len(made.Sides) != 2 || made.Sides[1].Model != "other" || made.Chosen != nil {
			t.Fatalf("%+v", made)
		}
		for _, side := range made.Sides {
			var state struct {
				Values struct{ Messages []struct{ Type string } }
			}
			webtest.UntilSeen(t, func() bool {
				state = decodeAs[struct {
					Values struct{ Messages []struct{ Type string } }
				}](t, s.send(t, "GET", "/threads/"+side.Thread+"/state", "").body)
				n := len(state.Values.Messages)
				return n > 0 && n%2 == 0 && state.Values.Messages[n-1].Type == "ai"
			}, s.log.String)
			if want := map[bool]int{true: 4, false: 2}[thread != ""]; len(state.Values.Messages) != want {
				t.Errorf("%s has %d messages, want %d", side.Model, len(state.Values.Messages), want)
			}
			run := decodeAs[[]struct {
				Kwargs struct{ Context map[string]any }
			}](t, s.send(t, "GET", "/threads/"+side.Thread+"/runs", "").body)
			if run[0].Kwargs.Context["model_name"] != side.Model {
				t.Errorf("the run of %s: %v", side.Model, run[0].Kwargs.Context)
			}
		}
		if a := s.send(t, "POST", "/api/comparisons/"+made.ID+"/choose", `{"thread_id":"base"}`); a.status != http.StatusNotFound {
			t.Errorf("a thread of no side: %d", a.status)
		}
		a = s.send(t, "POST", "/api/comparisons/"+made.ID+"/choose", `{"thread_id":"`+made.Sides[1].Thread+`"}`)
		if got := decodeAs[comparison](t, a.body); got.Chosen == nil || *got.Chosen != made.Sides[1].Thread {
			t.Errorf("chosen: %d %s", a.status, a.body)
		}
	}
	if a := s.send(t, "GET", "/threads/base/state", ""); strings.Count(a.body, `"type":"ai"`) != 1 {
		t.Errorf("the thread itself has changed: %s", a.body)
	}
	if a := s.send(t, "GET", "/api/comparisons/records", ""); !strings.Contains(a.body, `{"model":"other","won":2,"compared":2}`) {
		t.Errorf("records: %s", a.body)
	}
	if a := s.send(t, "GET", "/workspace/settings/models", "", "Accept", "text/html"); !strings.Contains(a.body, "preferred 2 of 2 times") {
		t.Errorf("the models page doesn't say it: %d", a.status)
	}
}

// TestPagesCompareModels: the message box starts a comparison, whose page frames the answers, and goes on with one.
func TestPagesCompareModels(t *testing.T) {
	t.Parallel()
	s := start(t, twoModels(t))
	form := []string{"Content-Type", "application/x-www-form-urlencoded", "Accept", "text/html"}
	const id = "0199aaaa-0000-7000-8000-000000000001"
	if a := s.send(t, "GET", "/workspace/chats/new", "", "Accept", "text/html"); !strings.Contains(a.body, `name="compare"`) {
		t.Error("the message box doesn't offer it")
	}
	if a := s.send(t, "POST", "/ui/threads/"+id+"/compare", "text=hello&compare=script", form...); a.status != http.StatusUnprocessableEntity ||
		!strings.Contains(a.body, "Choose two to 3 models") {
		t.Errorf("one model: %d", a.status)
	}
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
