package ui_test

import (
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"testing"

	"fawn/agent/agenttest"
	"fawn/agent/community"
	"fawn/web/webtest"
)

// TestSearchesAndPagesAreReadAsPeopleDo: in the trail, in the details of its steps, and as a list of
// sources with the thread's numbers below the answer, after a reload and in the export.
func TestSearchesAndPagesAreReadAsPeopleDo(t *testing.T) {
	t.Parallel()
	var site *httptest.Server
	site = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/search":
			fmt.Fprintf(w, `{"results":[{"url":"https://owls.example/","title":"Owls <i>only</i>","content":"About &lt;b>owls&lt;/b>."},{"url":"%s/fox","title":"Fox","content":"About foxes."}]}`, site.URL)
		case "/fox":
			w.Header().Set("Content-Type", "text/plain")
			fmt.Fprint(w, "A **fox** <script>alert(1)</script> ![beacon](https://evil.example/p.png)")
		default:
			w.WriteHeader(http.StatusPaymentRequired)
		}
	}))
	defer site.Close()
	w := open(t, &agenttest.Script{Replies: []agenttest.Reply{
		agenttest.Call("c1", "web_search", `{"query":"foxes"}`),
		agenttest.Call("c2", "web_fetch", `{"url":"`+site.URL+`/fox"}`),
		agenttest.Say("Red [citation:Fox](" + site.URL + "/fox), not [citation:Elsewhere](https://else.example/)."),
	}})
	w.extra = community.New(community.Config{Settings: func() community.Settings {
		return community.Settings{Fallback: true, SearXNG: site.URL,
			Private: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")},
			Ports:   []int{site.Listener.Addr().(*net.TCPAddr).Port},
			Search:  community.Choice{Provider: "tavily", Key: "k", Base: site.URL + "/tavily"}}
	}}).Tools()
	w.begin("t1", "Foxes?")
	w.settle("t1")
	page := w.page("/workspace/chats/t1")
	webtest.Holds(t, "the page", strings.Join(strings.Fields(page), " "),
		`<li value="2">`, `<li class="nn">`, "Used 1 source · 1 cited page not opened", "· not opened", "</span> owls.example<",
		`aria-hidden="true">O</span>`)
	var steps []string
	for _, part := range strings.Split(page, `hx-get="/ui/threads/t1/steps/`)[1:] {
		name, _, _ := strings.Cut(part, `"`)
		if !strings.Contains(name, "?") {
			steps = append(steps, name)
		}
	}
	if len(steps) != 2 {
		t.Fatalf("steps %q", steps)
	}
	for i, want := range [][]string{
		{`href="https://owls.example/"`, "Owls only", "About &lt;b&gt;owls&lt;/b&gt;.", "tavily: the quota of the plan is used up (HTTP 402)", "Service: searxng", `rel="noopener noreferrer"`},
		{"A <strong>fox</strong>", "Read 20", "127.0.0.1"},
	} {
		body := w.page("/ui/threads/t1/steps/" + steps[i])
		webtest.Holds(t, fmt.Sprintf("step %d", i), body, want...)
		webtest.Holds(t, fmt.Sprintf("step %d has", i), body, "!<script>alert", "!<img", "!<i>only", "!Service: direct")
	}
	md := w.page("/ui/threads/t1/export.md")
	webtest.Holds(t, "the export", md, "2. [Fox](<"+site.URL+"/fox>)\n- [Elsewhere](<https://else.example/>) (not opened)\n")
}
