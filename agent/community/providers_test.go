package community_test

import (
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"fawn/agent/community"
)

// wire is what a service is asked and what it answers.
type wire struct {
	header, auth string // the header with the key, and its value
	want         []string
	answer       string
	empty        string
}

const duckPage = `<!DOCTYPE html><html><body><div id="links" class="results">
<div class="result results_links results_links_deep result--ad"><h2 class="result__title"><a class="result__a" href="https://duckduckgo.com/y.js?ad_domain=x">Buy</a></h2></div>
<div class="result results_links results_links_deep web-result "><div class="links_main links_deep result__body">
<h2 class="result__title"><a rel="nofollow" class="result__a" href="//duckduckgo.com/l/?uddg=https%3A%2F%2Fa.example%2Fone%3Fx%3D1&amp;rut=ab">One &amp; <b>only</b></a></h2>
<a class="result__snippet" href="//duckduckgo.com/l/?uddg=https%3A%2F%2Fa.example%2Fone">The <b>first</b> page.</a></div></div>
<div class="result results_links web-result"><h2 class="result__title"><a class="result__a" href="https://b.example/two">Two</a></h2>
<a class="result__snippet">Second.</a></div></div></body></html>`

// wires are the forms in which services speak, with data of our own.
func wires() map[string]wire {
	const hits = "1 One & only https://a.example/one?x=1 The first page.\n2 Two https://b.example/two Second."
	_ = hits
	return map[string]wire{
		"tavily": {header: "Authorization", auth: "Bearer " + canary,
			want:   []string{"POST /search ", `"query":"heat pumps"`, `"max_results":2`},
			answer: `{"query":"heat pumps","images":[],"results":[{"title":"One & only","url":"https://a.example/one?x=1","content":"The first page.","score":0.9,"raw_content":null},{"title":"Two","url":"https://b.example/two","content":"Second.","score":0.5}],"response_time":1.2}`,
			empty:  `{"results":[]}`},
		"brave": {header: "X-Subscription-Token", auth: canary,
			want:   []string{"GET /web/search?", "q=heat+pumps", "count=2"},
			answer: `{"type":"search","web":{"type":"search","results":[{"title":"One &amp; only","url":"https://a.example/one?x=1","description":"The <strong>first</strong> page.","age":"2 days ago"},{"title":"Two","url":"https://b.example/two","description":"Second."}]}}`,
			empty:  `{"type":"search"}`},
		"serper": {header: "X-API-KEY", auth: canary, want: []string{"POST /search ", `"q":"heat pumps"`, `"num":2`},
			answer: `{"searchParameters":{"q":"heat pumps"},"organic":[{"title":"One & only","link":"https://a.example/one?x=1","snippet":"The first page.","position":1},{"title":"Two","link":"https://b.example/two","snippet":"Second.","position":2}],"credits":1}`,
			empty:  `{"organic":[]}`},
		"exa": {header: "x-api-key", auth: canary,
			want:   []string{"POST /search ", `"query":"heat pumps"`, `"numResults":2`},
			answer: `{"requestId":"r","results":[{"id":"https://a.example/one","title":"One & only","url":"https://a.example/one?x=1","publishedDate":"2026-01-01","text":"The first page."},{"title":"Two","url":"https://b.example/two","highlights":["Second."]}]}`,
			empty:  `{"results":[]}`},
		"firecrawl": {header: "Authorization", auth: "Bearer " + canary,
			want:   []string{"POST /v1/search ", `"query":"heat pumps"`, `"limit":2`},
			answer: `{"success":true,"data":{"web":[{"title":"One & only","description":"The first page.","url":"https://a.example/one?x=1"},{"title":"Two","description":"Second.","url":"https://b.example/two"}]}}`,
			empty:  `{"success":true,"data":[]}`},
		"infoquest": {header: "Authorization", auth: "Bearer " + canary,
			want:   []string{"POST / ", `"query":"heat pumps"`, `"format":"JSON"`},
			answer: `{"search_result":{"results":[{"content":{"results":{"organic":[{"pos":1,"title":"One & only","url":"https://a.example/one?x=1","desc":"The first page."}],"top_stories":{"items":[{"title":"Two","url":"https://b.example/two","desc":"Second."}]}}}}]}}`,
			empty:  `{"search_result":{"results":[]}}`},
		"searxng": {want: []string{"GET /search?", "q=heat+pumps", "format=json", "categories=general"},
			answer: `{"query":"heat pumps","number_of_results":0,"results":[{"url":"https://a.example/one?x=1","title":"One & only","content":"The first page.","engine":"x","score":1.0,"category":"general"},{"url":"https://b.example/two","title":"Two","content":"Second."}],"answers":[],"unresponsive_engines":[["y","timeout"]]}`,
			empty:  `{"results":[],"unresponsive_engines":[["y","captcha"]]}`},
		"duckduckgo": {want: []string{"POST /html/ ", "q=heat+pumps"}, answer: duckPage,
			empty: `<html><body><div class="no-results">No results.</div></body></html>`},
		"mojeek": {want: []string{"GET /search?", "q=heat+pumps"}, answer: mojeekPage,
			empty: `<html><body><form action="/search"><input name="q"></form><p>No pages found matching: nothing</p></body></html>`},
	}
}

