package web_test

import (
	"bufio"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"testing"

	nethtml "golang.org/x/net/html"

	"fawn/agent/agenttest/must"
	"fawn/agent/skills/bundled"
	"fawn/web"
	"fawn/web/e2e/scriptmodel"
)

// crawler reads everything a browser would, below a base, and reports each address of the
// server that is not below it.
type crawler struct {
	*server
	base  string
	roots map[string]bool // first parts of the paths of routes
	seen  map[string]bool
	next  []string
}

func newCrawler(s *server, base string) *crawler {
	c := &crawler{server: s, base: base, roots: map[string]bool{}, seen: map[string]bool{}}
	for _, r := range s.app.Route() {
		root, _, _ := strings.Cut(strings.TrimPrefix(r.Path, "/"), "/")
		if root != "" && root[0] != ':' && root[0] != '*' {
			c.roots[root] = true
		}
	}
	return c
}

// address looks at a value that names an address, and remembers it for a visit.
func (c *crawler) address(t *testing.T, where, what, value string) {
	if !strings.HasPrefix(value, "/") {
		return
	}
	if value != c.base && !strings.HasPrefix(value, c.base+"/") {
		t.Errorf("%s: %s is %q, which is not below %s", where, what, value, c.base)
		return
	}
	path, _, _ := strings.Cut(value, "#")
	if !c.seen[path] {
		c.seen[path] = true
		c.next = append(c.next, path)
	}
}

// texts are attributes whose values are no addresses, whatever they look like.
var texts = []string{"value", "title", "alt", "aria-label", "placeholder", "content", "data-text", "data-cmd", "id"}

func (c *crawler) html(t *testing.T, where, body string) {
	for z := nethtml.NewTokenizer(strings.NewReader(body)); ; {
		kind := z.Next()
		if kind == nethtml.ErrorToken {
			return
		}
		tag := z.Token()
		for _, a := range tag.Attr {
			root, rest, _ := strings.Cut(strings.TrimPrefix(a.Val, "/"), "/")
			ours := strings.HasPrefix(a.Val, c.base+"/") ||
				c.roots[root] && (rest != "" || !strings.HasPrefix(a.Key, "data-"))
			link := slices.Contains([]string{"href", "src", "action", "formaction", "poster", "srcset"}, a.Key) ||
				strings.HasPrefix(a.Key, "hx-")
			switch {
			case a.Key == "action" || a.Key == "formaction" || a.Key == "hx-post":
				if strings.HasPrefix(a.Val, "/") && !strings.HasPrefix(a.Val, c.base+"/") {
					t.Errorf("%s: %s of %s is %q", where, a.Key, tag.Data, a.Val)
				}
			case link || ours && !slices.Contains(texts, a.Key):
				c.address(t, where, a.Key+" of "+tag.Data, a.Val)
			case strings.Contains(a.Val, "url("):
				t.Errorf("%s: %s of %s is %q", where, a.Key, tag.Data, a.Val)
			}
		}
	}
}

// frame looks at the strings of the JSON that the page's script gets.
func (c *crawler) frame(t *testing.T, where, body string) {
	var v any
	if err := json.Unmarshal([]byte(body), &v); err != nil {
		t.Errorf("%s: %v in %s", where, err, body)
		return
	}
	var walk func(name string, v any)
	walk = func(name string, v any) {
		switch v := v.(type) {
		case map[string]any:
			for k, one := range v {
				walk(k, one)
			}
		case []any:
			for _, one := range v {
				walk(name, one)
			}
		case string:
			if name == "location" {
				c.address(t, where, name, v)
			}
			c.html(t, where, v)
		}
	}
	walk("", v)
}

