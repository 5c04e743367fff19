package web_test

import (
	"context"
	"net/http"
	"strings"
	"testing"

	"fawn/web/webtest"
)

// TestAReadTokenCancelsNothingByLeaving: whoever joins a run may ask that it ends when the connection
// does, which is a GET that changes something. A token that may only read can't.
func TestAReadTokenCancelsNothingByLeaving(t *testing.T) {
	t.Parallel()
	b := guarded(t, scripted(t)).owner(t)
	read, write := b.token(t, "read"), b.token(t, "write")
	joined := b.do(t, "POST", "/threads/t1/runs", human(`SCRIPT{"turns":[{"text":"first","gate":"never"}]}`))
	run := decodeAs[struct {
		ID string `json:"run_id"`
	}](t, joined.body).ID
	if joined.status != http.StatusOK || run == "" {
		t.Fatalf("%d %s", joined.status, joined.body)
	}
	running := func() bool {
		return strings.Contains(b.do(t, "GET", "/threads/t1/runs/"+run, "").body, `"status":"running"`)
	}
	webtest.UntilSeen(t, running, func() string { return "the run doesn't begin" })

	// join follows a path until the answer has begun, and leaves.
	join := func(path, token, accept string) int {
		ctx, leave := context.WithCancel(t.Context())
		defer leave()
		res, err := b.request(ctx, "GET", path+"?cancel_on_disconnect=true", nil, "X-Api-Key", token, "Accept", accept)
		if err != nil {
			t.Fatalf("%s: %v", path, err)
		}
		leave()
		res.Body.Close()
		return res.StatusCode
	}
	for _, mount := range []string{"", "/api", "/api/langgraph"} {
		for _, path := range []string{"/threads/t1/runs/" + run + "/join", "/threads/t1/runs/" + run + "/stream",
			"/runs/" + run + "/join", "/runs/" + run + "/stream"} {
			for _, accept := range []string{"application/json", "text/event-stream"} {
				if got := join(mount+path, read, accept); got != http.StatusForbidden {
					t.Errorf("%s%s as %s: %d", mount, path, accept, got)
				}
			}
		}
		if got := join(mount+"/threads/t1/stream", read, "text/event-stream"); got != http.StatusOK {
			t.Errorf("%s: the stream of the thread: %d", mount, got)
		}
	}
	if !running() {
		t.Error("the run was cancelled")
	}
	if got := join("/threads/t1/runs/"+run+"/stream", write, "text/event-stream"); got != http.StatusOK {
		t.Errorf("a token that may write: %d", got)
	}
	webtest.UntilSeen(t, func() bool { return !running() }, func() string { return "the run goes on" })
}