const mojeekPage = `<html><body><form action="/search"><input name="q"></form><ul class="results-standard">
<li class="r1"><a class="ob" href="https://a.example/one?x=1"><span>a.example</span></a><h2><a class="title" href="https://a.example/one?x=1">One &amp; <strong>only</strong></a></h2><p class="s">The <strong>first</strong> page.</p></li>
<li class="r2"><a class="ob" href="https://b.example/two"></a><h2><a class="title" href="https://b.example/two">Two</a></h2><p class="i">2 days ago</p><p class="s">Second.</p></li>
</ul></body></html>`

// TestACaptchaLeadsToTheNextServiceWithoutAKey: with no key at all, the page of DuckDuckGo asks for a captcha, and the
// model is told who answered in its place, and why.
func TestACaptchaLeadsToTheNextServiceWithoutAKey(t *testing.T) {
	for name, c := range map[string]struct {
		mojeek string
		by     string
		notes  []string
	}{
		"the next one": {mojeekPage, "mojeek", []string{"duckduckgo: asks for a captcha (HTTP 202)"}},
		"the last one": {`<html>captcha</html>`, "wikipedia", []string{"duckduckgo: asks for a captcha (HTTP 202)", "mojeek: asks for a captcha"}},
	} {
		t.Run(name, func(t *testing.T) {
			s := serve(t, func(rw http.ResponseWriter, r *http.Request, _ string) {
				switch {
				case r.URL.Path == "/html/":
					rw.WriteHeader(http.StatusAccepted)
					fmt.Fprint(rw, `<html><div class="anomaly-modal__title">Unfortunately, bots use DuckDuckGo too.</div></html>`)
				case r.URL.Path == "/search":
					fmt.Fprint(rw, c.mojeek)
				case r.URL.Path == "/w/api.php" && r.URL.Query().Get("srsearch") == "heat pumps":
					fmt.Fprint(rw, `{"batchcomplete":"","query":{"searchinfo":{"totalhits":2},"search":[{"ns":0,"title":"Heat pump","pageid":1,"snippet":"A <span class=\"searchmatch\">heat pump</span> moves heat."}]}}`)
				default:
					t.Errorf("asked %s", r.URL)
				}
			})
			w := newWorld(t, func(c *community.Config) { c.Base = func(string) string { return s.URL } })
			r := w.call(community.WebSearch, `{"query":"heat pumps"}`)
			a := community.ReadArtifact(r.Artifact)
			if r.IsError || a == nil || a.Provider != c.by || !slices.Equal(a.Notes, c.notes) {
				t.Errorf("%s\n%s", r.Content, r.Artifact)
			}
			for _, note := range c.notes {
				if !strings.Contains(r.Content.String(), note) {
					t.Errorf("the model isn't told %q: %s", note, r.Content)
				}
			}
			if c.by == "wikipedia" && !strings.Contains(r.Content.String(), s.URL+"/wiki/Heat_pump") {
				t.Errorf("found %s", r.Content)
			}
		})
	}
}

// chosen makes one service the only one that is asked.
func chosen(w *world, tool, name, base string) {
	c := community.Choice{Provider: name, Base: base}
	if wires()[name].header != "" || name == "jina" {
		c.Key = canary
	}
	w.set.Fallback = false
	switch tool {
	case community.WebSearch:
		w.set.Search = c
	case community.WebFetch:
		w.set.Fetch = c
	case community.ImageSearch:
		w.set.Images = c
	}
}

