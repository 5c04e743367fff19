package ui_test

import (
	"fmt"
	"html"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"fawn/agent/agenttest"
	"fawn/agent/agenttest/must"
	"fawn/agent/config"
	"fawn/agent/profile"
	"fawn/web/webtest"
)

// twoModels is a configuration with models that nobody calls.
func twoModels() *config.Snapshot {
	s := &config.Snapshot{File: config.Default()}
	s.File.Models = []config.Model{{Name: "one"}, {Name: "two", DisplayName: "Model Two"}}
	return s
}

// asked are the options and the assistant of the newest run of a thread.
func (w *world) asked(thread string) (options map[string]any, assistant string) {
	w.Helper()
	w.settle(thread)
	list, err := w.db.Runs(w.Context(), thread, "", 1, 0)
	if err != nil || len(list) == 0 {
		w.Fatal(err)
	}
	kwargs := webtest.Decode[struct {
		Context map[string]any `json:"context"`
	}](w, string(list[0].Kwargs))
	return kwargs.Context, list[0].AssistantID
}

func TestAgentIsMadeChangedAndDeletedByForm(t *testing.T) {
	w := open(t, &agenttest.Script{Replies: []agenttest.Reply{agenttest.Say("hi")}}, twoModels())
	webtest.Holds(t, "the empty gallery says nothing", w.page("/workspace/agents"), "made any agents yet")
	good := func() url.Values {
		return url.Values{"name": {"Code-Reviewer"}, "description": {"Reads <diffs>"},
			"soul": {"Be strict.\r\nBe kind."}, "model": {"two"}, "group": {"file:read", "bash"}, "thinking": {"off"},
			"effort": {"low"}, "temperature": {"0,5"}, "max_tokens": {"200"}}
	}
	for field, c := range map[string]struct{ value, says string }{
		"name": {"../x", "letters, digits and hyphens"}, "model": {"none", "configured"},
		"temperature": {"hot", "0 to 2"}, "max_tokens": {"0", "200,000"},
		"soul": {strings.Repeat("x", profile.MaxSoul+1), "64 KiB"}, "group": {"a b", "no spaces"},
	} {
		form := good()
		form.Set(field, c.value)
		a := w.post("/ui/agents", form)
		if a.StatusCode != http.StatusUnprocessableEntity || !strings.Contains(html.UnescapeString(a.body), c.says) ||
			!strings.Contains(a.body, "Reads &lt;diffs&gt;") {
			t.Errorf("%s: %d", field, a.StatusCode)
		}
	}
	if a := w.post("/ui/agents", good()); a.StatusCode != http.StatusSeeOther ||
		a.Header.Get("Location") != "/workspace/agents/code-reviewer?saved=1" {
		t.Fatal(a.StatusCode, a.Header)
	}
	a, err := w.agents.Get("default", "code-reviewer")
	if err != nil || a.Soul != "Be strict.\nBe kind." || a.Model != "two" ||
		strings.Join(a.ToolGroups, " ") != "file:read bash" || *a.Thinking || a.Effort != "low" ||
		*a.Temperature != 0.5 || *a.MaxTokens != 200 {
		t.Errorf("%+v %v", a, err)
	}
	w.post("/ui/agents", good(), "Accept-Language", "zh-CN").want(t, "a second one of that name", http.StatusUnprocessableEntity, "已有同名的智能体")
	page := w.page("/workspace/agents")
	webtest.Holds(t, "the gallery does not show it", page, "Reads &lt;diffs&gt;", "Uses Model Two", `href="/workspace/chats/new?agent=code-reviewer"`)
	form := good()
	form.Set("all_tools", "1")
	form.Set("soul", "New.")
	w.post("/ui/agents/by-name/code-reviewer", form).must(t, "/ui/agents/by-name/code-reviewer", http.StatusSeeOther)
	form.Set("temperature", "9")
	form.Set("soul", "Newer.")
	w.post("/ui/agents/by-name/code-reviewer", form).want(t, "/ui/agents/by-name/code-reviewer", http.StatusUnprocessableEntity, "Newer.")
	if a, _ := w.agents.Get("default", "code-reviewer"); a.ToolGroups != nil || a.Soul != "New." {
		t.Errorf("%+v", a)
	}
	w.post("/ui/agents/by-name/none", form).want(t, "/ui/agents/by-name/none", http.StatusNotFound)
	w.begin("t1", "hello")
	w.settle("t1")
	for at, to := range map[string]string{"t1": "/workspace/chats/t1",
		"new": "/workspace/chats/new?agent=code-reviewer"} {
		if a := w.get("/workspace/agents/code-reviewer/chats/" + at); a.StatusCode != http.StatusFound ||
			a.Header.Get("Location") != to {
			t.Error(a.StatusCode, a.Header)
		}
	}
	w.get("/workspace/agents/code-reviewer/chats/none").want(t, "/workspace/agents/code-reviewer/chats/none", http.StatusNotFound)
	for range 2 {
		w.post("/ui/agents/by-name/code-reviewer/delete", nil).want(t, "/ui/agents/by-name/code-reviewer/delete", http.StatusSeeOther)
	}
	if w.agents.Has("default", "code-reviewer") {
		t.Error("it is still there")
	}
}

