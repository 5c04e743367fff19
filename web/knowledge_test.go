package web_test

import (
	"fmt"
	"net/http"
	"net/http/cgi"
	"net/http/httptest"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"fawn/agent/agenttest/must"
	"fawn/web"
	"fawn/web/account"
	"fawn/web/e2e/scriptmodel"
	"fawn/web/webtest"
)

type knowledgeDocs struct {
	Documents []struct {
		ID                               int64 `json:"document_id"`
		Name, State, Reason, Text, Title string
	}
	Count int
}

type knowledgeSources struct {
	Sources []struct {
		ID             string `json:"source_id"`
		Kind, Address  string
		State, Problem string
		Total, Skipped int
	}
}

type knowledgeHits struct {
	Passages []struct {
		Cite, Name, Text, Heading, Kind string
		Document                        int64 `json:"document_id"`
		Page                            int
	}
}

// newCollection makes a collection and gives its address in the API.
func newCollection(t *testing.T, by asker, name string) string {
	t.Helper()
	a := by.do(t, "POST", "/api/knowledge", `{"name":"`+name+`"}`)
	a.must(t, "create", http.StatusCreated)
	return "/api/knowledge/" + webtest.Decode[struct {
		ID string `json:"knowledge_id"`
	}](t, a.body).ID
}

// know uploads documents, names and contents in turn, and waits until all that a collection has are read.
func know(t *testing.T, by asker, at string, files ...string) {
	t.Helper()
	body, kind := webtest.Form(t, "files", files...)
	by.do(t, "POST", at+"/documents", body, "Content-Type", kind).must(t, "upload", http.StatusOK)
	allRead(t, by, at)
}

// allRead waits until no source of a collection is pending.
func allRead(t *testing.T, by asker, at string) (last knowledgeSources) {
	t.Helper()
	webtest.UntilSeen(t, func() bool {
		a := by.do(t, "GET", at+"/sources", "")
		last = webtest.Decode[knowledgeSources](t, a.body)
		return !strings.Contains(a.body, `"pending"`)
	}, func() string { return fmt.Sprintf("sources: %+v", last) })
	return last
}

// documentsAt are the documents of a collection with their states, as a query asks for them.
func documentsAt(t *testing.T, by asker, at string, query ...string) map[string]string {
	t.Helper()
	out := map[string]string{}
	for _, d := range webtest.Decode[knowledgeDocs](t, by.do(t, "GET", at+"/documents"+strings.Join(query, ""), "").body).Documents {
		out[d.Name] = d.State + " " + d.Reason
	}
	return out
}

// cites are what a search of a collection finds.
func cites(t *testing.T, by asker, at, query string) string {
	t.Helper()
	a := by.do(t, "GET", at+"/search?query="+url.QueryEscape(query), "")
	a.must(t, "search", http.StatusOK)
	var all []string
	for _, p := range webtest.Decode[knowledgeHits](t, a.body).Passages {
		all = append(all, p.Cite)
	}
	return strings.Join(all, "; ")
}

// TestACollectionIsReadIndexedAndSearched: uploads in any language, replaced and deleted ones, what can't be read.
func TestACollectionIsReadIndexedAndSearched(t *testing.T) {
	t.Parallel()
	s := anybody{start(t, scripted(t))}
	for _, body := range []string{`{"name":" "}`, `{"name":"a/b"}`, `{"name":".a"}`, `{"name":"` + strings.Repeat("x", 101) + `"}`} {
		s.do(t, "POST", "/api/knowledge", body).want(t, body, http.StatusUnprocessableEntity)
	}
	at := newCollection(t, s, "Handbook")
	s.do(t, "POST", "/api/knowledge", `{"name":"handbook"}`).want(t, "the same name twice", http.StatusUnprocessableEntity)
	know(t, s, at, "guide.md", "# Travel\n\nTrains are booked by the office.\n\n# Hotels\n\n"+strings.Repeat("Quiet rooms are better. ", 40)+
		"\n\n# Meals\n\nA lunch may cost 30 francs.", "notice.txt", "放假通知：办公室从周一开始关闭两个星期。", "offer.docx", string(letter(t)), "noise.bin", "\x00\x01\x02")
	if got := documentsAt(t, s, at); got["guide.md"] != "converted " || got["notice.txt"] != "converted " ||
		got["offer.docx"] != "converted " || got["noise.bin"] != "failed unsupported" {
		t.Errorf("documents: %v", got)
	}
	for query, want := range map[string]string{"lunch francs": "Handbook/guide.md, l. ", "通知": "Handbook/notice.txt, l. 1",
		"关闭": "Handbook/notice.txt, l. 1", "offer": "Handbook/offer.docx, l. 1"} {
		if got := cites(t, s, at, query); !strings.HasPrefix(got, want) {
			t.Errorf("%s finds %q", query, got)
		}
	}
	webtest.Same(t, "nothing is found", cites(t, s, at, "zebra"), "")
	// A file of the same name replaces what was there.
	know(t, s, at, "guide.md", "# Travel\n\nFlights need a permit.")
	if a, b := cites(t, s, at, "lunch"), cites(t, s, at, "permit"); a != "" || b != "Handbook/guide.md, l. 1" {
		t.Errorf("after it was replaced: %q %q", a, b)
	}
	docs := webtest.Decode[knowledgeDocs](t, s.do(t, "GET", at+"/documents?limit=10", "").body)
	for _, d := range docs.Documents {
		if d.Name != "guide.md" {
			continue
		}
		one := fmt.Sprintf("%s/documents/%d", at, d.ID)
		s.do(t, "GET", one, "").holds(t, "its text", "Flights need a permit.")
		s.do(t, "DELETE", one, "").want(t, "delete", http.StatusNoContent)
		s.do(t, "GET", one, "").want(t, "a deleted one", http.StatusNotFound)
	}
	webtest.Same(t, "a deleted document is found", cites(t, s, at, "permit"), "")
	s.do(t, "PATCH", at, `{"name":"Manual","description":"How we work"}`).want(t, "change", http.StatusOK, `"description":"How we work"`)
	webtest.Same(t, "renamed", cites(t, s, at, "通知"), "Manual/notice.txt, l. 1")
	s.do(t, "DELETE", at, "").want(t, "delete", http.StatusNoContent)
	s.do(t, "GET", at, "").want(t, "a deleted collection", http.StatusNotFound)
}

