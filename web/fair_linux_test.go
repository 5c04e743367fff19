package web_test

import (
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

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
		a := ann.do(t, "POST", "/threads/"+thread+"/runs", say("touch on; while [ ! -e off ]; do sleep 0.05; done; echo ended by itself"))
		if a.status != http.StatusOK {
			t.Fatalf("%s: %d %s", thread, a.status, a.body)
		}
	}
	full := answer{}
	for end := time.Now().Add(time.Minute); full.status != http.StatusTooManyRequests && time.Now().Before(end); {
		full = ann.do(t, "POST", "/threads/busya/runs", human("and then?", `"multitask_strategy":"enqueue"`))
	}
	if full.status != http.StatusTooManyRequests {
		t.Fatalf("the first user was never refused: %d %s", full.status, full.body)
	}
	a := zoe.do(t, "POST", "/threads/quick/runs/wait", say("echo it is mine"))
	if a.status != http.StatusOK || !strings.Contains(a.body, "it is mine") {
		t.Errorf("the other's command: %d %s", a.status, a.body)
	}
	// Those that wait get their turn: none was refused.
	for i := range threads {
		thread := "busy" + string(rune('a'+i))
		if err := os.WriteFile(filepath.Join(dir, "threads", thread, "user-data", "workspace", "off"), nil, 0o644); err != nil {
			t.Fatal(err)
		}
		webtest.UntilSeen(t, func() bool {
			return strings.Contains(ann.do(t, "GET", "/threads/"+thread+"/state", "").body, "ended by itself")
		}, func() string { return ann.do(t, "GET", "/threads/"+thread+"/state", "").body })
	}
}
