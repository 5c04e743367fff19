package web_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"fawn/agent/agenttest/must"
	"fawn/web"
	"fawn/web/account"
	"fawn/web/e2e/scriptmodel"
	"fawn/web/webtest"
)

// twoModels is a configuration with the models script and other.
func twoModels(t *testing.T) string {
	one := webtest.Model(scriptmodel.Start(t))
	entry := one[strings.Index(one, "{") : strings.LastIndex(one, "}")+1]
	return "agents_api: {enabled: true}\ntitle: {model_name: offline}\nmemory: {model_name: offline}\n" +
		"models: [" + entry + ", " + strings.Replace(entry, "name: script", "name: other", 1) + "]\n"
}

// group makes a group of everybody with the role user.
func (b *browser) group(t *testing.T, rules string) string {
	t.Helper()
	a := b.do(t, "POST", "/api/groups", `{"name":"Interns","roles":["user"]`+rules+`}`)
	a.must(t, "create a group", http.StatusCreated)
	return webtest.Decode[struct{ ID string }](t, a.body).ID
}

// TestAGroupLimitsModelsAtEveryDoor: a model that no group allows is refused with what, why and whom to ask, and no
// list shows it.
func TestAGroupLimitsModelsAtEveryDoor(t *testing.T) {
	t.Parallel()
	ann := guarded(t, twoModels(t)).owner(t)
	zoe := ann.member(t, "zoe@x.org", account.RoleUser)
	const say = `"input":{"messages":[{"type":"human","content":"hello"}]}`
	chosen := `{"assistant_id":"lead_agent",` + say + `,"context":{"model_name":"other"}}`
	zoe.do(t, "POST", "/threads/before/runs/wait", chosen).must(t, "without groups", http.StatusOK)
	id := ann.group(t, `,"models":["script"]`)
	for _, door := range []struct{ path, body string }{
		{"/threads/t1/runs", chosen}, {"/threads/t2/runs/wait", chosen}, {"/threads/t3/runs/stream", chosen},
		{"/runs/wait", chosen}, {"/api/threads/t4/runs/stream", chosen}, {"/api/langgraph/threads/t5/runs/wait", chosen},
	} {
		zoe.do(t, "POST", door.path, door.body).want(t, door.path, http.StatusForbidden, "other", "Interns", "ask an administrator")
	}
	usual := `{"assistant_id":"lead_agent",` + say + `}`
	zoe.do(t, "POST", "/threads/after/runs/wait", usual).want(t, "the usual model", http.StatusOK)
	ann.do(t, "POST", "/threads/anns/runs/wait", chosen).want(t, "the owner", http.StatusOK)
	for _, list := range []string{"/api/models", "/v1/models", "/workspace/chats/new"} {
		zoe.do(t, "GET", list, "", "Accept", "text/html").want(t, fmt.Sprintf("%s shows the model", list), http.StatusOK, `!"other"`)
	}
	zoe.do(t, "GET", "/api/models/other", "").want(t, "the model", http.StatusNotFound)
	zoe.do(t, "POST", "/api/threads/before/suggestions", `{"model_name":"other","messages":[{"role":"user","content":"hello"}]}`).want(t, "suggestions by another model", http.StatusForbidden)
	// A page says it in the reader's language.
	a := zoe.do(t, "POST", "/ui/threads", "text=hello&model=other&thread=", "Content-Type", "application/x-www-form-urlencoded",
		"Accept", "text/html", "Accept-Language", "zh-CN")
	if a.status >= http.StatusBadRequest {
		t.Errorf("a page takes a model that may be used instead: %d %s", a.status, a.body)
	}
	ann.do(t, "PUT", "/api/groups/"+id, `{"name":"Interns","roles":["user"],"models":[]}`).must(t, "change", http.StatusOK)
	zoe.do(t, "POST", "/threads/none/runs/wait", usual).want(t, "without any model", http.StatusForbidden, "any model")
	ann.do(t, "DELETE", "/api/groups/"+id, "").must(t, "/api/groups/"+id, http.StatusOK)
	zoe.do(t, "POST", "/threads/again/runs/wait", chosen).want(t, "after the group", http.StatusOK)
}