// TestChatsSearchWhatTheirProjectAndAgentReferTo, cite it, open it in the panel and read around it; others don't.
func TestChatsSearchWhatTheirProjectAndAgentReferTo(t *testing.T) {
	t.Parallel()
	s := anybody{start(t, scripted(t)+"agents_api: {enabled: true}\n")}
	at := newCollection(t, s, "Hand book")
	s.do(t, "PATCH", at, `{"description":"Rules of the house"}`)
	know(t, s, at, "guide.md", "# Meals\n\nA lunch may cost 30 francs.\n\nAsk before it costs more.")
	know(t, s, newCollection(t, s, "Other"), "secret.md", "A lunch may cost 99 francs.")
	id := newProject(t, s, `{"name":"P","knowledge":["hand book","gone"]}`)
	s.do(t, "GET", "/api/projects/"+id, "").holds(t, "the project", `"knowledge":["hand book","gone"]`)
	s.do(t, "POST", "/threads", `{"thread_id":"in","project_id":"`+id+`"}`)
	const query = `{"query":"lunch francs"}`
	got := s.tool(t, "in", "search_documents", query)
	webtest.Holds(t, "got", got,
		`"cite":"Hand book/guide.md, l. 1"`, `"path":"/mnt/user-data/knowledge/Hand book/guide.md"`, `"heading":"Meals"`,
		`"collections_searched":1`)
	webtest.Holds(t, "another collection is searched", got, "!99")
	webtest.Holds(t, "limited to another file", s.tool(t, "in", "search_documents", `{"query":"lunch","files":["other.md"]}`), "!francs")
	webtest.Holds(t, "read", s.tool(t, "in", "read_file", `{"path":"/mnt/user-data/knowledge/Hand book/guide.md","start_line":5}`), "Ask before", "!francs")
	for _, path := range []string{"Other/secret.md", "Hand book/none.md", "Hand book"} {
		webtest.Holds(t, "read "+path, s.tool(t, "in", "read_file", `{"path":"/mnt/user-data/knowledge/`+path+`"}`), "!francs", "not there")
	}
	webtest.Holds(t, "a chat outside", s.tool(t, "out", "search_documents", query), "!francs")
	// What the model is told, of the project's and of an agent's.
	s.do(t, "POST", "/api/agents", `{"name":"guide","knowledge":["Other"]}`).want(t, "an agent", http.StatusCreated, `"knowledge":["Other"]`)
	a := s.do(t, "POST", "/threads/agent/runs/wait", human(`SCRIPT{"turns":[{"tool_calls":[{"name":"search_documents","args":`+query+`}]},{"text":"done"}]}`,
		`"context":{"agent_name":"guide"}`))
	a.holds(t, "with the agent", "99 francs", "!30 francs")
	// An answer links to the place, and the panel shows it.
	s.send(t, "POST", "/threads/in/runs/wait",
		human(`SCRIPT{"turns":[{"text":"As [Hand book/guide.md, l. 3] and [Hand book/none.md, l. 1] and [a/b, p. 1] say."}]}`))
	page := s.send(t, "GET", "/workspace/chats/in", "").body
	webtest.Holds(t, "no citation in the page", page,
		`data-at="line-3" data-file="mnt/user-data/knowledge/Hand book/guide.md"`, "[Hand book/none.md, l. 1]", "[a/b, p. 1]")
	const panel = "/ui/threads/in/panel/mnt/user-data/knowledge/Hand%20book/guide.md"
	s.send(t, "GET", panel+"?at=line-3", "", "X-Fawn", "1").want(t, "the panel", http.StatusOK, "A lunch may cost 30 francs.", `id="at-line-3"`)
	s.send(t, "GET", panel+"x", "", "X-Fawn", "1").holds(t, "a document that isn't there", "!francs")
}

