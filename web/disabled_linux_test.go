package web_test

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"testing"

	"fawn/web"
	"fawn/web/account"

	"fawn/web/webtest"
)

// TestADisabledUserStopsAtOnce: whatever acts for somebody ends when they are disabled, and nothing begins.
func TestADisabledUserStopsAtOnce(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	b := start(t, scripted(t), func(o *web.Options) { o.Addr, o.Data = "0.0.0.0:0", dir }).owner(t)
	b.sandboxed(t)
	zoe := b.member(t, "zoe@x.org", account.RoleUser)
	id := webtest.Decode[struct{ ID string }](t, zoe.do(t, "GET", "/api/v1/auth/me", "").body).ID
	token := zoe.token(t, "write")
	const count = `while true; do echo x >> /mnt/user-data/workspace/ticks; sleep 0.05; done`
	for _, thread := range []string{"front", "back", "queue"} {
		command := map[string]string{"front": count, "back": "(" + count + ") >/dev/null 2>&1 & echo started"}[thread]
		say := `SCRIPT{"turns":[{"tool_calls":[{"name":"bash","args":{"description":"x","command":"` + command +
			`"}}]},{"text":"well"}]}`
		if thread == "queue" {
			say = `SCRIPT{"turns":[{"text":"slow","gate":"never"}]}`
		}
		zoe.do(t, "POST", "/threads/"+thread+"/runs", human(say)).must(t, thread, http.StatusOK)
	}
	zoe.do(t, "POST", "/threads/queue/runs", human("next")).must(t, "/threads/queue/runs", http.StatusOK)
	size := func(thread string) int64 {
		info, err := os.Stat(filepath.Join(dir, "threads", thread, "user-data", "workspace", "ticks"))
		if err != nil {
			return 0
		}
		return info.Size()
	}
	webtest.UntilSeen(t, func() bool { return size("front") > 0 && size("back") > 0 }, b.log.String)
	zoe.do(t, "POST", "/ui/threads/back/share", "")
	link := regexp.MustCompile(`/share/[A-Z0-9]+`).FindString(zoe.do(t, "GET", "/ui/threads/back/share", "").body)
	if a := b.send(t, "GET", link, ""); link == "" || a.status != http.StatusOK {
		t.Fatalf("the link %q: %d", link, a.status)
	}

	a := b.do(t, "PATCH", "/api/v1/auth/users/"+id, `{"disabled":true}`)
	a.must(t, "disable", http.StatusOK)
	b.send(t, "GET", link, "").want(t, "the link still leads to the chat", http.StatusNotFound)
	b.send(t, "GET", "/threads", "", "X-Api-Key", token).want(t, "the token", http.StatusUnauthorized)
	zoe.do(t, "GET", "/threads", "").want(t, "the session", http.StatusUnauthorized)
	b.do(t, "PATCH", "/api/v1/auth/users/"+id, `{"disabled":false}`).must(t, "/api/v1/auth/users/"+id, http.StatusOK)
	b.send(t, "GET", link, "").want(t, "the link of an enabled user", http.StatusOK)
	for _, thread := range []string{"front", "back", "queue"} {
		a := b.send(t, "GET", "/threads/"+thread+"/runs", "", "X-Api-Key", token)
		for _, run := range webtest.Decode[[]struct{ Status string }](t, a.body) {
			if thread != "back" && run.Status != "interrupted" || run.Status == "pending" || run.Status == "running" {
				t.Errorf("a run of %s is %s", thread, run.Status)
			}
		}
		if thread == "queue" {
			continue
		}
		say := `SCRIPT{"turns":[{"tool_calls":[{"name":"bash","args":{"description":"x","command":"` +
			`a=$(stat -c %s ticks); sleep 0.3; test $a = $(stat -c %s ticks) && echo nobody writes"}}]},{"text":"well"}]}`
		b.send(t, "POST", "/threads/"+thread+"/runs/wait", human(say), "X-Api-Key", token).want(t, fmt.Sprintf("%s: commands go on", thread), http.StatusOK,
			`"nobody writes`)
	}
}