func TestEachServiceSpeaksItsOwnForm(t *testing.T) {
	for name, one := range wires() {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, nil)
			s := serve(t, func(rw http.ResponseWriter, r *http.Request, _ string) {
				if one.header != "" && r.Header.Get(one.header) != one.auth {
					t.Errorf("header %s: %q", one.header, r.Header.Get(one.header))
				}
				fmt.Fprint(rw, one.answer)
			})
			chosen(w, community.WebSearch, name, s.URL)
			r := w.call(community.WebSearch, `{"query":"heat  pumps","max_results":2}`)
			want := "1 One & only https://a.example/one?x=1 The first page.\n2 Two https://b.example/two Second."
			if got := found(t, r); r.IsError || got != want {
				t.Errorf("found\n%s\nwant\n%s", got, want)
			}
			for _, part := range one.want {
				if got := s.asked()[0]; !strings.Contains(got, part) {
					t.Errorf("asked %s, want %s in it", got, part)
				}
			}
			if a := community.ReadArtifact(r.Artifact); a == nil || a.Provider != name || len(a.Sources) != 2 ||
				a.Sources[1] != (community.Source{Number: 2, Title: "Two", URL: "https://b.example/two"}) {
				t.Errorf("artifact %s", r.Artifact)
			}
		})
	}
}

// TestEachFailureHasItsName: what a service says of itself is told in our words, and its body,
// which may repeat the key, never is.
func TestEachFailureHasItsName(t *testing.T) {
	echo := `{"error":"` + canary + `","detail":{"error":"` + canary + `"}}`
	usual := map[string]struct {
		status int
		body   string
		want   string
	}{
		"rate":      {429, echo, "rate limit reached (HTTP 429)"},
		"broken":    {503, echo, "temporarily unavailable (HTTP 503)"},
		"gateway":   {504, echo, "timed out (HTTP 504)"},
		"bad":       {400, echo, "the request was rejected (HTTP 400)"},
		"malformed": {200, "<<" + canary, "the answer can't be read"},
		"redirect":  {302, "", "the address isn't allowed"},
	}
	own := map[string]map[string]struct {
		status int
		body   string
		want   string
	}{
		"tavily":     {"key": {401, `{"detail":{"error":"Unauthorized: missing or invalid API key."}}`, "invalid API key, or no API key (HTTP 401)"}, "plan": {432, echo, "the quota of the plan is used up (HTTP 432)"}, "paid": {433, echo, "the quota of the plan is used up (HTTP 433)"}},
		"brave":      {"key": {422, `{"type":"ErrorResponse","error":{"code":"SUBSCRIPTION_TOKEN_INVALID","status":422}}`, "invalid API key, or no API key (HTTP 422)"}, "plan": {429, `{"error":{"code":"QUOTA_LIMITED"}}`, "the quota of the plan is used up (HTTP 429)"}},
		"serper":     {"key": {403, `{"message":"Unauthorized.","statusCode":403}`, "invalid API key, or no API key (HTTP 403)"}, "plan": {400, `{"message":"Not enough credits","statusCode":400}`, "the quota of the plan is used up (HTTP 400)"}},
		"exa":        {"key": {401, echo, "invalid API key, or no API key (HTTP 401)"}, "plan": {402, echo, "the quota of the plan is used up (HTTP 402)"}},
		"firecrawl":  {"key": {401, `{"success":false,"error":"Unauthorized: Invalid token"}`, "invalid API key, or no API key (HTTP 401)"}, "plan": {402, echo, "the quota of the plan is used up (HTTP 402)"}},
		"infoquest":  {"key": {401, echo, "invalid API key, or no API key (HTTP 401)"}, "form": {200, `{"content":"` + canary + `"}`, "the answer can't be read"}},
		"searxng":    {"no json": {403, "Forbidden", "the request was rejected: add json to search.formats in its settings.yml (HTTP 403)"}},
		"duckduckgo": {"captcha": {202, `<html><div class="anomaly-modal__title">Unfortunately, bots use DuckDuckGo too.</div></html>`, "asks for a captcha (HTTP 202)"}, "forbidden": {403, "", "asks for a captcha (HTTP 403)"}},
	}
	for name, one := range wires() {
		cases := map[string]struct {
			status int
			body   string
			want   string
		}{"empty": {200, one.empty, "no results found"}}
		for k, c := range usual {
			cases[k] = c
		}
		for k, c := range own[name] {
			cases[k] = c
		}
		for kind, c := range cases {
			t.Run(name+"/"+kind, func(t *testing.T) {
				w := newWorld(t, nil)
				s := serve(t, func(rw http.ResponseWriter, _ *http.Request, _ string) {
					if c.status == 302 {
						rw.Header().Set("Location", "http://127.0.0.1:1/"+canary)
					}
					rw.WriteHeader(c.status)
					fmt.Fprint(rw, c.body)
				})
				chosen(w, community.WebSearch, name, s.URL)
				r := w.call(community.WebSearch, `{"query":"q"}`)
				got := r.Content.String()
				if !strings.Contains(got, name+": "+c.want) || r.IsError == (kind == "empty") {
					t.Errorf("error %v: %s\nwant %s", r.IsError, got, c.want)
				}
				if kind == "empty" && !strings.Contains(got, `"error":"No results found"`) {
					t.Errorf("nothing found: %s", got)
				}
				if kind == "redirect" && len(s.asked()) != 1 {
					t.Errorf("a redirect was followed: %v", s.asked())
				}
			})
		}
	}
}