// TestCollectionsOfOthersAreNotThere on every route, for reading and for writing, in chats and in the panel; roles decide
// what those may do whom they are shared with, by themselves or with their group.
func TestCollectionsOfOthersAreNotThere(t *testing.T) {
	t.Parallel()
	s := guarded(t, scripted(t))
	ann := s.owner(t)
	bob, eve := ann.member(t, "bob@x.org", account.RoleUser), ann.member(t, "eve@x.org", account.RoleUser)
	at := newCollection(t, ann, "Secrets")
	know(t, ann, at, "plan.md", "The plan is a surprise.", "other.md", "More.")
	id := strings.TrimPrefix(at, "/api/knowledge/")
	doc := webtest.Decode[knowledgeDocs](t, ann.do(t, "GET", at+"/documents", "").body).Documents[1]
	one := fmt.Sprintf("/documents/%d", doc.ID)
	me := func(b *browser) string {
		return webtest.Decode[struct{ ID string }](t, b.do(t, "GET", "/api/v1/auth/me", "").body).ID
	}
	upload, kind := webtest.Form(t, "files", "evil.md", "x")
	const fields = "application/x-www-form-urlencoded"
	doors := []struct {
		method, path, body string
		headers            []string
		need               string // the least role that may
		status             int
	}{
		{"GET", at, "", nil, "viewer", 200},
		{"GET", at + "/sources", "", nil, "viewer", 200},
		{"GET", at + "/documents", "", nil, "viewer", 200},
		{"GET", at + one, "", nil, "viewer", 200},
		{"GET", at + "/search?query=plan", "", nil, "viewer", 200},
		{"GET", at + "/members", "", nil, "viewer", 200},
		{"GET", "/workspace/knowledge/" + id, "", []string{"Accept", "text/html"}, "viewer", 200},
		{"GET", "/workspace/knowledge/" + id + one, "", []string{"Accept", "text/html"}, "viewer", 200},
		{"GET", "/ui/knowledge/" + id + one + "/text", "", nil, "viewer", 200},
		{"PATCH", at, `{"description":"x"}`, nil, "editor", 200},
		{"POST", at + "/update", "", nil, "editor", 204},
		{"POST", at + "/documents", upload, []string{"Content-Type", kind}, "editor", 200},
		{"POST", at + "/sources", `{"kind":"web","address":"https://example.invalid/x"}`, nil, "editor", 0},
		{"DELETE", at + "/sources/none", "", nil, "editor", 404},
		{"DELETE", at + "/documents/99999", "", nil, "editor", 404},
		{"POST", "/ui/knowledge/" + id + "/settings", "name=Secrets", []string{"Content-Type", fields}, "editor", 303},
		{"POST", "/ui/knowledge/" + id + "/update", "", []string{"Content-Type", fields}, "editor", 303},
		{"POST", at + "/members", `{"email":"eve@x.org","role":"nobody"}`, nil, "owner", 422},
		{"POST", "/ui/knowledge/" + id + "/share", "email=none@x.org&role=viewer", []string{"Content-Type", fields}, "owner", 422},
	}
	walk := func(b *browser, role string) {
		t.Helper()
		rank := map[string]int{"": 0, "viewer": 1, "editor": 2, "owner": 3}
		for _, d := range doors {
			want := d.status
			switch {
			case role == "":
				want = http.StatusNotFound
			case rank[role] < rank[d.need] && strings.HasPrefix(d.path, "/ui/"):
				want = http.StatusNotFound
			case rank[role] < rank[d.need]:
				want = http.StatusForbidden
			}
			a := b.do(t, d.method, d.path, d.body, d.headers...)
			if want == 0 {
				want = http.StatusCreated
				if a.status == http.StatusUnprocessableEntity && strings.Contains(a.body, "has this source already") {
					want = a.status
				}
			}
			if a.status != want {
				t.Errorf("%q at %s %s: %d %s, want %d", role, d.method, d.path, a.status, a.body, want)
			} else if role == "" && (strings.Contains(a.body, "Secrets") || strings.Contains(a.body, "surprise")) {
				t.Errorf("%s %s tells a stranger: %s", d.method, d.path, a.body)
			}
		}
	}
	// chat searches in a chat of somebody's that refers to the collection, and opens it there.
	chat := func(b *browser, thread string) string {
		t.Helper()
		b.do(t, "POST", "/threads", `{"thread_id":"`+thread+`","project_id":"`+newProject(t, b, `{"name":"`+thread+`","knowledge":["Secrets","`+id+`"]}`)+`"}`)
		a := b.do(t, "POST", "/threads/"+thread+"/runs/wait", human(`SCRIPT{"turns":[{"tool_calls":[{"name":"search_documents","args":{"query":"plan"}}]},
			{"tool_calls":[{"name":"read_file","args":{"path":"/mnt/user-data/knowledge/Secrets/plan.md"}}]},{"text":"See [Secrets/plan.md, l. 1]."}]}`))
		return a.body + b.do(t, "GET", "/ui/threads/"+thread+"/panel/mnt/user-data/knowledge/Secrets/plan.md", "", "X-Fawn", "1").body +
			b.do(t, "GET", "/workspace/chats/"+thread, "", "Accept", "text/html").body
	}
	walk(eve, "")
	webtest.Holds(t, "a stranger's chat finds it", chat(eve, "eve1"), "!surprise", `!data-file="mnt/user-data/knowledge`)
	eve.do(t, "GET", "/api/knowledge", "").holds(t, "a stranger's list", "!Secrets")
	for _, role := range []string{"viewer", "editor"} {
		ann.do(t, "POST", at+"/members", `{"email":"bob@x.org","role":"`+role+`"}`).must(t, "share", http.StatusOK, "bob@x.org")
		walk(bob, role)
	}
	if got := chat(bob, "bob1"); strings.Count(got, "surprise") < 3 || !strings.Contains(got, `data-file="mnt/user-data/knowledge/Secrets/plan.md"`) {
		t.Errorf("a member's chat doesn't find it: %s", got)
	}
	bob.do(t, "DELETE", at+"/members/"+me(bob), "").want(t, "leave", http.StatusNoContent)
	walk(bob, "")
	webtest.Holds(t, "a former member's chat finds it", chat(bob, "bob2"), "!surprise")
	// A group gives its members the role, for as long as they belong to it.
	a := ann.do(t, "POST", "/api/groups", `{"name":"Team","members":["`+me(eve)+`"]}`)
	a.fine(t, "group")
	ann.do(t, "POST", at+"/members", `{"group":"team","role":"viewer"}`).must(t, "share with a group", http.StatusOK, `"kind":"group"`)
	ann.do(t, "POST", at+"/members", `{"group":"team","email":"bob@x.org","role":"viewer"}`).want(t, "share with both", http.StatusUnprocessableEntity,
		"an address or a group")
	walk(eve, "viewer")
	webtest.Holds(t, "a group's chat doesn't find it", chat(eve, "eve2"), "surprise")
	walk(ann, "owner")
	team := webtest.Decode[struct{ ID string }](t, a.body).ID
	ann.do(t, "DELETE", at+"/members/"+team, "").want(t, "unshare with a group by its plain id", http.StatusNoContent)
	walk(eve, "")
}

