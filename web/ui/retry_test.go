package ui_test

import (
	"net/http"
	"regexp"
	"testing"
	"time"

	"fawn/agent"
	"fawn/agent/agenttest"
	"fawn/agent/llm/llmerr"
	"fawn/agent/middleware"
	"fawn/web/webtest"
)

// TestAWaitForTheProviderIsSeen on a page that follows the run and on one that is opened
// meanwhile, and is gone with the next word.
func TestAWaitForTheProviderIsSeen(t *testing.T) {
	limited := agenttest.Reply{Err: &llmerr.Error{Status: 429, Class: llmerr.ClassBurst, Message: "slow down",
		RetryAfter: time.Minute}}
	w := open(t, &agenttest.Script{Replies: []agenttest.Reply{limited, agenttest.Say("Here.")}})
	w.chain = []agent.Middleware{
		middleware.LLMErrors(middleware.RetryRules{Attempts: 3, Base: time.Second, Cap: time.Second},
			middleware.NewBreaker("m", middleware.BreakerRules{Failures: 5}, nil)),
	}
	const id = "t1"
	w.begin(id, "hello")
	r := w.reader(id)
	r.readUntil("Rate limited.")
	r.equalsCursor()
	page := w.page("/workspace/chats/" + id)
	webtest.Holds(t, "the page", page, "Rate limited.", "attempt 2 of 3", `form="compose"`, "data-stop")
	// It counts down: some seconds of the minute may be over.
	if !regexp.MustCompile(`Retrying in (60|[1-5]\d) s`).MatchString(page) {
		t.Errorf("the page does not say how long it waits: %s", page)
	}
	if res := w.post("/ui/threads/"+id+"/stop", nil); res.StatusCode >= http.StatusBadRequest {
		t.Fatal(res.Status)
	}
	r.read(0)
	r.equalsPage()
	webtest.Holds(t, "the wait is still on the page", w.page("/workspace/chats/"+id), "!Rate limited")
}
