package main

import (
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"

	"fawn/sandbox/render/rendertest"
	"fawn/web/e2e/gate"
)

// TestABrowserStepThatIsCutOffIsTold: the server is killed while a page answers a click. The run goes on, its model is told that
// the click may or may not have happened, and finds the browser again at its last address with its login.
func TestABrowserStepThatIsCutOffIsTold(t *testing.T) {
	gate.In(t, gate.Cluster, "starts Chromium twice")
	at := rendertest.Chromium(t)
	clicked, hold := make(chan struct{}, 9), make(chan struct{})
	site := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		switch {
		case r.URL.Path == "/order":
			clicked <- struct{}{}
			select {
			case <-hold:
			case <-r.Context().Done():
			}
		case r.URL.Query().Get("user") != "":
			http.SetCookie(w, &http.Cookie{Name: "who", Value: r.URL.Query().Get("user"), MaxAge: 3600})
			http.Redirect(w, r, "/shop", http.StatusFound)
		default:
			c, err := r.Cookie("who")
			if err != nil {
				c = &http.Cookie{Value: "nobody"}
			}
			fmt.Fprintf(w, `<title>Shop</title><h1>Shop of %s</h1><form action=/order><button>Order</button></form>`, c.Value)
		}
	}))
	t.Cleanup(site.Close)
	t.Cleanup(func() { close(hold) })
	conf := configured(t, fmt.Sprintf("web: {allow_private: [127.0.0.1], ports: [%d], browser: %q}", site.Listener.Addr().(*net.TCPAddr).Port, at))
	dir := t.TempDir()
	s := serve(t, nil, "--data", dir, "--config", conf)
	type call struct {
		Name string         `json:"name"`
		Args map[string]any `json:"args"`
	}
	var turns []any
	for _, c := range []call{{"browser_navigate", map[string]any{"url": site.URL + "/?user=Anna"}}, {"browser_click", map[string]any{"element": "Order"}},
		{"browser_read", map[string]any{}}} {
		turns = append(turns, map[string]any{"tool_calls": []call{c}})
	}
	script, err := json.Marshal(map[string]any{"turns": append(turns, map[string]string{"text": "I looked again."})})
	if err != nil {
		t.Fatal(err)
	}
	follow(t, s, "b1", "SCRIPT"+string(script), "Shop of Anna", 1)
	<-clicked
	s.end(t, os.Kill)

	s = serve(t, nil, "--data", dir, "--config", conf)
	until(t, func() bool { return status(t, s, "b1") == "idle" })
	list := runsOf(t, s, "b1")
	if len(list) != 1 || list[0].Status != "success" {
		t.Errorf("runs: %+v", list)
	}
	got := messages(t, s, "b1")
	_, after, _ := strings.Cut(got, "Shop of Anna")
	for _, want := range []string{"interrupted", "was started again", "Shop of Anna", "ai:I looked again."} {
		if !strings.Contains(after, want) {
			t.Errorf("no %q after the click in\n%s", want, got)
		}
	}
	if len(clicked) != 0 {
		t.Error("the click was made twice")
	}
}