// TestADeletedUsersCollectionsGo with their documents.
func TestADeletedUsersCollectionsGo(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s := start(t, scripted(t), func(o *web.Options) { o.Addr, o.Data = "0.0.0.0:0", dir })
	ann := s.owner(t)
	bob := ann.member(t, "bob@x.org", account.RoleUser)
	at := newCollection(t, bob, "Mine")
	know(t, bob, at, "plan.md", "The plan.")
	shelf := filepath.Join(dir, "projects", "knowledge-"+strings.TrimPrefix(at, "/api/knowledge/"))
	if _, err := os.Stat(shelf); err != nil {
		t.Fatal(err)
	}
	who := webtest.Decode[struct{ ID string }](t, bob.do(t, "GET", "/api/v1/auth/me", "").body).ID
	ann.do(t, "DELETE", "/api/v1/auth/users/"+who, "").must(t, "/api/v1/auth/users/"+who, http.StatusOK)
	if _, err := os.Stat(shelf); !os.IsNotExist(err) {
		t.Errorf("its files: %v", err)
	}
}

func inFolder(t *testing.T, dir, name, text string) {
	t.Helper()
	at := filepath.Join(dir, name)
	err := os.MkdirAll(filepath.Dir(at), 0o755)
	if err == nil {
		err = os.WriteFile(at, []byte(text), 0o644)
	}
	must.Do(t, err)
}

// addSource adds a source and waits until it was read.
func addSource(t *testing.T, by asker, at, kind, address string) knowledgeSources {
	t.Helper()
	by.do(t, "POST", at+"/sources", fmt.Sprintf(`{"kind":%q,"address":%q}`, kind, address)).must(t, "add "+address, http.StatusCreated)
	return allRead(t, by, at)
}

func update(t *testing.T, by asker, at string) knowledgeSources {
	t.Helper()
	by.do(t, "POST", at+"/update", "").must(t, "update", http.StatusNoContent)
	return allRead(t, by, at)
}

