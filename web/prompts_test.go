package web_test

import (
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"

	"fawn/web/account"
	"fawn/web/webtest"
)

type promptRow struct {
	ID       string `json:"prompt_id"`
	Name     string
	Text     string
	Shared   *string `json:"shared_with"`
	Mine     bool
	Editable bool
	Fields   []struct {
		Name    string
		Default *string
	}
}

func promptNames(t *testing.T, by asker, query string) (names []string) {
	t.Helper()
	a := by.do(t, "GET", "/api/prompts"+query, "")
	for _, p := range webtest.Decode[struct{ Prompts []promptRow }](t, a.body).Prompts {
		names = append(names, p.Name)
	}
	return names
}

// wantStatus asks and checks the status of the answer.
func wantStatus(t *testing.T, by asker, status int, method, path, body string) answer {
	t.Helper()
	a := by.do(t, method, path, body)
	a.want(t, fmt.Sprintf("%s %s %s", method, path, body), status)
	return a
}

// TestPromptsAreKeptFilledAndBroughtIn: the API makes, changes, fills, duplicates, exports, imports and deletes prompts.
func TestPromptsAreKeptFilledAndBroughtIn(t *testing.T) {
	t.Parallel()
	me := anybody{start(t, scripted(t))}
	p := webtest.Decode[promptRow](t, wantStatus(t, me, http.StatusCreated, "POST", "/api/prompts",
		`{"name":"/Translate","description":"Into another language","text":"Into {{language:English}}: {{text}}"}`).body)
	if p.Name != "translate" || len(p.Fields) != 2 || *p.Fields[0].Default != "English" || p.Fields[1].Default != nil || !p.Mine || p.Shared != nil {
		t.Fatalf("%+v", p)
	}
	at := "/api/prompts/" + p.ID
	for body, status := range map[string]int{`{"name":"translate","text":"x"}`: 409, `{"name":"a b","text":"x"}`: 422, `{"name":"new","text":"x"}`: 422,
		`{"name":"x","text":" "}`: 422, `{"text":"x"}`: 422, `{"name":"x","text":"x","shared_with":"all"}`: 422, `{"name":"x","text":"x","shared_with":3}`: 422,
		`{"name":"x","text":"x","odd":1}`: 422} {
		wantStatus(t, me, status, "POST", "/api/prompts", body)
	}
	wantStatus(t, me, 200, "POST", at+"/fill", `{"fields":{"text":"hello"}}`).holds(t, at+"/fill", `"Into English: hello"`)
	wantStatus(t, me, 422, "POST", at+"/fill", `{}`).holds(t, at+"/fill", "text")
	wantStatus(t, me, 200, "PATCH", at, `{"text":"Into {{language}}"}`)
	if q := webtest.Decode[promptRow](t, wantStatus(t, me, 201, "POST", at+"/duplicate", "").body); q.Name != "translate-2" || q.Text != "Into {{language}}" {
		t.Errorf("%+v", q)
	}
	export := wantStatus(t, me, 200, "GET", "/api/prompts/export", "").body
	wantStatus(t, me, 204, "DELETE", at, "")
	wantStatus(t, me, 404, "GET", at, "")
	wantStatus(t, me, 200, "POST", "/api/prompts/import", export).holds(t, "/api/prompts/import", `"added":1`, `"unchanged":1`)
	wantStatus(t, me, 200, "POST", "/api/prompts/import", `[{"command":"/translate","title":"T","content":"Other"}]`).holds(t, "/api/prompts/import", `"translate-3"`)
	wantStatus(t, me, 422, "POST", "/api/prompts/import", `{"prompts":[{"name":"ok","text":"x"},{"name":"","text":"x"}]}`).holds(t, "/api/prompts/import",
		"prompts[1].name")
	webtest.Same(t, "after all", strings.Join(promptNames(t, me, ""), " "), "translate translate-2 translate-3")
}

// TestSharedPromptsCanBeUsedAndNotChanged: by the people whom they are shared with; administrators change all that are.
func TestSharedPromptsCanBeUsedAndNotChanged(t *testing.T) {
	t.Parallel()
	ann := guarded(t, twoModels(t)).owner(t)
	zoe, bob := ann.member(t, "zoe@x.org", account.RoleUser), ann.member(t, "bob@x.org", account.RoleUser)
	group := ann.group(t, "")
	mine := webtest.Decode[promptRow](t, wantStatus(t, zoe, 201, "POST", "/api/prompts", `{"name":"report","text":"x","shared_with":"`+group+`"}`).body)
	at := "/api/prompts/" + mine.ID
	wantStatus(t, zoe, 422, "PATCH", at, `{"shared_with":"all"}`)
	wantStatus(t, zoe, 422, "PATCH", at, `{"shared_with":"other"}`)
	if p := webtest.Decode[promptRow](t, wantStatus(t, bob, 200, "GET", at, "").body); p.Mine || p.Editable {
		t.Errorf("%+v", p)
	}
	wantStatus(t, bob, 403, "PATCH", at, `{"text":"y"}`)
	wantStatus(t, bob, 403, "DELETE", at, "")
	wantStatus(t, bob, 201, "POST", at+"/duplicate", "")
	if got := promptNames(t, ann, ""); len(got) != 0 { // in no group
		t.Errorf("the owner of the server is offered %v", got)
	}
	webtest.Same(t, "and manages", len(promptNames(t, ann, "?all=true")), 1)
	wantStatus(t, ann, 200, "PATCH", at, `{"shared_with":"all","text":"z"}`)
	wantStatus(t, zoe, 200, "PATCH", at, `{"text":"mine again"}`)
	webtest.Same(t, "shared with all", len(promptNames(t, ann, "")), 1)
	wantStatus(t, ann, 200, "PATCH", at, `{"shared_with":null}`)
	wantStatus(t, ann, 404, "GET", at, "")
	wantStatus(t, bob, 404, "GET", at, "")
	wantStatus(t, zoe, 204, "DELETE", at, "")
}

