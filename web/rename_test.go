package web_test

import (
	"net/http"
	"strings"
	"testing"

	"fawn/web/e2e/scriptmodel"
	"fawn/web/webtest"
)

// TestANameGivenDuringARunStays: neither the first words of the message nor the model's title replaces it, in the list and in
// the state.
func TestANameGivenDuringARunStays(t *testing.T) {
	t.Parallel()
	model := scriptmodel.Start(t)
	s := start(t, "title: {model_name: script}\nmemory: {model_name: offline}\n"+webtest.Model(model))
	const id = "0199aaaa-0000-7000-8000-00000000000a"
	rename := func(name string) {
		t.Helper()
		a := s.send(t, "POST", "/ui/threads/"+id+"/rename", "title="+name, "Content-Type", "application/x-www-form-urlencoded")
		if a.status >= http.StatusBadRequest {
			t.Fatalf("rename: %d %s", a.status, a.body)
		}
	}
	l := s.stream(t, t.Context(), "/threads/"+id+"/runs/stream", human(`SCRIPT{"turns":[
		{"text":"first ","gate":"one","tokens":200,"tool_calls":[{"name":"list_uploaded_files","args":{}}]},{"text":"then ","gate":"two","tokens":1}]}`))
	l.until(t, "metadata")
	rename("Mine")
	model.Open("one")
	webtest.UntilSeen(t, func() bool {
		return strings.Contains(s.send(t, "GET", "/threads/"+id+"/state", "").body, `"type":"tool"`)
	}, s.log.String)
	titled := func(want string) {
		t.Helper()
		if a := s.send(t, "GET", "/workspace/chats/"+id, "", "Accept", "text/html"); !strings.Contains(a.body, "<title>"+want+" ") {
			t.Errorf("the page isn't called %q", want)
		}
	}
	titled("Mine")
	rename("Yours")
	model.Open("two")
	l.until(t, "event: end")
	titled("Yours")
	type state struct{ Values struct{ Title string } }
	if got := webtest.Decode[state](t, s.send(t, "GET", "/threads/"+id+"/state", "").body).Values.Title; got != "Yours" {
		t.Errorf("the state is called %q", got)
	}
}