func TestAServiceThatHangsOrIsGone(t *testing.T) {
	hang := make(chan struct{})
	s := serve(t, func(_ http.ResponseWriter, r *http.Request, _ string) {
		select {
		case <-hang:
		case <-r.Context().Done():
		}
	})
	t.Cleanup(func() { close(hang) })
	w := newWorld(t, nil)
	chosen(w, community.WebSearch, "tavily", s.URL)
	w.set.Search.Time = time.Millisecond
	got := w.call(community.WebSearch, `{"query":"q"}`).Content.String()
	if !strings.Contains(got, "tavily: timed out") {
		t.Errorf("hanging: %s", got)
	}
	// No program asks for this port, and the system gives it to none.
	chosen(w, community.WebSearch, "brave", "http://127.0.0.1:1")
	if got := w.call(community.WebSearch,
		`{"query":"q"}`).Content.String(); !strings.Contains(got,
		"brave: temporarily unavailable: the connection failed") {
		t.Errorf("gone: %s", got)
	}
	chosen(w, community.WebSearch, "exa", "")
	w.set.Search.Key = ""
	if got := w.call(community.WebSearch,
		`{"query":"q"}`).Content.String(); !strings.Contains(got,
		"exa: invalid API key, or no API key: set EXA_API_KEY") {
		t.Errorf("without a key: %s", got)
	}
}

// TestTheNextServiceIsAskedAndTheReasonTold: to the model and to the person.
func TestTheNextServiceIsAskedAndTheReasonTold(t *testing.T) {
	w := newWorld(t, nil)
	first := serve(t, func(rw http.ResponseWriter, _ *http.Request, _ string) { rw.WriteHeader(432) })
	next := serve(t, func(rw http.ResponseWriter, _ *http.Request, _ string) {
		fmt.Fprint(rw, wires()["searxng"].answer)
	})
	chosen(w, community.WebSearch, "tavily", first.URL)
	w.set.Fallback, w.set.SearXNG = true, next.URL
	r := w.call(community.WebSearch, `{"query":"q"}`)
	const note = "tavily: the quota of the plan is used up (HTTP 432)"
	a := community.ReadArtifact(r.Artifact)
	if r.IsError || !strings.Contains(r.Content.String(), note) || a.Provider != "searxng" || len(a.Notes) != 1 ||
		a.Notes[0] != note {
		t.Errorf("%s\n%s", r.Content, r.Artifact)
	}
}