// TestFoldersOfTheServer that the configuration allows are read with all in them and nothing else, again when asked.
func TestFoldersOfTheServer(t *testing.T) {
	t.Parallel()
	base, outside := t.TempDir(), t.TempDir()
	inFolder(t, base, "docs/a.md", "Apples are red.")
	inFolder(t, base, "docs/deep/b.md", "Bananas are yellow.")
	inFolder(t, base, "docs/.hidden/c.md", "Cherries are hidden.")
	inFolder(t, base, "docs/picture.png", "\x89PNG\r\n\x1a\n\x00\x00")
	inFolder(t, base, "elsewhere.md", "Elderberries are elsewhere.")
	inFolder(t, outside, "secret.md", "Figs are secret.")
	for from, to := range map[string]string{filepath.Join(outside, "secret.md"): "docs/link.md", outside: "docs/linked", base: "docs/loop"} {
		if err := os.Symlink(from, filepath.Join(base, to)); err != nil {
			t.Skip(err)
		}
	}
	conf := scripted(t)
	s := anybody{start(t, conf+"knowledge: {folders: ["+base+"]}\n")}
	at := newCollection(t, s, "Fruit")
	for _, address := range []string{outside, "/", base + "/../" + filepath.Base(outside), "docs", ""} {
		s.do(t, "POST", at+"/sources", fmt.Sprintf(`{"kind":"folder","address":%q}`, address)).want(t, address, http.StatusUnprocessableEntity)
	}
	addSource(t, s, at, "folder", filepath.Join(base, "docs"))
	if got := documentsAt(t, s, at); len(got) != 2 || got["a.md"] != "converted " || got["deep/b.md"] != "converted " {
		t.Errorf("documents: %v", got)
	}
	webtest.Same(t, "found", cites(t, s, at, "bananas"), "Fruit/deep/b.md, l. 1")
	for _, word := range []string{"figs", "cherries", "elderberries"} {
		webtest.Same(t, word, cites(t, s, at, word), "")
	}
	inFolder(t, base, "docs/a.md", "Apples are green by now.")
	inFolder(t, base, "docs/d.md", "Dates are brown.")
	must.Do(t, os.Remove(filepath.Join(base, "docs/deep/b.md")))
	update(t, s, at)
	if a, b, d := cites(t, s, at, "green"), cites(t, s, at, "bananas"), cites(t, s, at, "dates"); a != "Fruit/a.md, l. 1" || b != "" || d != "Fruit/d.md, l. 1" {
		t.Errorf("after changes: %q %q %q", a, b, d)
	}
	// A folder below, which is a link out of what is allowed.
	if got := addSource(t, s, at, "folder", filepath.Join(base, "docs/linked")); got.Sources[2].State != "failed" || got.Sources[2].Problem != "missing" {
		t.Errorf("a link out: %+v", got)
	}
	// What the configuration allows no more is found no more.
	s.configure(t, conf)
	if got := update(t, s, at); got.Sources[1].State != "failed" || got.Sources[1].Problem != "forbidden" {
		t.Errorf("not allowed any more: %+v", got)
	}
	webtest.Same(t, "found all the same", cites(t, s, at, "green"), "")
}

// TestFoldersAreForThoseWhoRunTheServer.
func TestFoldersAreForThoseWhoRunTheServer(t *testing.T) {
	t.Parallel()
	base := t.TempDir()
	s := guarded(t, scripted(t)+"knowledge: {folders: ["+base+"]}\n")
	ann := s.owner(t)
	bob := ann.member(t, "bob@x.org", account.RoleUser)
	for who, want := range map[*browser]int{ann: http.StatusCreated, bob: http.StatusUnprocessableEntity} {
		who.do(t, "POST", newCollection(t, who, "F")+"/sources", fmt.Sprintf(`{"kind":"folder","address":%q}`, base)).want(t, "POST it", want)
	}
}

// TestWebPagesAreKept as web_fetch reads them, only where it may go, and read again.
func TestWebPagesAreKept(t *testing.T) {
	t.Parallel()
	var text atomic.Pointer[string]
	first := "Wombats dig burrows at night."
	text.Store(&first)
	site := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/animals" {
			http.NotFound(w, r)
			return
		}
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		fmt.Fprintf(w, "<html><head><title>On wombats</title></head><body><article><h1>On wombats</h1><p>%s They live in Australia, where it is warm and dry for most of the year.</p><p>%s</p></article></body></html>",
			*text.Load(), strings.Repeat("There is more to say about them. ", 20))
	}))
	t.Cleanup(site.Close)
	_, port, _ := strings.Cut(strings.TrimPrefix(site.URL, "http://"), ":")
	for _, open := range []bool{false, true} {
		conf := scripted(t)
		if open {
			conf += "\nweb: {allow_private: [127.0.0.1], ports: [" + port + "]}\n"
		}
		s := anybody{start(t, conf)}
		at := newCollection(t, s, "Web")
		for _, address := range []string{"ftp://x.org/", "https://u:p@x.org/", "x.org", "file:///etc/passwd"} {
			s.do(t, "POST", at+"/sources", fmt.Sprintf(`{"kind":"web","address":%q}`, address)).want(t, address, http.StatusUnprocessableEntity)
		}
		got := addSource(t, s, at, "web", site.URL+"/animals").Sources[1]
		if !open {
			if got.State != "failed" || !strings.HasPrefix(got.Problem, "unreachable ") {
				t.Errorf("an address inside: %+v", got)
			}
			continue
		}
		if got.State != "ready" {
			t.Fatalf("%+v", got)
		}
		name := strings.TrimPrefix(site.URL, "http://") + "/animals"
		webtest.Same(t, "found", cites(t, s, at, "burrows"), "Web/"+name+", l. 1")
		second := "Wombats sleep in tunnels by day."
		text.Store(&second)
		update(t, s, at)
		if a, b := cites(t, s, at, "burrows"), cites(t, s, at, "tunnels"); a != "" || b == "" {
			t.Errorf("after a change: %q %q", a, b)
		}
		// A page that can't be read keeps what was read before, and says so.
		if got := addSource(t, s, at, "web", site.URL+"/gone").Sources; got[2].State != "failed" || !strings.Contains(got[2].Problem, "unreachable") {
			t.Errorf("a missing page: %+v", got)
		}
		id := ""
		for _, src := range allRead(t, s, at).Sources {
			if src.Address == site.URL+"/animals" {
				id = src.ID
			}
		}
		s.do(t, "DELETE", at+"/sources/"+id, "").want(t, "remove", http.StatusNoContent)
		webtest.Same(t, "a removed source is found", cites(t, s, at, "tunnels"), "")
	}
}

