package web_test

import (
	"io"
	"net/http"
	"reflect"
	"strings"
	"testing"

	"fawn/agent/agenttest/must"
	"fawn/web/webtest"
)

// TestImportsThroughTheAPI previews, confirms and takes back an export.
func TestImportsThroughTheAPI(t *testing.T) {
	t.Parallel()
	s := start(t, "")
	call := func(method, path, kind string, body io.Reader, status int) map[string]any {
		t.Helper()
		req, err := http.NewRequestWithContext(t.Context(), method, s.url+path, body)
		must.Do(t, err)
		req.Header.Set("Content-Type", kind)
		resp, err := s.client.Do(req)
		must.Do(t, err)
		defer resp.Body.Close()
		raw, err := io.ReadAll(resp.Body)
		if err != nil || resp.StatusCode != status {
			t.Fatalf("%s %s = %d, want %d: %s", method, path, resp.StatusCode, status, raw)
		}
		out := webtest.Decode[map[string]any](t, string(raw))
		return out
	}
	send := func(content string, status int) map[string]any {
		t.Helper()
		body, kind := webtest.Form(t, "file", "conversations.json", content)
		return call("POST", "/api/imports", kind, strings.NewReader(body), status)
	}
	send("no export", http.StatusUnprocessableEntity)
	call("POST", "/api/imports", "application/json", nil, http.StatusUnprocessableEntity)
	p := send(`[{"uuid":"u1","name":"Tea","chat_messages":[{"sender":"human","text":"Which tea?"},{"sender":"assistant","text":"Green."}]}]`,
		http.StatusOK)
	id, _ := p["import_id"].(string)
	if p["app"] != "claude" || p["chats"] != 1.0 || p["messages"] != 2.0 || p["confirmed"] != false || id == "" {
		t.Fatalf("the preview is %v", p)
	}
	if got := call("POST", "/api/imports/nobody/confirm", "", nil, http.StatusNotFound); got["detail"] == "Not Found" {
		t.Error("the route is missing")
	}
	if done := call("POST", "/api/imports/"+id+"/confirm", "", nil, http.StatusOK); done["confirmed"] != true {
		t.Errorf("the import is %v", done)
	} else if again := call("POST", "/api/imports/"+id+"/confirm", "", nil, http.StatusOK); !reflect.DeepEqual(again, done) {
		t.Errorf("a second confirm answers %v, the first %v", again, done)
	}
	if list, _ := call("GET", "/api/imports", "", nil, http.StatusOK)["imports"].([]any); len(list) != 1 {
		t.Errorf("%d imports are listed", len(list))
	}
	if gone := call("DELETE", "/api/imports/"+id, "", nil, http.StatusOK); gone["removed"] != 1.0 || gone["kept"] != 0.0 {
		t.Errorf("taken back: %v", gone)
	}
	call("DELETE", "/api/imports/"+id, "", nil, http.StatusNotFound)

	// One chat that is too large leaves the others.
	const first, last = `{"uuid":"u1","name":"Tea","chat_messages":[{"sender":"human","text":"Which tea?"}]}`,
		`{"uuid":"u3","name":"Rain \"]}","chat_messages":[{"sender":"human","text":"Will it rain?"}]}`
	large := `{"uuid":"u2","name":"Big","chat_messages":[{"sender":"human","text":"` + strings.Repeat(`a\\\"`, 7<<20) + `"}]}`
	p = send("["+first+", "+large+"\n,"+last+"]", http.StatusOK)
	if p["chats"] != 2.0 || p["too_large_chats"] != 1.0 || p["unreadable_chats"] != 0.0 {
		t.Errorf("the preview is %v", p)
	}
	send("["+large+"]", http.StatusRequestEntityTooLarge)
	send("["+first+","+large, http.StatusUnprocessableEntity)
}