func (c *crawler) answered(t *testing.T, path string, a answer) {
	where := path
	for _, name := range []string{"Location", "Content-Location", "Hx-Redirect", "Hx-Push-Url"} {
		c.address(t, where, name, a.header.Get(name))
	}
	for _, cookie := range a.header["Set-Cookie"] {
		if !strings.Contains(cookie, "Path="+c.base+";") && !strings.HasSuffix(cookie, "Path="+c.base) {
			t.Errorf("%s: the cookie %q is not of %s", where, cookie, c.base)
		}
	}
	switch kind := a.header.Get("Content-Type"); {
	case strings.HasPrefix(kind, "text/html"):
		c.html(t, where, a.body)
	case strings.HasPrefix(kind, "text/css"):
		for _, m := range regexp.MustCompile(`url\(["']?(/[^"')]*)`).FindAllStringSubmatch(a.body, -1) {
			c.address(t, where, "url()", m[1])
		}
	case strings.HasPrefix(kind, "application/json") && strings.HasPrefix(path, c.base+"/ui/") &&
		a.header.Get("Content-Disposition") == "": // else it is what somebody wrote
		c.frame(t, where, a.body)
	}
}

// all visits what is known, and what is found on the way.
func (c *crawler) all(t *testing.T) {
	for len(c.next) > 0 {
		path := c.next[0]
		c.next = c.next[1:]
		for _, headers := range [][]string{{"Accept", "text/html"}, {"X-Fawn", "1", "Accept", "application/json"}} {
			if strings.HasSuffix(strings.Split(path, "?")[0], "/stream") ||
				strings.Contains(path, "/assets/") && len(headers) > 2 {
				continue
			}
			a := c.send(t, "GET", path, "", headers...)
			// what only a server with accounts, a chat with a browser and a configuration with a model for speech have
			without := strings.Contains(path, "/ui/login/") || strings.HasSuffix(path, "/browser/live") || strings.HasSuffix(path, "/speech")
			if a.status >= 500 || a.status == http.StatusNotFound && !without { // some are for POST
				t.Errorf("GET %s: %d %.200s", path, a.status, a.body)
			}
			c.answered(t, path, a)
		}
	}
}

// follow reads the stream of a page to its end, and tells saw of the data of each event, at first of none. It returns
// the events by their kinds.
func (c *crawler) follow(t *testing.T, page string, saw func(data string)) map[string]int {
	t.Helper()
	body := c.send(t, "GET", page, "", "Accept", "text/html").body
	c.html(t, page, body)
	at := regexp.MustCompile(`data-stream="([^"]*)"`).FindStringSubmatch(body)
	cursor := regexp.MustCompile(`data-cursor="([^"]*)"`).FindStringSubmatch(body)
	if at == nil || cursor == nil {
		t.Fatalf("no stream on %s", page)
	}
	res, err := c.request(t.Context(), "GET", at[1]+"?v="+url.QueryEscape(cursor[1]), nil)
	must.Do(t, err)
	defer res.Body.Close()
	saw("")
	kinds, kind := map[string]int{}, ""
	lines := bufio.NewScanner(res.Body)
	lines.Buffer(nil, 16<<20)
	for lines.Scan() {
		if k, ok := strings.CutPrefix(lines.Text(), "event: "); ok {
			kind = k
		}
		if data, ok := strings.CutPrefix(lines.Text(), "data: "); ok {
			kinds[kind]++
			if strings.Contains(data, `href=\"/`) || strings.Contains(data, `src=\"/`) {
				kinds[kind+" with address"]++
			}
			c.frame(t, "event "+kind+" of "+page, data)
			saw(data)
		}
	}
	return kinds
}