func TestFilesOfAnAgentAreEditedByHand(t *testing.T) {
	w := open(t, &agenttest.Script{})
	at := filepath.Join(w.dirs.Root, "users", "default", "agents", "torn")
	must.Do(t, os.MkdirAll(at, 0o700))
	must.Do(t, os.WriteFile(filepath.Join(at, "config.yaml"), []byte("skills: <all>\n"), 0o600))
	const why = "line 1: skills must be a list of names"
	for _, path := range []string{"/workspace/agents", "/workspace/agents/torn"} {
		webtest.Holds(t, fmt.Sprintf("%s does not say what is wrong", path), w.page(path), why)
	}
	page := w.page("/workspace/agents/torn")
	webtest.Holds(t, "the file cannot be mended, or the form can be used", page, "skills: &lt;all&gt;", `!name="temperature"`)
	w.post("/ui/agents/by-name/torn", url.Values{"soul": {"x"}}).want(t, "/ui/agents/by-name/torn", http.StatusConflict)
	w.get("/ui/agents/by-name/torn/export").want(t, "/ui/agents/by-name/torn/export", http.StatusConflict)
	a := w.post("/ui/agents/by-name/torn/files", url.Values{"config": {"tool_groups: 3"}, "soul": {"mine"}})
	a.want(t, "the answer", http.StatusUnprocessableEntity, "tool_groups must be", "mine")
	w.post("/ui/agents/by-name/torn/files", url.Values{"config": {"# note\r\nskills: []"}, "soul": {"mine"}}).want(t, "/ui/agents/by-name/torn/files", http.StatusSeeOther)
	if b, err := os.ReadFile(filepath.Join(at, "config.yaml")); err != nil || string(b) != "# note\nskills: []" {
		t.Error(string(b), err)
	}
}

func TestAgentIsExportedAndImported(t *testing.T) {
	w := open(t, &agenttest.Script{})
	must.Do(t, w.agents.Create("default", profile.Agent{Name: "mine", Soul: "A soul.", ToolGroups: []string{"web"}}))
	file := w.get("/ui/agents/by-name/mine/export")
	if file.StatusCode != http.StatusOK || file.Header.Get("Content-Disposition") != `attachment; filename="mine.md"` ||
		file.Header.Get("X-Content-Type-Options") != "nosniff" {
		t.Fatal(file.StatusCode, file.Header)
	}
	send := func(name, data string) answer {
		return w.file("/ui/agents/import", "agent.md", data, "=name", name)
	}
	a := send("", file.body)
	a.want(t, "over one that is there", http.StatusUnprocessableEntity, "already have an agent")
	if a := send("Copy", file.body); a.StatusCode != http.StatusSeeOther ||
		a.Header.Get("Location") != "/workspace/agents/copy?saved=1" {
		t.Error(a.StatusCode, a.Header)
	}
	got, err := w.agents.Get("default", "copy")
	if err != nil || got.Soul != "A soul." || len(got.ToolGroups) != 1 {
		t.Errorf("%+v %v", got, err)
	}
	for _, bad := range []string{"", "PK\x03\x04", "no fence", strings.Repeat("x", 2*profile.MaxExport)} {
		send("", bad).want(t, fmt.Sprintf("%.10q", bad), http.StatusUnprocessableEntity, `role="alert"`)
	}
	if a := send("", strings.Repeat("x", 8*profile.MaxExport)); a.StatusCode != http.StatusRequestEntityTooLarge &&
		a.StatusCode != http.StatusUnprocessableEntity {
		t.Error("a huge file:", a.StatusCode)
	}
}