// TestRepositoriesAreKept at their newest commit.
func TestRepositoriesAreKept(t *testing.T) {
	t.Parallel()
	git, err := exec.LookPath("git")
	if err != nil {
		if os.Getenv("FAWN_CI") != "" {
			t.Fatal(err)
		}
		t.Skip("git is not installed")
	}
	root := t.TempDir()
	work := filepath.Join(root, "work")
	run := func(args ...string) {
		t.Helper()
		cmd := exec.Command(git, append([]string{"-C", work, "-c", "user.name=t", "-c", "user.email=t@t"}, args...)...)
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("git %v: %v\n%s", args, err, out)
		}
	}
	inFolder(t, work, "docs/api.md", "# Calls\n\nEvery call has a quota.")
	inFolder(t, work, "main.c", "int main(void) { return 0; }")
	inFolder(t, work, "logo.png", "\x89PNG\x00\x00")
	if err := os.Symlink("/etc/passwd", filepath.Join(work, "docs/passwd.md")); err != nil {
		t.Skip(err)
	}
	run("init", "-q", "-b", "main")
	run("add", ".")
	run("commit", "-qm", "first")
	run("clone", "-q", "--bare", ".", filepath.Join(root, "repo.git"))
	srv := httptest.NewServer(&cgi.Handler{Path: git, Args: []string{"http-backend"}, Root: "/",
		Env: []string{"GIT_PROJECT_ROOT=" + root, "GIT_HTTP_EXPORT_ALL=1", "GIT_CONFIG_COUNT=1",
			"GIT_CONFIG_KEY_0=safe.directory", "GIT_CONFIG_VALUE_0=*"}})
	t.Cleanup(srv.Close)
	_, port, _ := strings.Cut(strings.TrimPrefix(srv.URL, "http://"), ":")
	conf := scripted(t)
	s := anybody{start(t, conf+"\nweb: {allow_private: [127.0.0.1], ports: ["+port+"]}\n")}
	at := newCollection(t, s, "Code")
	if got := addSource(t, s, at, "git", srv.URL+"/repo.git").Sources[1]; got.State != "ready" || got.Total != 2 || got.Skipped != 1 {
		t.Fatalf("%+v", got)
	}
	webtest.Same(t, "found", cites(t, s, at, "quota"), "Code/docs/api.md, l. 1")
	inFolder(t, work, "docs/api.md", "# Calls\n\nCalls have no bounds.")
	run("commit", "-qam", "second")
	run("push", "-q", filepath.Join(root, "repo.git"), "main")
	update(t, s, at)
	if a, b := cites(t, s, at, "quota"), cites(t, s, at, "bounds"); a != "" || b != "Code/docs/api.md, l. 1" {
		t.Errorf("after a push: %q %q", a, b)
	}
	if got := update(t, s, at).Sources[1]; got.State != "ready" || got.Total != 2 {
		t.Errorf("an unchanged one: %+v", got)
	}
	docs := newCollection(t, s, "Docs")
	addSource(t, s, docs, "git", srv.URL+"/repo.git#main:docs")
	if got := documentsAt(t, s, docs); len(got) != 1 || got["api.md"] != "converted " {
		t.Errorf("a folder of it: %v", got)
	}
	if got := addSource(t, s, docs, "git", srv.URL+"/none.git"); !strings.Contains(fmt.Sprint(got), "unreachable there is no public git repository") {
		t.Errorf("no repository: %+v", got)
	}
	closed := anybody{start(t, conf)}
	at = newCollection(t, closed, "Code")
	if got := addSource(t, closed, at, "git", srv.URL+"/repo.git").Sources[1]; got.State != "failed" {
		t.Errorf("an address inside: %+v", got)
	}
}