func TestImages(t *testing.T) {
	const want = "A fox https://img.example/a.jpg https://img.example/t.jpg"
	for name, answer := range map[string]string{
		"brave":      `{"results":[{"title":"A fox","url":"https://p.example/","thumbnail":{"src":"https://img.example/t.jpg"},"properties":{"url":"https://img.example/a.jpg"}},{"title":"bad","properties":{"url":"javascript:alert(1)"}}]}`,
		"serper":     `{"images":[{"title":"A fox","imageUrl":"https://img.example/a.jpg","thumbnailUrl":"https://img.example/t.jpg","link":"https://p.example/"}]}`,
		"searxng":    `{"results":[{"title":"A fox","url":"https://p.example/","img_src":"https://img.example/a.jpg","thumbnail_src":"https://img.example/t.jpg"}]}`,
		"duckduckgo": `{"results":[{"title":"A fox","image":"https://img.example/a.jpg","thumbnail":"https://img.example/t.jpg","url":"https://p.example/","height":1,"width":1}]}`,
	} {
		w := newWorld(t, nil)
		s := serve(t, func(rw http.ResponseWriter, r *http.Request, _ string) {
			if r.URL.Path == "/" {
				fmt.Fprint(rw, `<script>vqd="4-1234567890123";</script>`)
				return
			}
			if name == "duckduckgo" && (r.URL.Query().Get("vqd") != "4-1234567890123" ||
				r.URL.Query().Get("f") != ",size:Large,,,layout:Wide,") {
				t.Errorf("asked %s", r.URL)
			}
			fmt.Fprint(rw, answer)
		})
		chosen(w, community.ImageSearch, name, s.URL)
		r := w.call(community.ImageSearch, `{"query":"fox","size":"Large","layout":"Wide"}`)
		if got := found(t, r); got != want {
			t.Errorf("%s: %s", name, r.Content)
		}
	}
}

// TestResultsAreTidy: only addresses of the web, each once, plain text, and never so long that the
// answer becomes a file.
func TestResultsAreTidy(t *testing.T) {
	var list []string
	for _, u := range []string{"javascript:alert(1)", "ftp://a.example/", "https://user:pw@a.example/", "/relative",
		"https://a.example/" + strings.Repeat("x", 2000), "https://a.example/p#one", "https://a.example/p#two",
		"https://a.example/p/"} {
		list = append(list, fmt.Sprintf(`{"title":"<b>A</b>\n\u001b[31m<system>x</system>","url":%q,"content":%q}`, u,
			strings.Repeat("word ", 900)))
	}
	for i := range 30 {
		list = append(list, fmt.Sprintf(`{"title":"T","url":"https://b.example/%d","content":%q}`, i,
			strings.Repeat("word ", 900)))
	}
	w := newWorld(t, nil)
	s := serve(t, func(rw http.ResponseWriter, _ *http.Request, _ string) {
		fmt.Fprint(rw, `{"results":[`+strings.Join(list, ",")+`]}`)
	})
	chosen(w, community.WebSearch, "tavily", s.URL)
	r := w.call(community.WebSearch, `{"query":"q","max_results":500}`)
	got := r.Content.String()
	if len(got) > 12_000 || strings.Count(got, `"url"`) > 10 || strings.Contains(got, "javascript") ||
		strings.Contains(got, "user:pw") || strings.Contains(got, "\x1b") || strings.Count(got, "a.example/p") != 1 ||
		strings.Contains(got, "<b>") {
		t.Errorf("%d characters: %.600s", len(got), got)
	}
}

// TestAPageKeepsItsNumber: in later searches, when it is read, after a restart, and beside other
// calls.
func TestAPageKeepsItsNumber(t *testing.T) {
	answer := `{"results":[{"title":"A","url":"https://a.example/","content":"a"},{"title":"B","url":"https://b.example/","content":"b"}]}`
	s := serve(t, func(rw http.ResponseWriter, _ *http.Request, _ string) { fmt.Fprint(rw, answer) })
	w := newWorld(t, nil)
	chosen(w, community.WebSearch, "tavily", s.URL)
	w.remember(community.WebSearch, w.call(community.WebSearch, `{"query":"q"}`))
	answer = `{"results":[{"title":"C","url":"https://c.example/","content":"c"},{"title":"B","url":"https://b.example","content":"b"}]}`
	want := "3 C https://c.example/ c\n2 B https://b.example b"
	if got := found(t, w.call(community.WebSearch, `{"query":"q"}`)); got != want { // not stored yet
		t.Errorf("later:\n%s", got)
	}
	other := newWorld(t, nil)
	other.turn = w.turn
	chosen(other, community.WebSearch, "tavily", s.URL)
	if got := found(t, other.call(community.WebSearch, `{"query":"q"}`)); got != want {
		t.Errorf("after a restart:\n%s", got)
	}
	helped := newWorld(t, nil)
	chosen(helped, community.WebSearch, "tavily", s.URL)
	helped.turn.ThreadID, helped.turn.NS = w.turn.ThreadID, "tools:c1"
	whole := answer
	answer = `{"results":[{"title":"B","url":"https://b.example","content":"b"}]}`
	helped.call(community.WebSearch, `{"query":"q"}`) // it does not know the thread's results
	helped.turn.NS, helped.turn.State = "", w.turn.State
	got := found(t, helped.call(community.WebSearch, `{"query":"q"}`))
	if !strings.HasSuffix(got, "2 B https://b.example b") {
		t.Errorf("after a helper:\n%s", got)
	}
	answer = whole
	w.s.Forget(w.turn.ThreadID)
	w.turn.State.Messages = nil
	if got := found(t,
		w.call(community.WebSearch, `{"query":"q"}`)); got != "1 C https://c.example/ c\n2 B https://b.example b" {
		t.Errorf("in a new thread of that name:\n%s", got)
	}
}

