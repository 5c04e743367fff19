package web_test

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"fawn/agent/agenttest/must"
	"fawn/web/webtest"
)

// TestAReadTokenCancelsNothingByLeaving: whoever joins a run may ask that it ends when the connection
// does, which is a GET that changes something. A token that may only read can't.
func TestAReadTokenCancelsNothingByLeaving(t *testing.T) {
	t.Parallel()
	b := guarded(t, scripted(t)).owner(t)
	read, write := b.token(t, "read"), b.token(t, "write")
	joined := b.do(t, "POST", "/threads/t1/runs", human(`SCRIPT{"turns":[{"text":"first","gate":"never"}]}`))
	run := webtest.Decode[struct {
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
		must.Do(t, err, path)
		leave()
		res.Body.Close()
		return res.StatusCode
	}
	for _, mount := range []string{"", "/api", "/api/langgraph"} {
		for _, path := range []string{"/threads/t1/runs/" + run + "/join", "/threads/t1/runs/" + run + "/stream",
			"/runs/" + run + "/join", "/runs/" + run + "/stream"} {
			for _, accept := range []string{"application/json", "text/event-stream"} {
				webtest.Same(t, fmt.Sprintf("%s%s as %s", mount, path, accept), join(mount+path, read, accept), http.StatusForbidden)
			}
		}
		webtest.Same(t, fmt.Sprintf("%s: the stream of the thread", mount), join(mount+"/threads/t1/stream", read, "text/event-stream"), http.StatusOK)
	}
	if !running() {
		t.Error("the run was cancelled")
	}
	webtest.Same(t, "a token that may write", join("/threads/t1/runs/"+run+"/stream", write, "text/event-stream"), http.StatusOK)
	webtest.UntilSeen(t, func() bool { return !running() }, func() string { return "the run goes on" })
}