// TestAGroupLimitsRunsOfADay: also across a restart, for deleted chats and for runs whose threads are gone.
func TestAGroupLimitsRunsOfADay(t *testing.T) {
	t.Parallel()
	dir, conf := t.TempDir(), scripted(t)
	ann := start(t, conf, func(o *web.Options) { o.Addr, o.Data = "0.0.0.0:0", dir }).owner(t)
	zoe := ann.member(t, "zoe@x.org", account.RoleUser)
	ann.group(t, `,"runs_per_day":3`)
	token := zoe.token(t, "write")
	run := func(s *server, path string) answer {
		return s.send(t, "POST", path, human("hello"), "X-Api-Key", token)
	}
	for i, path := range []string{"/threads/a/runs/wait", "/runs/wait"} {
		run(ann.server, path).must(t, fmt.Sprintf("run %d", i+1), http.StatusOK)
	}
	ann.send(t, "DELETE", "/threads/a", "", "X-Api-Key", token).fine(t, "delete")
	must.Do(t, ann.stop())
	again := start(t, conf, func(o *web.Options) { o.Addr, o.Data = "0.0.0.0:0", dir })
	run(again, "/threads/b/runs/wait").must(t, "the third run", http.StatusOK)
	run(again, "/threads/b/runs/wait").want(t, "the fourth run", http.StatusForbidden, "daily limit of runs (3)")
	seen := webtest.Decode[struct {
		Limited bool
		Today   struct {
			Runs    int
			MaxRuns int `json:"max_runs"`
		}
	}](t, again.send(t, "GET", "/api/access", "", "X-Api-Key", token).body)
	if !seen.Limited || seen.Today.Runs != 3 || seen.Today.MaxRuns != 3 {
		t.Errorf("access: %+v", seen)
	}
}

// TestALimitOfTokensEndsARunAndRefusesTheNext with a text that says so.
func TestALimitOfTokensEndsARunAndRefusesTheNext(t *testing.T) {
	t.Parallel()
	ann := guarded(t, scripted(t)).owner(t)
	zoe := ann.member(t, "zoe@x.org", account.RoleUser)
	ann.group(t, `,"tokens_per_day":1`)
	zoe.do(t, "POST", "/threads/a/runs/wait", human("hello")).must(t, "the first run", http.StatusOK)
	zoe.do(t, "POST", "/threads/a/runs/wait", human("hello")).want(t, "the second run", http.StatusForbidden, "daily limit of tokens (1)")
	a := ann.do(t, "GET", "/api/console/usage?user_id="+webtest.Decode[struct{ ID string }](t, zoe.do(t, "GET", "/api/v1/auth/me", "").body).ID, "")
	if usage := webtest.Decode[struct {
		Runs   int   `json:"total_runs"`
		Tokens int64 `json:"total_tokens"`
	}](t, a.body); usage.Runs != 1 || usage.Tokens == 0 {
		t.Errorf("usage by person: %s", a.body)
	}
	zoe.do(t, "GET", "/api/console/usage?user_id=default", "").want(t, "usage of somebody else", http.StatusForbidden)
}

// TestAGroupLimitsAgentsSkillsAndServers in what runs and lists have.
func TestAGroupLimitsAgentsSkillsAndServers(t *testing.T) {
	t.Parallel()
	ann := guarded(t, "agents_api: {enabled: true}\n"+scripted(t)).owner(t)
	zoe := ann.member(t, "zoe@x.org", account.RoleUser)
	for _, name := range []string{"writer", "critic"} {
		zoe.do(t, "POST", "/api/agents", `{"name":"`+name+`","soul":"You write."}`).fine(t, "agent")
	}
	skills := webtest.Decode[struct{ Skills []struct{ Name string } }](t, zoe.do(t, "GET", "/api/skills", "").body).Skills
	ann.group(t, `,"agents":["writer"],"skills":[]`)
	for name, want := range map[string]int{"writer": http.StatusOK, "critic": http.StatusForbidden} {
		zoe.do(t, "POST", "/threads/of-"+name+"/runs/wait", `{"assistant_id":"`+name+`","input":{"messages":[{"type":"human","content":"hello"}]}}`).want(t, name, want)
	}
	zoe.do(t, "GET", "/api/agents", "").holds(t, "agents", "writer", "!critic")
	zoe.do(t, "POST", "/assistants/search", "{}").holds(t, "assistants", "!critic")
	left := webtest.Decode[struct{ Skills []struct{ Name string } }](t, zoe.do(t, "GET", "/api/skills", "").body).Skills
	if len(left) > 0 {
		t.Errorf("skills: %v of %v", left, skills)
	}
}