// TestEverythingStandsBelowTheBasePath walks every page, fragment and stream there is.
func TestEverythingStandsBelowTheBasePath(t *testing.T) {
	t.Parallel()
	const base = "/a/b-1"
	model := scriptmodel.Start(t)
	s := start(t, fmt.Sprintf("server: {base_path: %s/}\nagents_api: {enabled: true}\ntitle: {model_name: offline}\n"+
		"memory: {model_name: offline}\nmodels: [{name: script, use: openai, model: script, base_url: %q, api_key: test}]\n",
		base, model.URL+"/v1"), func(o *web.Options) { o.Skills = bundled.Files() })
	if want := s.url + base; s.app.URL() != want {
		t.Errorf("the address to open is %s, want %s", s.app.URL(), want)
	}
	c := newCrawler(s, base)

	const answerText = "See [the report](/mnt/user-data/outputs/report.md) and ![it](/mnt/user-data/outputs/p.svg).\n\n" +
		"```mermaid\ngraph TD; a-->b\n```\n\n| a | b |\n|---|---|\n| 1 | `x` |\n\n```html\n<a href=\"/workspace\">no</a>\n```\n"
	file := func(name, text string) scriptmodel.Call {
		args, err := json.Marshal(map[string]string{"path": "/mnt/user-data/outputs/" + name, "content": text,
			"description": "d"})
		must.Do(t, err)
		return scriptmodel.Call{Name: "write_file", Args: args}
	}
	script, err := json.Marshal(scriptmodel.Script{Turns: []scriptmodel.Turn{
		{Text: "I begin.", Gate: "go", Tokens: 1, ToolCalls: []scriptmodel.Call{file("report.md", "# Hi\n\n![p](p.svg) [again](report.md)"),
			file("p.svg", `<svg xmlns="http://www.w3.org/2000/svg"/>`), file("t.csv", "a,b\n1,2\n")}},
		{ToolCalls: []scriptmodel.Call{{Name: "present_files", Args: json.RawMessage(
			`{"filepaths": ["/mnt/user-data/outputs/report.md", "/mnt/user-data/outputs/p.svg", "/mnt/user-data/outputs/t.csv"]}`)}}},
		{Text: "Behold. ", Gate: "shown", Rest: answerText, Rate: 40, Chunk: 2}}}) // in pieces, so that it is patched
	must.Do(t, err)
	form := func(path string, v url.Values, headers ...string) answer {
		a := s.send(t, "POST", base+path, v.Encode(),
			append(headers, "Content-Type", "application/x-www-form-urlencoded")...)
		if a.status >= 400 {
			t.Fatalf("POST %s: %d %s", path, a.status, a.body)
		}
		c.answered(t, base+path, a)
		return a
	}

	said := form("/ui/threads", url.Values{"text": {"SCRIPT" + string(script)}}, "X-Fawn", "1", "Accept",
		"application/json")
	thread := decoded[struct{ Location string }](t, said).Location
	if !strings.HasPrefix(thread, base+"/workspace/chats/") {
		t.Fatalf("the new chat is at %q", thread)
	}
	id := strings.TrimPrefix(thread, base+"/workspace/chats/")
	kinds := c.follow(t, thread, func(data string) {
		model.Open("go")
		if strings.Contains(data, "Behold") {
			model.Open("shown")
		}
	})
	if kinds["html with address"] == 0 || kinds["md with address"] == 0 || kinds["done"] != 1 {
		t.Errorf("the stream didn't show what it should: %v", kinds)
	}

	form("/ui/prefs", url.Values{"theme": {"dark"}, "next": {"/workspace/settings/appearance"}})
	form("/ui/threads/"+id+"/share", nil)
	form("/ui/agents", url.Values{"name": {"scout"}, "description": {"Looks around"}, "text": {"You look around."}})
	form("/ui/tasks", url.Values{"title": {"daily"}, "prompt": {"hello"}, "every": {"day"}, "at": {"08:00"}})
	form("/ui/threads/"+id+"/rename", url.Values{"title": {"New name"}})
	a := s.send(t, "POST", base+"/ui/threads/"+id+"/rename", "title=Again", "Content-Type",
		"application/x-www-form-urlencoded", "Referer", s.url+base+"/workspace/chats?q=x", "Sec-Fetch-Site",
		"same-origin")
	if got := a.header.Get("Location"); a.status != http.StatusSeeOther || got != base+"/workspace/chats?q=x" {
		t.Errorf("after a rename in a list one is led to %d %q", a.status, got)
	}

	for _, r := range s.app.Route() { // pages that nothing leads to, or only the script
		if r.Method == http.MethodGet && !strings.ContainsAny(r.Path, ":*") &&
			(strings.HasPrefix(r.Path, "/ui/") || strings.HasPrefix(r.Path, "/workspace") || r.Path == "/" ||
				r.Path == "/docs") {
			c.address(t, "the list of routes", r.Path, base+r.Path)
		}
		if p := strings.Replace(r.Path, ":id", id, 1); r.Method == http.MethodGet && p != r.Path &&
			strings.HasPrefix(p, "/ui/threads/") && !strings.ContainsAny(p, ":*") {
			c.address(t, "the list of routes", r.Path, base+p)
		}
	}
	c.all(t)
	for _, must := range []string{"/files/mnt/user-data/outputs/report.md", "/view/mnt/user-data/outputs/p.svg",
		"/share/", "/ui/diagram", "/workspace/agents/scout", "/assets/", "/openapi.json", "/workspace/skills/",
		"/fonts/"} {
		if !slices.ContainsFunc(slices.Collect(maps.Keys(c.seen)), func(p string) bool {
			return strings.Contains(p, must)
		}) {
			t.Errorf("the walk never came to %s", must)
		}
	}
	t.Logf("%d addresses", len(c.seen))
}