func TestClassPaths(t *testing.T) {
	for in, want := range map[string]string{
		"web_search deerflow.community.tavily.tools:web_search_tool": "tavily",
		"web_search src.community.ddg_search.tools:web_search_tool":  "duckduckgo",
		"web_search searxng": "searxng",
		"web_fetch deerflow.community.jina_ai.tools:web_fetch_tool":   "jina",
		"web_fetch deerflow.community.firecrawl.tools:web_fetch_tool": "firecrawl",
		"web_fetch direct": "",
		"image_search deerflow.community.image_search.tools:image_search_tool": "duckduckgo",
		"image_search deerflow.community.infoquest.tools:image_search_tool":    "infoquest",
		"web_search deerflow.community.jina_ai.tools:web_search_tool":          "error",
		"web_search my.own:web_search_tool":                                    "error",
	} {
		tool, use, _ := strings.Cut(in, " ")
		got, err := community.Resolve(tool, use)
		if err != nil {
			got = "error"
		}
		if got != want {
			t.Errorf("%s: %q, want %q (%v)", in, got, want, err)
		}
	}
}

// TestTheOwnerOrdersServices: those named come first, a chosen one that isn't named before them; one service is tried
// by itself.
func TestTheOwnerOrdersServices(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil)
	w.env["TAVILY_API_KEY"], w.env["BRAVE_API_KEY"], w.env["EXA_API_KEY"] = canary, canary, canary
	for want, set := range map[string]func(){
		"tavily brave exa duckduckgo mojeek wikipedia": func() {},
		"exa duckduckgo tavily brave mojeek wikipedia": func() { w.set.Order = []string{"exa", "duckduckgo", "gone"} },
		"brave exa duckduckgo tavily mojeek wikipedia": func() { w.set.Order, w.set.Search.Provider = []string{"exa", "duckduckgo"}, "brave" },
		"exa brave tavily duckduckgo mojeek wikipedia": func() { w.set.Order, w.set.Search.Provider = []string{"exa", "brave"}, "brave" },
		"exa": func() { w.set.Order, w.set.Fallback = []string{"exa"}, false },
	} {
		was := w.set
		set()
		if got := strings.Join(w.s.Asked(), " "); got != want {
			t.Errorf("%s, want %s", got, want)
		}
		w.set = was
	}
	site := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		if r.URL.Query().Get("q") == "nothing" {
			fmt.Fprint(rw, `{"results":[]}`)
			return
		}
		fmt.Fprint(rw, `{"results":[{"url":"https://owls.example/","title":"Owls","content":"x"}]}`)
	}))
	defer site.Close()
	got, err := w.s.Try(t.Context(), "searxng", "", site.URL, "owls", false)
	if err != nil || strings.Join(got.Titles, "|") != "Owls" {
		t.Errorf("%v %v", got, err)
	}
	for query, want := range map[string]community.Class{"nothing": community.Empty} {
		var p *community.Problem
		if _, err := w.s.Try(t.Context(), "searxng", "", site.URL, query, false); !errors.As(err, &p) || p.Class != want {
			t.Errorf("%s: %v", query, err)
		}
	}
	var p *community.Problem
	if _, err := w.s.Try(t.Context(), "serper", "", "", "owls", false); !errors.As(err, &p) || p.Class != community.BadKey {
		t.Error(err)
	}
}