// TestNamesOfCollectionsMeanThoseOfTheProject in its chats: what the model is told, what is searched and what a citation
// opens are of one collection, also for members who have one of the same name. Two that are chosen by their ids are told
// apart.
func TestNamesOfCollectionsMeanThoseOfTheProject(t *testing.T) {
	t.Parallel()
	model := scriptmodel.Start(t)
	ann := guarded(t, scriptedBy(model)).owner(t)
	bob := ann.member(t, "bob@x.org", account.RoleUser)
	collection := func(b *browser, about, text string) string {
		t.Helper()
		at := newCollection(t, b, "Handbook")
		b.do(t, "PATCH", at, `{"description":"`+about+`"}`)
		know(t, b, at, "guide.md", text)
		return at
	}
	bobs := collection(bob, "What bob knows", "A lunch costs 99 francs.") // older than the other one
	anns := collection(ann, "What ann knows", "A lunch costs 30 francs.")
	id := newProject(t, ann, `{"name":"P","knowledge":["handbook"]}`)
	for _, a := range []answer{ann.do(t, "POST", anns+"/members", `{"email":"bob@x.org","role":"viewer"}`),
		ann.do(t, "POST", "/api/projects/"+id+"/members", `{"email":"bob@x.org","role":"editor"}`)} {
		a.must(t, "share", http.StatusOK)
	}
	const search = `SCRIPT{"turns":[{"tool_calls":[{"name":"search_documents","args":{"query":"lunch"}}]},
		{"tool_calls":[{"name":"read_file","args":{"path":"/mnt/user-data/knowledge/Handbook/guide.md"}}]},{"text":"See [Handbook/guide.md, l. 1]."}]}`
	chat := func(b *browser, thread, project, script string) (told, found string) {
		t.Helper()
		model.Forget()
		b.do(t, "POST", "/threads", `{"thread_id":"`+thread+`","project_id":"`+project+`"}`)
		found = b.do(t, "POST", "/threads/"+thread+"/runs/wait", human(script)).body
		return string(model.Requests()[0].Body), found
	}
	opened := func(b *browser, thread, path string) string {
		t.Helper()
		return b.do(t, "GET", "/ui/threads/"+thread+"/panel/mnt/user-data/knowledge/"+url.PathEscape(path)+"/guide.md", "", "X-Fawn", "1").body
	}
	for thread, b := range map[string]*browser{"of-ann": ann, "of-bob": bob} {
		told, found := chat(b, thread, id, search)
		webtest.Holds(t, fmt.Sprintf("%s is told of another collection", thread), told, "What ann knows", "!What bob knows")
		if strings.Count(found, "30 francs") < 2 || strings.Contains(found, "99 francs") {
			t.Errorf("%s finds another collection: %s", thread, found)
		}
		webtest.Holds(t, fmt.Sprintf("%s opens another document", thread), opened(b, thread, "Handbook"), "30 francs")
	}
	own := newProject(t, bob, `{"name":"Own","knowledge":["Handbook"]}`)
	if told, found := chat(bob, "own", own, search); !strings.Contains(told, "What bob knows") || strings.Contains(told, "What ann knows") ||
		!strings.Contains(found, "99 francs") || strings.Contains(found, "30 francs") {
		t.Errorf("bob's own project: %s", found)
	}

	// The form of a project offers both, and says whose they are.
	page := bob.do(t, "GET", "/workspace/projects/"+own, "", "Accept", "text/html").body
	idOf := func(at string) string { return strings.TrimPrefix(at, "/api/knowledge/") }
	webtest.Holds(t, "the form", page, `value="Handbook" checked`, `value="`+idOf(anns)+`">`, "Handbook (ann@x.org)", "Handbook (bob@x.org)")
	both := newProject(t, bob, `{"name":"Both","knowledge":["`+idOf(anns)+`","`+idOf(bobs)+`"]}`)
	told, found := chat(bob, "both", both, strings.ReplaceAll(search, "Handbook/", "Handbook (ann@x.org)/"))
	webtest.Holds(t, "the model isn't told", told, "Handbook (ann@x.org)", "Handbook (bob@x.org)", "What ann knows", "What bob knows")
	webtest.Holds(t, "the search", found, "Handbook (ann@x.org)/guide.md, l. 1", "Handbook (bob@x.org)/guide.md, l. 1", "30 francs", "99 francs")
	for who, want := range map[string]string{"ann": "30 francs", "bob": "99 francs"} {
		webtest.Holds(t, "the document of "+who, opened(bob, "both", "Handbook ("+who+"@x.org)"), want)
	}
	bob.do(t, "GET", "/workspace/chats/both", "", "Accept", "text/html").holds(t, "a citation with a label is no link",
		`data-file="mnt/user-data/knowledge/Handbook (ann@x.org)/guide.md"`)
	// What somebody can't read stays chosen when they save the form, without a name.
	ann.do(t, "PATCH", "/api/projects/"+id, `{"knowledge":["`+idOf(newCollection(t, ann, "Hidden"))+`"]}`)
	page = bob.do(t, "GET", "/workspace/projects/"+id, "", "Accept", "text/html").body
	webtest.Holds(t, "the form tells of a collection that bob can't read, or drops it", page, "A collection you can’t open", "!Hidden")
}