func TestChatsAreHandedToAgents(t *testing.T) {
	w := open(t,
		&agenttest.Script{Replies: []agenttest.Reply{agenttest.Say("a"), agenttest.Say("b"), agenttest.Say("c"),
			agenttest.Say("d"), agenttest.Say("e"), agenttest.Say("f"), agenttest.Say("g")}}, twoModels())
	err := w.agents.Create("default", profile.Agent{Name: "poet", Description: "Writes <verse>", Model: "two"})
	must.Do(t, err)
	check := func(what, thread, agent, assistant, model string) {
		t.Helper()
		o, a := w.asked(thread)
		name, _ := o["agent_name"].(string)
		if name != agent || a != assistant || o["model_name"] != model || o["is_bootstrap"] != nil {
			t.Errorf("%s: %v with %q", what, o, a)
		}
	}
	page := w.page("/workspace/chats/new?agent=poet")
	webtest.Holds(t, "the page of a new chat does not show the agent and its model", page,
		"<h1>poet</h1>", "Writes &lt;verse&gt;", `name="agent" value="poet"`, `value="two" checked`)
	webtest.Holds(t, "an agent that is not there is invited", w.page("/workspace/chats/new?agent=none"), `!name="agent"`)
	w.post("/ui/threads", url.Values{"thread": {"t1"}, "text": {"hi"}, "agent": {"poet"}, "model": {"one"},
		"mode": {"flash"}})
	check("a new chat with an agent", "t1", "poet", "poet", "one")
	webtest.Holds(t, "the chat does not show whom it is with", w.page("/workspace/chats/t1"), `href="/workspace/agents/poet"`)
	w.post("/ui/threads/t1/messages", url.Values{"text": {"again"}})
	check("the next message", "t1", "poet", "poet", "one")
	w.post("/ui/threads/t1/messages", url.Values{"text": {"@fawn hello"}}, script()...).holds(t, "the page still shows the old agent", `"location":"/workspace/chats/t1"`)
	check("handed back", "t1", "", "lead_agent", "one")
	webtest.Holds(t, "the chat still shows the agent", w.page("/workspace/chats/t1"), `!href="/workspace/agents/poet"`)
	w.post("/ui/threads/t1/messages", url.Values{"text": {"@Poet, once more"}})
	check("by a mention", "t1", "poet", "poet", "two")
	w.post("/ui/threads", url.Values{"thread": {"t2"}, "text": {"@poet hello"}, "model": {"one"}})
	check("a new chat by a mention", "t2", "poet", "poet", "two")
	w.post("/ui/threads", url.Values{"thread": {"t3"}, "text": {"@nobody hello"}, "agent": {"nobody"}})
	check("nobody of that name", "t3", "", "lead_agent", "one")
	must.Do(t, w.agents.Delete("default", "poet"))
	w.post("/ui/threads/t2/messages", url.Values{"text": {"still there?"}})
	check("an agent that is gone", "t2", "", "lead_agent", "two")
	list := w.get("/ui/commands", "X-Fawn", "1").body
	webtest.Holds(t, "agents are offered where there are none", list, "!@")
}

func TestAgentIsMadeByTalking(t *testing.T) {
	w := open(t,
		&agenttest.Script{Replies: []agenttest.Reply{agenttest.Say("what for?"), agenttest.Say("fine"),
			agenttest.Say("hello")}}, twoModels())
	for name, says := range map[string]string{"a b": "letters, digits", "new": "reserved"} {
		w.post("/ui/agents/talk", url.Values{"name": {name}, "text": {"Verses"}}).want(t, name, http.StatusUnprocessableEntity, says, "Verses")
	}
	a := w.post("/ui/agents/talk", url.Values{"name": {"Poet"}, "text": {"Verses"}})
	path := a.Header.Get("Location")
	thread := strings.TrimPrefix(path, "/workspace/chats/")
	if a.StatusCode != http.StatusSeeOther || thread == path {
		t.Fatal(a.StatusCode, path)
	}
	for n, text := range []string{"", "in rhyme"} {
		if n > 0 {
			w.post("/ui/threads/"+thread+"/messages", url.Values{"text": {text}})
		}
		o, assistant := w.asked(thread)
		if o["agent_name"] != "poet" || o["is_bootstrap"] != true || assistant != "lead_agent" {
			t.Errorf("%d: %v %s", n, o, assistant)
		}
	}
	page := w.page(path)
	webtest.Holds(t, "the chat does not show what it is about", page, "Creating the agent poet", "agent called “poet”", "Verses", `name="making"`)
	must.Do(t, w.agents.Create("default", profile.Agent{Name: "poet"}))
	w.post("/ui/threads/"+thread+"/messages", url.Values{"text": {"hello poet"}, "making": {"1"}}, script()...).holds(t, "the page still says that it is being made",
		`"location":"`+path+`"`)
	if o, assistant := w.asked(thread); o["agent_name"] != "poet" || o["is_bootstrap"] != nil || assistant != "poet" {
		t.Errorf("once it is made: %v %s", o, assistant)
	}
	webtest.Holds(t, "list", w.get("/ui/commands", "X-Fawn", "1").body, `data-text="@poet "`, `data-text="@fawn "`)
}
