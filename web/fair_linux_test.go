package web_test

import (
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"fawn/agent/agenttest/must"
	"fawn/web"
	"fawn/web/account"
	"fawn/web/webtest"
)

// TestOneUserLeavesRoomForOthers: whatever one user starts, another's commands run and runs are taken.
func TestOneUserLeavesRoomForOthers(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	conf := scripted(t) + "runs: {max_pending: 4}\nsandbox: {max_sandboxes: 4}\n"
	ann := start(t, conf, func(o *web.Options) { o.Addr, o.Data = "0.0.0.0:0", dir }).owner(t)
	ann.sandboxed(t)
	zoe := ann.member(t, "zoe@x.org", account.RoleUser)
	say := func(command string) string {
		return human(`SCRIPT{"turns":[{"tool_calls":[{"name":"bash","args":{"description":"x","command":"` + command +
			`"}}]},{"text":"well"}]}`)
	}
	const threads = 8
	for i := range threads {
		thread := "busy" + string(rune('a'+i))
		ann.do(t, "POST", "/threads/"+thread+"/runs", say("touch on; while [ ! -e off ]; do sleep 0.05; done; echo ended by itself")).must(t, thread, http.StatusOK)
	}
	full := answer{}
	for end := time.Now().Add(time.Minute); full.status != http.StatusTooManyRequests && time.Now().Before(end); {
		full = ann.do(t, "POST", "/threads/busya/runs", human("and then?", `"multitask_strategy":"enqueue"`))
	}
	full.must(t, "the first user was never refused", http.StatusTooManyRequests)
	a := zoe.do(t, "POST", "/threads/quick/runs/wait", say("echo it is mine"))
	a.want(t, "the other's command", http.StatusOK, "it is mine")
	// Those that wait get their turn: none was refused.
	for i := range threads {
		thread := "busy" + string(rune('a'+i))
		must.Do(t, os.WriteFile(filepath.Join(dir, "threads", thread, "user-data", "workspace", "off"), nil, 0o644))
		webtest.UntilSeen(t, func() bool {
			return strings.Contains(ann.do(t, "GET", "/threads/"+thread+"/state", "").body, "ended by itself")
		}, func() string { return ann.do(t, "GET", "/threads/"+thread+"/state", "").body })
	}
}