// TestGroupsBelongToAdministrators, and are not there without accounts.
func TestGroupsBelongToAdministrators(t *testing.T) {
	t.Parallel()
	ann := guarded(t, scripted(t)).owner(t)
	zoe := ann.member(t, "zoe@x.org", account.RoleUser)
	id := ann.group(t, "")
	for _, r := range [][2]string{{"GET", "/api/groups"}, {"POST", "/api/groups"}, {"PUT", "/api/groups/" + id},
		{"DELETE", "/api/groups/" + id}, {"POST", "/api/announcements"}, {"POST", "/ui/groups"}, {"POST", "/ui/announcements"}} {
		zoe.do(t, r[0], r[1], "{}").want(t, r, http.StatusForbidden)
	}
	for name, body := range map[string]string{"taken": `{"name":"Interns"}`, "no name": `{"name":" "}`,
		"owner": `{"name":"x","roles":["owner"]}`, "negative": `{"name":"x","runs_per_day":-1}`, "stranger": `{"name":"x","members":["?"]}`} {
		if a := ann.do(t, "POST", "/api/groups", body); a.status != http.StatusConflict && a.status != http.StatusUnprocessableEntity {
			t.Errorf("%s: %d %s", name, a.status, a.body)
		}
	}
	for _, path := range []string{"/workspace/settings/groups", "/workspace/settings/announcements"} {
		zoe.do(t, "GET", path, "", "Accept", "text/html").want(t, fmt.Sprintf("%s as a user", path), http.StatusNotFound)
		ann.do(t, "GET", path, "", "Accept", "text/html").want(t, path, http.StatusOK)
	}
	form := []string{"Content-Type", "application/x-www-form-urlencoded", "Accept", "text/html"}
	ann.do(t, "POST", "/ui/groups", "name=Design&all_agents=1&models=script&all_skills=1&all_mcp_servers=1&runs=20", form...).want(t, "the form", http.StatusSeeOther)
	ann.do(t, "GET", "/api/groups", "").holds(t, "made by the form", `"models":["script"]`, `"runs_per_day":20`)
	ann.do(t, "POST", "/ui/groups", "name=Bad&runs=many", form...).want(t, "a bad limit", http.StatusUnprocessableEntity, "whole number")
	open := start(t, scripted(t))
	for _, path := range []string{"/api/groups", "/api/announcements", "/workspace/settings/groups"} {
		open.send(t, "GET", path, "", "Accept", "text/html").want(t, fmt.Sprintf("%s without accounts", path), http.StatusNotFound)
	}
}

// TestAnnouncementsAreShownUntilDismissed, by each person for themselves.
func TestAnnouncementsAreShownUntilDismissed(t *testing.T) {
	t.Parallel()
	ann := guarded(t, scripted(t)).owner(t)
	zoe := ann.member(t, "zoe@x.org", account.RoleUser)
	a := ann.do(t, "POST", "/api/announcements", `{"text":"Maintenance <tonight>","level":"warning"}`)
	a.must(t, "the answer", http.StatusCreated)
	id := webtest.Decode[struct{ ID string }](t, a.body).ID
	shown := func(b *browser) bool {
		return strings.Contains(b.do(t, "GET", "/workspace/chats/new", "", "Accept", "text/html").body, "Maintenance &lt;tonight&gt;")
	}
	if !shown(ann) || !shown(zoe) {
		t.Error("not shown to everybody")
	}
	if a := zoe.do(t, "POST", "/ui/announcements/"+id+"/dismiss", "next=%2Fworkspace%2Fchats", "Content-Type",
		"application/x-www-form-urlencoded", "Accept", "text/html"); a.status != http.StatusSeeOther || a.header.Get("Location") != "/workspace/chats" {
		t.Errorf("dismiss: %d %v", a.status, a.header)
	}
	if !shown(ann) || shown(zoe) {
		t.Error("dismissed for the wrong people")
	}
	ann.do(t, "POST", "/api/announcements", `{"text":"x","ends_at":"2020-01-01T00:00:00Z"}`).want(t, "an end in the past", http.StatusUnprocessableEntity)
	if a := ann.do(t, "DELETE", "/api/announcements/"+id, ""); a.status != http.StatusOK || shown(ann) {
		t.Errorf("delete: %d", a.status)
	}
}

