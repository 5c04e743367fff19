package web_test

import (
	"bytes"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"fawn/agent/agenttest/must"
	"fawn/web"
	"fawn/web/account"
	"fawn/web/webtest"
)

// TestADeletedUserLeavesNothing: whichever way an account is deleted, its runs end, and neither the
// database nor the disk has anything of what it owned, or its name. What others own stays.
func TestADeletedUserLeavesNothing(t *testing.T) {
	t.Parallel()
	for name, remove := range map[string]func(*testing.T, *leaver){
		"API": func(t *testing.T, l *leaver) {
			l.owner.do(t, "DELETE", "/api/v1/auth/users/"+l.id, "").want(t, "delete", http.StatusOK)
		},
		"page": func(t *testing.T, l *leaver) {
			const form = "application/x-www-form-urlencoded"
			path := "/ui/users/" + l.id + "/delete"
			l.owner.do(t, "POST", path, "", "Content-Type", form, "Accept", "text/html").want(t, "the page doesn't say what goes", http.StatusOK, "all of their chats")
			l.owner.do(t, "POST", path, "sure=1", "Content-Type", form, "Accept", "text/html").want(t, "delete", http.StatusSeeOther)
		},
		"console": func(t *testing.T, l *leaver) { l.console(t) },
		"console without a server": func(t *testing.T, l *leaver) {
			must.Do(t, l.stop())
			l.console(t)
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := newLeaver(t)
			remove(t, l)
			must.Do(t, l.stop())
			for _, word := range []string{secretWord, "zoe@x.org", l.id} {
				if found := mentions(t, l.dir, word); len(found) > 0 {
					t.Errorf("%q is still in %s", word, strings.Join(found, ", "))
				}
			}
			if found := mentions(t, l.dir, "of the owner's own"); len(found) == 0 {
				t.Error("what the owner has is gone, too")
			}
		})
	}
}

// leaver is a server with somebody who owns something of every kind, and who will go.
type leaver struct {
	*house
	owner   *browser
	id, dir string
}

func newLeaver(t *testing.T) *leaver {
	t.Helper()
	dir, err := os.MkdirTemp("", "fawn") // short enough for the name of a socket
	must.Do(t, err)
	t.Cleanup(func() { os.RemoveAll(dir) })
	s := start(t, scripted(t)+"agents_api: {enabled: true}\n", func(o *web.Options) {
		o.Addr, o.Data = "0.0.0.0:0", dir
	})
	l := &leaver{owner: s.owner(t), dir: dir}
	a := l.owner.do(t, "POST", "/threads/owners/runs/wait", human("words of the owner's own"))
	a.must(t, "the answer", http.StatusOK)
	zoe := l.owner.member(t, "zoe@x.org", account.RoleUser)
	l.id = webtest.Decode[struct{ ID string }](t, zoe.do(t, "GET", "/api/v1/auth/me", "").body).ID
	l.house = &house{server: s, ann: zoe}
	l.furnish(t)
	for _, c := range [][3]string{
		{"PUT", "/api/user-profile", `{"content":"I am ` + secretWord + `"}`},
		{"POST", "/api/scheduled-tasks", `{"title":"` + secretWord + `","prompt":"x","schedule_type":"cron","schedule_spec":{"cron":"0 0 1 1 *"},"timezone":"UTC"}`},
		{"POST", "/ui/threads/anns/share", ""},
		{"POST", "/threads/binned/runs/wait", human(secretWord + " in the trash")},
		{"POST", "/ui/threads/binned/delete", ""},
		{"POST", "/threads/running/runs", human(`SCRIPT{"turns":[{"text":"` + secretWord + `","gate":"never"}]}`)},
	} {
		if a := zoe.do(t, c[0], c[1], c[2]); a.status >= 400 {
			t.Fatalf("%s %s: %d %s", c[0], c[1], a.status, a.body)
		}
	}
	webtest.UntilSeen(t, func() bool { return strings.Contains(zoe.do(t, "GET", "/threads/running", "").body, `"busy"`) },
		func() string { return "the run doesn't begin" })
	if found := mentions(t, dir, secretWord); len(found) == 0 {
		t.Fatal("the word cannot be found where it must be: this test proves nothing")
	}
	return l
}

// console deletes the account as fawn user delete does.
func (l *leaver) console(t *testing.T) {
	t.Helper()
	remove := func(said string, keep, sure bool) (string, error) {
		var out bytes.Buffer
		err := web.DeleteUser(t.Context(), web.Options{Data: l.dir, Out: &out}, strings.NewReader(said), "zoe@x.org",
			keep, sure)
		return out.String(), err
	}
	out, err := remove("", false, false)
	if err == nil || !strings.Contains(out, "3 chats, 2 scheduled tasks, 1 agent, 1 memory") {
		t.Errorf("it doesn't say what goes and ask: %v\n%s", err, out)
	}
	if found := mentions(t, l.dir, secretWord); len(found) == 0 {
		t.Error("it was deleted without a yes")
	}
	if out, err := remove("yes\n", false, false); err != nil || !strings.Contains(out, "zoe@x.org is deleted") {
		t.Errorf("delete: %v\n%s", err, out)
	}
	if _, err := remove("", false, true); err == nil {
		t.Error("deleted twice")
	}
}

// TestWhatADeletedUserOwnsCanBeKept where somebody says so.
func TestWhatADeletedUserOwnsCanBeKept(t *testing.T) {
	t.Parallel()
	l := newLeaver(t)
	l.owner.do(t, "DELETE", "/api/v1/auth/users/"+l.id+"?keep_data=true", "").must(t, "delete", http.StatusOK)
	l.ann.do(t, "GET", "/threads", "").want(t, "the account is still there", http.StatusUnauthorized)
	if _, err := os.Stat(filepath.Join(l.dir, "threads", "anns", "user-data", "uploads", "up.txt")); err != nil {
		t.Error(err)
	}
}
