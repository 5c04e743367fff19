package web_test

import (
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
	id := decodeAs[struct{ ID string }](t, zoe.do(t, "GET", "/api/v1/auth/me", "").body).ID
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