// TestRunsAtOnceShareTheTokensOfADay: each counts what the others have taken by then, and has at most one call beyond that
// and its last turn.
func TestRunsAtOnceShareTheTokensOfADay(t *testing.T) {
	t.Parallel()
	model := scriptmodel.Start(t)
	ann := guarded(t, scriptedBy(model)).owner(t)
	zoe := ann.member(t, "zoe@x.org", account.RoleUser)
	shareDay(t, model, ann, zoe)
}

// TestRunsAtTwoServersShareTheTokensOfADay as those at one do.
func TestRunsAtTwoServersShareTheTokensOfADay(t *testing.T) {
	t.Parallel()
	model := scriptmodel.Start(t)
	conf := clusteredWith(t, model, 200) + "auth: {required: always}\n"
	a, b := start(t, conf), start(t, conf)
	ann := a.owner(t)
	zoe := ann.member(t, "zoe@x.org", account.RoleUser)
	shareDay(t, model, ann, zoe, &browser{b, zoe.cookies})
}

// shareDay gives members a limit for the day and has one of them, at each of several servers in turn, start runs that
// would go far beyond it.
func shareDay(t *testing.T, model *scriptmodel.Server, ann *browser, at ...*browser) {
	t.Helper()
	ann.group(t, `,"tokens_per_day":1000`)
	const usage = `"usage":{"prompt":90,"completion":10}`
	script := `SCRIPT{"turns":[{"gate":"go","tool_calls":[{"name":"ls","args":{"path":"/mnt/user-data/workspace"}}],` + usage + `}`
	for i := range 30 {
		script += fmt.Sprintf(`,{"tool_calls":[{"name":"ls","args":{"path":"/mnt/user-data/workspace/%d"}}],%s}`, i, usage)
	}
	script += `],"final":{"text":"done",` + usage + `}}`
	threads := []string{"a", "b", "c", "d"}
	zoe := at[0]
	for i, thread := range threads {
		at[i%len(at)].do(t, "POST", "/threads/"+thread+"/runs", human(script, `"if_not_exists":"create"`, `"stream_mode":["values"]`)).must(t, "start", http.StatusOK)
	}
	webtest.Until(t, "all of them wait in their first call", func() bool { return len(model.Requests()) >= len(threads) })
	model.Open("go")
	for _, thread := range threads {
		webtest.Until(t, "the run ends", func() bool {
			a := zoe.do(t, "GET", "/threads/"+thread, "")
			return strings.Contains(a.body, `"status":"idle"`) || strings.Contains(a.body, `"status":"error"`)
		})
		zoe.do(t, "GET", "/threads/"+thread+"/state", "").holds(t, fmt.Sprintf("%s has no answer", thread), "done")
	}
	n := 0 // calls that go on, of 100 tokens each
	for _, r := range model.Requests() {
		if strings.Contains(string(r.Body), `"tools":[`) {
			n++
		}
	}
	if most := 10 + len(threads); n < 10 || n > most {
		t.Errorf("%d calls for 1000 tokens, want %d at most", n, most)
	}
	for i, zoe := range at {
		zoe.do(t, "POST", "/threads/e/runs/wait", human("hello")).want(t, fmt.Sprintf("the next run at server %d", i+1), http.StatusForbidden)
	}
}

// TestAGroupLimitsServersByAnyName, also by those that Fawn has for tools of clients and for agents of others.
func TestAGroupLimitsServersByAnyName(t *testing.T) {
	t.Parallel()
	data := t.TempDir()
	extensions(t, data, map[string]any{"client": map[string]any{"type": "http", "url": appServer(t)},
		"acp": map[string]any{"type": "http", "url": appServer(t)}})
	ann := start(t, scripted(t), func(o *web.Options) { o.Addr, o.Data = "0.0.0.0:0", data }).owner(t)
	zoe := ann.member(t, "zoe@x.org", account.RoleUser)
	n := 0
	call := func(b *browser, tool string) string {
		t.Helper()
		n++
		return b.do(t, "POST", fmt.Sprintf("/threads/%d/runs/wait", n),
			human(`SCRIPT{"turns":[{"tool_calls":[{"name":"`+tool+`","args":{}}]},{"text":"ok"}]}`)).body
	}
	for _, tool := range []string{"client_chart", "acp_chart"} {
		webtest.Until(t, tool+" is offered", func() bool { return strings.Contains(call(ann, tool), "a line of 3") })
	}
	ann.group(t, `,"mcp_servers":[]`)
	for _, tool := range []string{"client_chart", "acp_chart"} {
		webtest.Holds(t, tool, call(zoe, tool), "!a line of 3", "there is no tool named")
	}
}