// TestAPromptGoesIntoTheMessageBox: from the menu, by its name as the message, from the palette, and without a script.
func TestAPromptGoesIntoTheMessageBox(t *testing.T) {
	t.Parallel()
	me := anybody{start(t, scripted(t))}
	form := func(path, body string, headers ...string) answer {
		return me.do(t, "POST", path, body, append([]string{"Content-Type", "application/x-www-form-urlencoded", "Accept", "text/html"}, headers...)...)
	}
	a := form("/ui/prompts", url.Values{"name": {"brief"}, "description": {"A short report"}, "text": {"A report on {{topic}} in {{language:English}}"}}.Encode())
	a.must(t, "made", http.StatusSeeOther)
	id := regexp.MustCompile(`prompts/([0-9a-f-]{36})`).FindStringSubmatch(a.header.Get("Location"))[1]
	form("/ui/prompts", "name=brief&text=x").want(t, "a name twice", http.StatusConflict, "already have a prompt", `value="brief"`)
	me.do(t, "GET", "/workspace/prompts", "", "Accept", "text/html", "Accept-Language", "zh-CN").holds(t, "the list", "/brief", "提示词")
	const thread = "0199aaaa-0000-7000-8000-000000000001"
	menu := me.do(t, "GET", "/ui/commands?new=1&thread="+thread, "", "X-Fawn", "1").body
	webtest.Holds(t, "the menu", menu, `data-text="/brief "`, "A short report")
	at := "/ui/threads/" + thread + "/saved-prompt"
	form("/ui/threads", "thread="+thread+"&text=%2Fbrief", "X-Fawn", "1").holds(t, "its name as the message", "saved-prompt?prompt="+id)
	me.do(t, "GET", at+"?prompt="+id, "", "X-Fawn", "1").holds(t, "the form", `name="a:topic"`, ">English<")
	form(at, "prompt="+id+"&a%3Atopic=bees&a%3Alanguage=Danish", "X-Fawn", "1").holds(t, "filled", "A report on bees in Danish")
	form(at, "prompt="+id+"&a%3Alanguage=Danish", "X-Fawn", "1").want(t, "a field is missing", http.StatusUnprocessableEntity, `"error"`)
	if a := form(at, "prompt="+id+"&a%3Atopic=bees&a%3Alanguage=Danish"); a.status != http.StatusSeeOther || !strings.Contains(a.header.Get("Location"), "bees") {
		t.Errorf("without a script: %d %s", a.status, a.header.Get("Location"))
	}
	if a := me.do(t, "GET", "/workspace/chats/new?prompt="+id, "", "Accept", "text/html"); !strings.Contains(a.header.Get("Location"), "saved-prompt?prompt="+id) {
		t.Errorf("from elsewhere: %d %s", a.status, a.header.Get("Location"))
	}
	for _, q := range []string{"brief", "/brief", "short"} {
		me.do(t, "GET", "/ui/palette?q="+url.QueryEscape(q), "", "X-Fawn", "1").holds(t, fmt.Sprintf("the palette doesn't find %q", q), `data-prompt="`+id+`"`)
	}
	if a := me.do(t, "GET", "/ui/prompts/export", ""); !strings.Contains(a.header.Get("Content-Disposition"), "prompts.json") || !strings.Contains(a.body, "{{topic}}") {
		t.Errorf("export: %v %s", a.header, a.body)
	}
	body, kind := webtest.Form(t, "files", "p.json", `[{"command":"/other","title":"O","content":"C"}]`)
	if a := me.do(t, "POST", "/ui/prompts/import", body, "Content-Type", kind, "Accept", "text/html"); a.header.Get("Location") != "/workspace/prompts?added=1" {
		t.Errorf("import: %d %s", a.status, a.body)
	}
	body, kind = webtest.Form(t, "files", "p.json", `not json`)
	me.do(t, "POST", "/ui/prompts/import", body, "Content-Type", kind, "Accept", "text/html").want(t, "a bad import", http.StatusUnprocessableEntity,
		"no prompts that can be imported")
	form("/ui/prompts/"+id+"/duplicate", "").want(t, "duplicate", http.StatusSeeOther)
	if a := form("/ui/prompts/"+id+"/delete", ""); a.header.Get("Location") != "/workspace/prompts?deleted=1" {
		t.Errorf("delete: %d", a.status)
	}
}