func TestTheAPIBelowABasePath(t *testing.T) {
	t.Parallel()
	s := start(t, scripted(t), func(o *web.Options) { o.Base = "/x" })
	id := decoded[struct {
		ID string `json:"thread_id"`
	}](t, s.send(t, "POST", "/x/threads", "{}")).ID
	a := s.send(t, "POST", "/x/threads/"+id+"/runs/stream", human("echo 3 tokens at 0 tok/s"))
	if at := a.header.Get("Content-Location"); !strings.HasPrefix(at, "/x/threads/"+id+"/runs/") {
		t.Errorf("Content-Location is %q", at)
	}
	// SDKs put their own base in front of this one.
	if at := a.header.Get("Location"); !strings.HasPrefix(at, "/threads/"+id+"/runs/") {
		t.Errorf("Location is %q", at)
	}
	if url := cardAddressAt(t, s, "/x"); !strings.HasPrefix(url, s.url+"/x/a2a/") {
		t.Errorf("the agent card names %s", url)
	}
	doc := decoded[struct{ Servers []struct{ URL string } }](t, s.send(t, "GET", "/x/openapi.json", ""))
	if len(doc.Servers) != 3 || doc.Servers[0].URL != "/x/" || doc.Servers[1].URL != "/x/api/langgraph" {
		t.Errorf("the servers are %v", doc.Servers)
	}
	// A proxy may take the base path away.
	s.send(t, "GET", "/workspace/chats/new", "", "Accept", "text/html").want(t, "without the path", 200, `href="/x/workspace/chats"`)
	for _, path := range []string{"/xy/ok", "/x/x/ok"} {
		s.send(t, "GET", path, "").want(t, path, http.StatusNotFound)
	}
	if a := s.send(t, "GET", "/x", "", "Accept", "text/html"); a.header.Get("Location") != "/x/workspace" &&
		a.header.Get("Location") != "/x/workspace/chats/new" {
		t.Errorf("the root leads to %q", a.header.Get("Location"))
	}
	s.send(t, "GET", "/%78/threads/%2e%2e%2fa/state", "").want(t, "a path that is written in escapes", http.StatusNotFound)
}

func TestAProxySaysBelowWhichPath(t *testing.T) {
	t.Parallel()
	s := start(t, "server: {trusted_proxies: [loopback]}\n")
	a := s.send(t, "GET", "/workspace/chats/new", "", "Accept", "text/html", "X-Forwarded-Prefix", "/far/away")
	a.holds(t, "the page doesn't stand below the prefix", `href="/far/away/workspace/chats"`, `!href="/workspace`)
	a = s.send(t, "GET", "/workspace/chats/new", "", "Accept", "text/html")
	a.holds(t, "without the header", `href="/workspace/chats"`)
}