// TestAChatChoosesCollections without a project: over the API for a run, in the message box for the chat. It keeps them until
// they are removed, the model is told of them, and another person's are out of reach by name and by id.
func TestAChatChoosesCollections(t *testing.T) {
	t.Parallel()
	model := scriptmodel.Start(t)
	s := guarded(t, scriptedBy(model))
	ann := s.owner(t)
	bob := ann.member(t, "bob@x.org", account.RoleUser)
	secrets, notes := newCollection(t, ann, "Secrets"), newCollection(t, bob, "Notes")
	know(t, ann, secrets, "plan.md", "The lunch is a surprise.")
	know(t, bob, notes, "meals.md", "A lunch may cost 30 francs.")
	of := func(at string) string { return strings.TrimPrefix(at, "/api/knowledge/") }
	const search = `SCRIPT{"turns":[{"tool_calls":[{"name":"search_documents","args":{"query":"lunch"}}]},
		{"tool_calls":[{"name":"read_file","args":{"path":"/mnt/user-data/knowledge/Secrets/plan.md"}}]},{"text":"See [Notes/meals.md, l. 1]."}]}`
	const told = "also searches these collections of documents"
	// A run names them.
	for _, c := range []struct {
		list, want string
		status     int
	}{
		{`["Secrets"]`, `there is no collection \"Secrets\"`, http.StatusUnprocessableEntity},
		{`["Notes","` + of(secrets) + `"]`, of(secrets), http.StatusUnprocessableEntity},
		{`["none"]`, `no collection \"none\"`, http.StatusUnprocessableEntity},
		{`"Notes"`, "knowledge: ", http.StatusBadRequest},
		{`[""]`, "knowledge.0: ", http.StatusBadRequest},
	} {
		bob.do(t, "POST", "/threads/api/runs/wait", human(search, `"context":{"knowledge":`+c.list+`}`)).want(t, c.list, c.status, c.want, "!surprise")
	}
	for _, ref := range []string{"notes", of(notes)} {
		model.Forget()
		bob.do(t, "POST", "/threads/api-"+ref+"/runs/wait", human(search, `"context":{"knowledge":["`+ref+`"]}`)).holds(t, ref, "30 francs", "!surprise")
		webtest.Holds(t, fmt.Sprintf("%s: the model isn't told", ref), string(model.Requests()[0].Body), told, "Notes")
	}
	if a := bob.do(t, "POST", "/threads/api-notes/runs/wait", human(search)); strings.Count(a.body, "30 francs") != 1 {
		t.Errorf("the next run, which names none: %s", a.body)
	}
	// The message box offers the collections of its reader.
	page := func(by *browser, path string) string {
		return by.do(t, "GET", "/workspace/chats/"+path, "", "Accept", "text/html").body
	}
	webtest.Holds(t, "a new chat of bob's", page(bob, "new"), `name="knowledge" value="`+of(notes)+`"`, "!"+of(secrets), "!Secrets")
	const chat = "01980000-0000-7000-8000-000000000001"
	found := func() int {
		t.Helper()
		var state string
		webtest.UntilSeen(t, func() bool {
			state = bob.do(t, "GET", "/threads/"+chat, "").body
			return strings.Contains(state, `"status":"idle"`)
		}, func() string { return state })
		state = bob.do(t, "GET", "/threads/"+chat+"/state", "").body
		webtest.Holds(t, "another person's collection is found", state, "!surprise")
		return strings.Count(state, "30 francs")
	}
	say := func(path string, with url.Values) {
		t.Helper()
		with.Set("text", search)
		bob.form(t, path, with).must(t, path, http.StatusSeeOther)
	}
	chosen := func() bool {
		return strings.Contains(page(bob, chat), `<li class="chip" data-knowledge="`+of(notes)+`">`)
	}
	say("/ui/threads", url.Values{"thread": {chat}, "knowledge-shown": {"1"}, "knowledge": {of(notes)}})
	once := found()
	if once == 0 || !chosen() {
		t.Errorf("the first message: found %d times; chosen %v", once, chosen())
	}
	panel := "/ui/threads/" + chat + "/panel/mnt/user-data/knowledge/Notes/meals.md"
	if a := bob.do(t, "GET", panel, "", "X-Fawn", "1"); !strings.Contains(a.body, "A lunch may cost 30 francs.") ||
		!strings.Contains(page(bob, chat), `data-file="mnt/user-data/knowledge/Notes/meals.md"`) {
		t.Errorf("the citation: %d %s", a.status, a.body)
	}
	say("/ui/threads/"+chat+"/messages", url.Values{}) // a form that says nothing of it
	if got := found(); got != 2*once || !chosen() {
		t.Errorf("the second message: found %d times, after %d; chosen %v", got, once, chosen())
	}
	// Choosing another person's finds nothing, nor does choosing none.
	for _, list := range [][]string{{of(secrets), "Secrets"}, nil} {
		bob.form(t, "/ui/threads/"+chat+"/choice", url.Values{"knowledge-shown": {"1"}, "knowledge": list}).must(t, fmt.Sprintf("choose %q", list), http.StatusSeeOther)
		if chosen() || strings.Contains(page(bob, chat), "data-knowledge=\""+of(secrets)) {
			t.Errorf("%q stays chosen", list)
		}
		model.Forget()
		say("/ui/threads/"+chat+"/messages", url.Values{})
		webtest.Same(t, fmt.Sprintf("%q: found times, after", list), found(), 2*once)
		for _, r := range model.Requests() {
			webtest.Holds(t, fmt.Sprintf("%q: the model is told of a collection", list), string(r.Body), "!"+told)
		}
	}
}
