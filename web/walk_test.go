package web_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"fawn/web/account"
	"fawn/web/e2e/gate"
	"fawn/web/webtest"
)

// TestATokenThatReadsChangesNothingOverMCP: neither by a tool nor by leaving while it waits.
func TestATokenThatReadsChangesNothingOverMCP(t *testing.T) {
	t.Parallel()
	s := guarded(t, scripted(t))
	ann := s.owner(t)
	client := *s.client
	client.Transport = bearing{ann.token(t, "read"), s.client.Transport}
	reads := connectTo(t, &sdk.StreamableClientTransport{Endpoint: s.url + "/mcp", HTTPClient: &client, MaxRetries: -1})
	run := webtest.Decode[struct {
		ID string `json:"run_id"`
	}](t, ann.do(t, "POST", "/threads/t1/runs", human(`SCRIPT{"turns":[{"text":"first","gate":"never"}]}`)).body).ID
	running := func() bool {
		return strings.Contains(ann.do(t, "GET", "/threads/t1/runs/"+run, "").body, `"status":"running"`)
	}
	webtest.UntilSeen(t, running, func() string { return "the run doesn't begin" })
	for name, args := range map[string]map[string]any{"ask": {"message": "hi"}, "start_task": {"message": "hi"},
		"answer_question": {"answer": "x"}, "cancel_task": {"run_id": run}} {
		args["thread_id"] = "t1"
		if _, text, failed := use[any](t, reads, name, args); !failed {
			t.Errorf("%s: %q", name, text)
		}
	}
	ctx, leave := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer leave()
	_, err := reads.CallTool(ctx,
		&sdk.CallToolParams{Name: "wait_task", Arguments: map[string]any{"thread_id": "t1", "run_id": run}})
	if err == nil {
		t.Error("the run is over")
	}
	if !running() {
		t.Error("the run was cancelled")
	}
	ann.do(t, "POST", "/threads/t1/runs/"+run+"/cancel", "").fine(t, "its owner")
}

// TestSharedLinksAreTheirOwners: another user neither sees, makes nor ends the link of a chat, and one that
// was ended shows nothing any more, nor do its files.
func TestSharedLinksAreTheirOwners(t *testing.T) {
	t.Parallel()
	s := guarded(t, "")
	ann := s.owner(t)
	eve := ann.member(t, "eve@x.org", account.RoleUser)
	ann.do(t, "POST", "/threads/t1/runs/wait", human(secretWord)).must(t, "/threads/t1/runs/wait", http.StatusOK)
	eve.do(t, "POST", "/ui/threads/t1/share", "").want(t, "eve shares", http.StatusNotFound)
	ann.do(t, "POST", "/ui/threads/t1/share", "").must(t, "share", http.StatusSeeOther)
	link := regexp.MustCompile(`/share/[A-Z0-9]{20,}`).FindString(ann.do(t, "GET", "/ui/threads/t1/share", "").body)
	if link == "" {
		t.Fatal("there is no link")
	}
	eve.do(t, "GET", "/ui/threads/t1/share", "").want(t, "eve sees the link", http.StatusNotFound, "!"+link)
	for _, r := range s.app.Route() {
		if strings.Contains(r.Path, "/threads/:id/share") && r.Method != http.MethodGet {
			eve.do(t, r.Method, strings.ReplaceAll(r.Path, ":id", "t1"), "").want(t, fmt.Sprintf("eve: %s %s", r.Method, r.Path), http.StatusNotFound)
		}
	}
	page := func(b *browser) answer { return b.do(t, "GET", link, "", "Accept", "text/html") }
	stranger := &browser{s, map[string]string{}}
	page(stranger).want(t, "who has the link sees nothing", http.StatusOK, secretWord)
	ann.do(t, "DELETE", "/threads/t1", "").must(t, "delete", http.StatusNoContent)
	for _, b := range []*browser{ann, eve, stranger} {
		page(b).want(t, "after the deletion", http.StatusNotFound, "!"+secretWord)
	}
}

// TestManySignInsLockOutWhoeverMakesThem, and not the owner, hundreds here and 10,000 in the long checks: three addresses
// behind a proxy guess side by side, at the route of DeerFlow's front end, and in the end even know the password.
func TestManySignInsLockOutWhoeverMakesThem(t *testing.T) {
	t.Parallel()
	s := guarded(t, "server: {trusted_proxies: [127.0.0.1]}\n")
	owner := s.owner(t)
	signIn := func(from, password string) (int, error) {
		form := url.Values{"username": {"ann@x.org"}, "password": {password}}.Encode()
		res, err := s.request(t.Context(), "POST", "/api/v1/auth/login/local", strings.NewReader(form),
			"Content-Type", "application/x-www-form-urlencoded", "X-Forwarded-For", from)
		if err != nil {
			return 0, err
		}
		_, err = io.Copy(io.Discard, res.Body)
		return res.StatusCode, errors.Join(err, res.Body.Close())
	}
	attackers := []string{"192.0.2.66", "203.0.113.9", "2001:db8::1"}
	each := gate.Pick(100, 340, 3_400)
	var looked, refused atomic.Int64
	var work sync.WaitGroup
	for _, from := range attackers {
		work.Go(func() {
			for i := range each {
				switch status, err := signIn(from, fmt.Sprint("guess ", i)); {
				case err == nil && status == http.StatusUnauthorized:
					looked.Add(1)
				case err == nil && status == http.StatusTooManyRequests:
					refused.Add(1)
				default:
					t.Errorf("%s, guess %d: %d %v", from, i, status, err)
					return
				}
			}
		})
	}
	work.Wait()
	if n := looked.Load(); n < 15 || n > 60 || n+refused.Load() != int64(each)*3 {
		t.Errorf("%d guesses were looked at, %d refused", n, refused.Load())
	}
	for _, from := range attackers {
		if status, err := signIn(from, correct); err != nil || status != http.StatusTooManyRequests {
			t.Errorf("%s is let in: %d %v", from, status, err)
		}
	}
	if status, err := signIn("198.51.100.7", correct); err != nil || status != http.StatusOK {
		t.Errorf("the owner from elsewhere: %d %v", status, err)
	}
	owner.do(t, "GET", "/api/v1/auth/me", "").want(t, "the owner where she is signed", http.StatusOK)
}
