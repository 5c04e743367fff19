package web_test

import (
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"fawn/web"
	"fawn/web/account"
	"fawn/web/e2e/scriptmodel"
	"fawn/web/webtest"
)

// TestADisabledUserStopsAtAllServers: what one server runs for somebody ends when they are disabled at another, also
// what their commands left in the background.
func TestADisabledUserStopsAtAllServers(t *testing.T) {
	t.Parallel()
	conf := strings.Replace(clusteredWith(t, scriptmodel.Start(t), 200), "sandbox: {provider: off}\n", "", 1)
	files := ""
	for line := range strings.Lines(conf) {
		if at, ok := strings.CutPrefix(line, "files: {dir: \""); ok {
			files, _, _ = strings.Cut(at, "\"")
		}
	}
	public := func(o *web.Options) { o.Addr = "0.0.0.0:0" }
	a := start(t, conf, public, web.Patient(patience)).owner(t)
	a.sandboxed(t)
	zoe := a.member(t, "zoe@x.org", account.RoleUser)
	id := webtest.Decode[struct{ ID string }](t, zoe.do(t, "GET", "/api/v1/auth/me", "").body).ID
	token := zoe.token(t, "write")
	const count = `while true; do echo x >> /mnt/user-data/workspace/ticks; sleep 0.05; done`
	for thread, command := range map[string]string{"front": count,
		"back": "(" + count + ") >/dev/null 2>&1 & sleep 97531.753 >/dev/null 2>&1 & echo started"} {
		say := `SCRIPT{"turns":[{"tool_calls":[{"name":"bash","args":{"description":"x","command":"` + command +
			`"}}]},{"text":"well"}]}`
		a.send(t, "POST", "/threads/"+thread+"/runs", human(say), "X-Api-Key", token).must(t, thread, http.StatusOK)
	}
	size := func(thread string) int64 {
		info, err := os.Stat(filepath.Join(files, "threads", thread, "user-data", "workspace", "ticks"))
		if err != nil {
			return 0
		}
		return info.Size()
	}
	webtest.UntilSeen(t, func() bool { return size("front") > 0 && size("back") > 0 && runningCommand(t, "97531.753") },
		a.log.String)

	b := start(t, conf, public, web.Patient(patience))
	there := &browser{b, a.cookies} // the session of the owner holds at all servers
	there.do(t, "PATCH", "/api/v1/auth/users/"+id, `{"disabled":true}`).must(t, "disabled at the other server", http.StatusOK)
	if runningCommand(t, "97531.753") {
		t.Error("a background process goes on")
	}
	before := size("front") + size("back")
	b.send(t, "GET", "/threads", "", "X-Api-Key", token).want(t, "the token", http.StatusUnauthorized)
	for range 20 { // requests take longer than a tick
		b.send(t, "GET", "/health", "")
	}
	webtest.Same(t, "commands go on: bytes, then", size("front")+size("back"), before)
}

// TestWhoLosesAProjectHasItInNoSandboxOfAnyServer: what runs in a chat at one server ends when its owner loses the project at
// another one, or by a command in a data folder of its own.
func TestWhoLosesAProjectHasItInNoSandboxOfAnyServer(t *testing.T) {
	t.Parallel()
	conf := strings.Replace(clusteredWith(t, scriptmodel.Start(t), 200), "sandbox: {provider: off}\n", "", 1)
	public := func(o *web.Options) { o.Addr = "0.0.0.0:0" }
	a := start(t, conf, public, web.Patient(patience)).owner(t)
	a.sandboxed(t)
	zoe := a.member(t, "zoe@x.org", account.RoleAdmin)
	token := zoe.token(t, "write")
	if got := a.do(t, "POST", "/api/groups", `{"name":"Admins","roles":["admin"]}`); got.status >= 300 {
		t.Fatalf("group: %d %s", got.status, got.body)
	}
	id := newProject(t, a, `{"name":"P"}`)
	share := func(with string) {
		t.Helper()
		if got := a.do(t, "POST", "/api/projects/"+id+"/members", `{`+with+`,"role":"editor"}`); got.status != http.StatusOK {
			t.Fatalf("share: %d %s", got.status, got.body)
		}
	}
	begin := func(thread, mark string) {
		t.Helper()
		if got := a.send(t, "POST", "/threads", `{"thread_id":"`+thread+`","project_id":"`+id+`"}`, "X-Api-Key", token); got.status != http.StatusOK {
			t.Fatalf("%s: %d %s", thread, got.status, got.body)
		}
		say := `SCRIPT{"turns":[{"tool_calls":[{"name":"bash","args":{"description":"x","command":"sleep ` + mark +
			` >/dev/null 2>&1 & echo started"}}]},{"text":"well"}]}`
		if got := a.send(t, "POST", "/threads/"+thread+"/runs/wait", human(say), "X-Api-Key", token); got.status != http.StatusOK {
			t.Fatalf("%s: %d %s", thread, got.status, got.body)
		}
		webtest.UntilSeen(t, func() bool { return runningCommand(t, mark) }, a.log.String)
	}
	ended := func(mark string) {
		t.Helper()
		webtest.UntilSeen(t, func() bool { return !runningCommand(t, mark) }, a.log.String)
	}
	share(`"group":"Admins"`)
	begin("first", "97531.861")
	err := web.Users(t.Context(), web.Options{Data: t.TempDir(), Config: a.conf, Out: io.Discard, Log: web.NewLog(io.Discard)},
		web.UserJob{Do: "role", Email: "zoe@x.org", Role: "user"})
	if err != nil {
		t.Fatal(err)
	}
	ended("97531.861")

	share(`"email":"zoe@x.org"`)
	begin("second", "97531.862")
	b := &browser{start(t, conf, public, web.Patient(patience)), a.cookies}
	zoes := webtest.Decode[struct{ ID string }](t, zoe.do(t, "GET", "/api/v1/auth/me", "").body).ID
	if got := b.do(t, "DELETE", "/api/projects/"+id+"/members/"+zoes, ""); got.status != http.StatusNoContent {
		t.Errorf("unshare at the other server: %d %s", got.status, got.body)
	}
	ended("97531.862")
}