// TestAProjectDoesNotFailMembersOverWhatTheyMayNotUse: another model answers, with a note, and nothing names the
// project's one, which stays when a member saves the settings.
func TestAProjectDoesNotFailMembersOverWhatTheyMayNotUse(t *testing.T) {
	t.Parallel()
	ann := guarded(t, twoModels(t)).owner(t)
	zoe := ann.member(t, "zoe@x.org", account.RoleUser)
	ann.group(t, `,"models":["script"],"skills":["charts"],"mcp_servers":[]`)
	id := newProject(t, ann, `{"name":"P","model_name":"other","skills":["charts","secret-skill"],"mcp_servers":["secret-server"]}`)
	at := "/api/projects/" + id
	ann.do(t, "POST", at+"/members", `{"email":"zoe@x.org","role":"editor"}`).must(t, "share", http.StatusOK)
	const say = `{"assistant_id":"lead_agent","input":{"messages":[{"type":"human","content":"hello"}]},"context":{"project_id":"`
	zoe.do(t, "POST", "/threads/zoes/runs/wait", say+id+`"}}`).must(t, "a member's run", http.StatusOK)
	runs := zoe.do(t, "GET", "/threads/zoes/runs", "").body
	webtest.Holds(t, "the run says", runs, "project_warning", "may not use the project's model", `!"other"`)
	ann.do(t, "POST", "/threads/anns/runs/wait", say+id+`"}}`).must(t, "the owner's run", http.StatusOK)
	webtest.Holds(t, "the owner's run says", ann.do(t, "GET", "/threads/anns/runs", "").body, "!project_warning")
	for _, path := range []string{at, "/api/projects", "/workspace/projects/" + id} {
		zoe.do(t, "GET", path, "", "Accept", "text/html").want(t, fmt.Sprintf("%s tells a member", path), http.StatusOK, `!"other"`, "!secret-")
	}
	zoe.do(t, "PATCH", at, `{"skills":["charts"],"mcp_servers":[]}`).must(t, "a member changes it", http.StatusOK)
	form := "name=P&memory=project&agent=&model=%7Ekept&shownskills=1&skills=charts"
	zoe.do(t, "POST", "/ui/projects/"+id+"/settings", form, "Content-Type", "application/x-www-form-urlencoded", "Accept", "text/html").must(t, "a member saves the form", http.StatusSeeOther)
	ann.do(t, "GET", at, "").holds(t, "after that", `"model_name":"other"`, "secret-skill", "secret-server")
}

// TestRecordsOfModelsNameOnlyThoseThatMayBeUsed: how often models were preferred is told of the asker's models.
func TestRecordsOfModelsNameOnlyThoseThatMayBeUsed(t *testing.T) {
	t.Parallel()
	ann := guarded(t, twoModels(t)).owner(t)
	zoe := ann.member(t, "zoe@x.org", account.RoleUser)
	ann.group(t, `,"models":["script"]`)
	made := webtest.Decode[struct {
		ID    string
		Sides []struct {
			Thread string `json:"thread_id"`
		}
	}](t, ann.do(t, "POST", "/api/comparisons", `{"message":"hello","models":["script","other"]}`).body)
	ann.do(t, "POST", "/api/comparisons/"+made.ID+"/choose", `{"thread_id":"`+made.Sides[1].Thread+`"}`).must(t, "choose", http.StatusOK)
	ann.do(t, "GET", "/api/comparisons/records", "").holds(t, "the owner", `"other"`)
	zoe.do(t, "GET", "/api/comparisons/records", "").want(t, "a member", http.StatusOK, `!"other"`)
}
