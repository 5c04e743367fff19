package web_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/coder/websocket"

	"fawn/agent/agenttest/must"
	"fawn/web/account"
	"fawn/web/webtest"
)

// wired is a socket of the thread protocol.
type wired struct {
	*websocket.Conn
	id int
}

// wiredFrame is a message of a socket.
type wiredFrame struct {
	Type, Method, Error string
	ID                  int
	Event               string `json:"event_id"`
	Result              map[string]any
	Params              struct {
		Data      json.RawMessage
		Namespace []string
	}
}

func (s *server) dial(t *testing.T, thread string, headers http.Header) (*wired, *http.Response) {
	t.Helper()
	conn, res, err := websocket.Dial(t.Context(), strings.Replace(s.url, "http", "ws", 1)+"/threads/"+thread+"/stream/events",
		&websocket.DialOptions{HTTPHeader: headers, HTTPClient: s.client})
	if err != nil {
		return nil, res
	}
	conn.SetReadLimit(16 << 20)
	t.Cleanup(func() { conn.CloseNow() })
	return &wired{Conn: conn}, res
}

func (w *wired) read(t *testing.T) (f wiredFrame) {
	t.Helper()
	ctx, done := context.WithTimeout(t.Context(), patience)
	defer done()
	_, b, err := w.Read(ctx)
	if err == nil {
		err = json.Unmarshal(b, &f)
	}
	must.Do(t, err)
	return f
}

// asks sends a command and gives its answer; events before it go to seen.
func (w *wired) asks(t *testing.T, method, params string, seen *[]wiredFrame) wiredFrame {
	t.Helper()
	w.id++
	err := w.Write(t.Context(), websocket.MessageText, fmt.Appendf(nil, `{"id":%d,"method":%q,"params":%s}`, w.id, method, params))
	must.Do(t, err)
	for {
		f := w.read(t)
		if f.Type != "event" {
			if f.ID != w.id {
				t.Fatalf("the answer is to %d, not to %d", f.ID, w.id)
			}
			return f
		}
		if seen != nil {
			*seen = append(*seen, f)
		}
	}
}

// TestThreadsSpeakOverASocket: commands and events of one thread, from run to run; another page's socket is refused.
func TestThreadsSpeakOverASocket(t *testing.T) {
	t.Parallel()
	s := start(t, scripted(t))
	w, _ := s.dial(t, "t1", nil)
	if w == nil {
		t.Fatal("no socket")
	}
	var seen []wiredFrame
	sub := w.asks(t, "subscription.subscribe", `{"channels":["messages","lifecycle"]}`, &seen)
	if sub.Type != "success" || sub.Result["subscription_id"] == "" {
		t.Fatalf("%+v", sub)
	}
	for i, said := range []string{"One.", "Two."} {
		run := w.asks(t, "run.start", `{"assistant_id":"lead_agent","input":{"messages":[{"type":"human","content":"SCRIPT{\"turns\":[{\"text\":\"`+
			said+`\"}]}"}]}}`, &seen)
		if run.Type != "success" || run.Result["run_id"] == "" {
			t.Fatalf("%+v", run)
		}
		text, over := "", false
		for !over {
			for _, f := range seen {
				text += string(f.Params.Data)
				over = over || f.Method == "lifecycle" && len(f.Params.Namespace) == 0 && strings.Contains(string(f.Params.Data), "completed")
			}
			if seen = nil; !over {
				seen = append(seen, w.read(t))
			}
		}
		webtest.Holds(t, fmt.Sprintf("run %d", i), text, said)
	}
	if f := w.asks(t, "state.get", `{"namespace":[]}`, nil); f.Type != "success" || !strings.Contains(fmt.Sprint(f.Result), "Two.") {
		t.Errorf("the state is %+v", f)
	}
	for method, want := range map[string]string{"no.such": "unknown_command", "subscription.reconnect": "not_supported"} {
		if f := w.asks(t, method, `{}`, nil); f.Type != "error" || f.Error != want {
			t.Errorf("%s: %+v", method, f)
		}
	}
	if f := w.asks(t, "subscription.subscribe", `{}`, nil); f.Error != "invalid_argument" {
		t.Errorf("no channels: %+v", f)
	}
	id := fmt.Sprint(sub.Result["subscription_id"])
	for i, want := range []string{"success", "error"} {
		if f := w.asks(t, "subscription.unsubscribe", `{"subscription_id":"`+id+`"}`, nil); f.Type != want {
			t.Errorf("unsubscribing %d times: %+v", i+1, f)
		}
	}
	// Another socket is told the last run again.
	again, _ := s.dial(t, "t1", nil)
	again.asks(t, "subscription.subscribe", `{"channels":["messages"]}`, nil)
	for text := ""; !strings.Contains(text, "Two."); {
		text += string(again.read(t).Params.Data)
	}
	must.Do(t, w.Write(t.Context(), websocket.MessageText, []byte("no command")))
	for {
		if _, _, err := w.Read(t.Context()); err != nil {
			if websocket.CloseStatus(err) != 4422 {
				t.Errorf("what is no command: %v", err)
			}
			break
		}
	}
	for origin, ok := range map[string]bool{"http://evil.example": false, "null": false, s.url: true} {
		w, res := s.dial(t, "t1", http.Header{"Origin": {origin}})
		if (w != nil) != ok {
			t.Errorf("a page of %s: %v", origin, res.Status)
		}
	}
	s.send(t, "GET", "/threads/t1/stream/events", "").want(t, "without an upgrade", http.StatusUpgradeRequired)
	must.Do(t, s.stop())
	for {
		if _, _, err := again.Read(t.Context()); err != nil {
			if websocket.CloseStatus(err) != websocket.StatusGoingAway {
				t.Errorf("the server stops: %v", err)
			}
			break
		}
	}
}

// TestSocketsKnowWhoAsks: another user's thread is not there, and a token that reads starts nothing.
func TestSocketsKnowWhoAsks(t *testing.T) {
	t.Parallel()
	ann := guarded(t, scripted(t)).owner(t)
	bob := ann.member(t, "bob@x.org", account.RoleUser)
	ann.do(t, "POST", "/threads", `{"thread_id":"anns"}`)
	read, write := ann.token(t, "read"), bob.token(t, "write")
	const run = `{"assistant_id":"lead_agent","input":{"messages":[{"type":"human","content":"hello"}]}}`
	if w, res := ann.dial(t, "anns", nil); w != nil || res.StatusCode != http.StatusUnauthorized {
		t.Errorf("nobody: %v", res.Status)
	}
	if w, res := ann.dial(t, "anns", http.Header{"X-Api-Key": {write}}); w != nil || res.StatusCode != http.StatusNotFound {
		t.Errorf("another user: %v", res.Status)
	}
	w, res := ann.dial(t, "anns", http.Header{"X-Api-Key": {read}})
	if w == nil {
		t.Fatalf("a token that reads: %v", res.Status)
	}
	if f := w.asks(t, "subscription.subscribe", `{"channels":["values"]}`, nil); f.Type != "success" {
		t.Errorf("reading: %+v", f)
	}
	if f := w.asks(t, "run.start", run, nil); f.Error != "permission_denied" {
		t.Errorf("starting: %+v", f)
	}
}
