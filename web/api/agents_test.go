package api_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"fawn/agent"
	"fawn/agent/agenttest/must"
	"fawn/agent/config"
	"fawn/agent/profile"
	"fawn/web/route"
)

// withAgents opens the API of custom agents, with one configured model.
func withAgents(t *testing.T, on bool) option {
	snap := &config.Snapshot{File: config.Default()}
	snap.File.AgentsAPI.Enabled = on
	snap.File.Models = []config.Model{{Name: "a"}}
	library := withLibrary(t)
	return func(d *route.Deps) {
		library(d)
		d.Snapshot = func() *config.Snapshot { return snap }
	}
}

// withLibrary keeps custom agents in the data folder.
func withLibrary(t *testing.T) option {
	return func(d *route.Deps) {
		l, err := profile.Open(d.Dirs.Root, "default")
		must.Do(t, err)
		t.Cleanup(func() { l.Close() })
		d.Agents = l
	}
}

func TestAgentsOverREST(t *testing.T) {
	w := open(t, &agent.Agent{}, withAgents(t, true))
	const bare = `"model":null,"tool_groups":null,"skills":null,"model_settings":null,"thinking_enabled":null,"reasoning_effort":null`
	const full = `"model":"a","tool_groups":["web"],"skills":[],"model_settings":{"temperature":0,"max_tokens":10},"thinking_enabled":false,"reasoning_effort":"high"`
	for _, c := range []struct {
		method, path, body string
		status             int
		want               string
	}{
		{"GET", "/api/agents", "", 200, `{"agents":[]}`},
		{"GET", "/api/features", "", 200, `"agents_api":{"enabled":true}`},
		{"GET", "/api/agents/check?name=Reviewer", "", 200, `{"available":true,"name":"reviewer"}`},
		{"GET", "/api/agents/check?name=a_b", "", 422, `"query","name"`},
		{"GET", "/api/agents/check?name=new", "", 422, "reserved"},
		{"GET", "/api/agents/check", "", 422, "letters, digits"},
		{"POST", "/api/agents", `{"name":"Reviewer","description":"d","soul":"s"}`, 201, `{"name":"reviewer","description":"d",` + bare + `,"soul":"s"}`},
		{"POST", "/api/agents", `{"name":"reviewer"}`, 409, "already exists"},
		{"GET", "/api/agents/check?name=REVIEWER", "", 200, `{"available":false,"name":"reviewer"}`},
		{"POST", "/api/agents", `{"name":"../x"}`, 422, `"name"`},
		{"POST", "/api/agents", `{}`, 422, `"name"`},
		{"POST", "/api/agents", `{"name":"x","colour":1}`, 422, "colour"},
		{"POST", "/api/agents", `{"name":"x","model":"nobody"}`, 422, "there is no model"},
		{"POST", "/api/agents", `{"name":"x","tool_groups":"web"}`, 422, "tool_groups"},
		{"POST", "/api/agents", `{"name":"x","skills":["a b"]}`, 422, "skills"},
		{"POST", "/api/agents", `{"name":"x","model_settings":{"temperature":3}}`, 422, "temperature"},
		{"POST", "/api/agents", `{"name":"x","model_settings":{"top_p":1}}`, 422, "model_settings"},
		{"POST", "/api/agents", `{"name":"x","reasoning_effort":"extreme"}`, 422, "reasoning_effort"},
		{"POST", "/api/agents", `{"name":"x","soul":"` + strings.Repeat("x", profile.MaxSoul+1) + `"}`, 422, "soul"},
		{"PUT", "/api/agents/reviewer", `{` + full + `}`, 200, `{"name":"reviewer","description":"d",` + full + `,"soul":"s"}`},
		{"PUT", "/api/agents/Reviewer", `{"soul":"t"}`, 200, full + `,"soul":"t"`},
		{"PUT", "/api/agents/reviewer", `{"name":"other"}`, 422, "keeps its name"},
		{"PUT", "/api/agents/reviewer", `{"model":"nobody"}`, 422, "there is no model"},
		{"GET", "/api/agents/reviewer", "", 200, full + `,"soul":"t"`},
		{"PUT", "/api/agents/reviewer",
			`{"description":null,"model":null,"tool_groups":null,"skills":null,"model_settings":null,"thinking_enabled":null,"reasoning_effort":null}`,
			200, `"description":"",` + bare},
		{"PUT", "/api/agents/nobody", `{}`, 404, "not found"},
		{"GET", "/api/agents/nobody", "", 404, "not found"},
		{"GET", "/api/agents", "", 200, `{"agents":[{"name":"reviewer","description":"",` + bare + `}]}`},
		{"GET", "/api/user-profile", "", 200, `{"content":""}`},
		{"PUT", "/api/user-profile", `{"content":"I am Ada"}`, 200, `{"content":"I am Ada"}`},
		{"PUT", "/api/user-profile", `{}`, 422, "content"},
		{"GET", "/api/user-profile", "", 200, `I am Ada`},
		{"DELETE", "/api/agents/reviewer", "", 204, ""},
		{"DELETE", "/api/agents/reviewer", "", 404, "not found"},
		{"DELETE", "/api/agents/..", "", 404, ""},
	} {
		w.send(t, c.method, c.path, c.body).want(t, fmt.Sprintf("%s %s %.200s\ngot \nwant %s", c.method, c.path, c.body, c.want), c.status, c.want)
	}
	if b, err := os.ReadFile(filepath.Join(w.dirs.Root, "USER.md")); err != nil || string(b) != "I am Ada" {
		t.Error(string(b), err)
	}
}

func TestBrokenAgentIsToldAndBreaksNothing(t *testing.T) {
	w := open(t, &agent.Agent{}, withAgents(t, true))
	at := filepath.Join(w.dirs.Root, "users", "default", "agents", "torn")
	must.Do(t, os.MkdirAll(at, 0o700))
	err := os.WriteFile(filepath.Join(at, "config.yaml"), []byte("name: torn\ntool_groups: web\n"), 0o600)
	must.Do(t, err)
	w.send(t, "POST", "/api/agents", `{"name":"fine"}`)
	const why = "config.yaml, line 2: tool_groups must be a list of names"
	for _, c := range []struct {
		method, path, body string
		status             int
		want               string
	}{
		{"GET", "/api/agents", "", 200, why},
		{"GET", "/api/agents", "", 200, `"name":"fine"`},
		{"GET", "/api/agents/torn", "", 409, why},
		{"PUT", "/api/agents/torn", `{"soul":"s"}`, 409, why},
		{"DELETE", "/api/agents/torn", "", 204, ""},
	} {
		w.send(t, c.method, c.path, c.body).want(t, fmt.Sprintf("%s %s", c.method, c.path), c.status, c.want)
	}
}

func TestAgentsOfOthersAreNotThere(t *testing.T) {
	w := open(t, &agent.Agent{}, withAgents(t, true))
	w.send(t, "POST", "/api/agents", `{"name":"mine"}`)
	w.send(t, "PUT", "/api/user-profile", `{"content":"mine"}`)
	for _, c := range []struct {
		method, path, body string
		status             int
		want               string
	}{
		{"GET", "/api/agents", "", 200, `{"agents":[]}`},
		{"GET", "/api/agents/check?name=mine", "", 200, `"available":true`},
		{"GET", "/api/agents/mine", "", 404, ""},
		{"PUT", "/api/agents/mine", `{}`, 404, ""},
		{"DELETE", "/api/agents/mine", "", 404, ""},
		{"GET", "/api/user-profile", "", 200, `{"content":""}`},
		{"POST", "/api/agents", `{"name":"mine"}`, 201, ""},
	} {
		w.send(t, c.method, c.path, c.body, "X-Owner", "eve").want(t, fmt.Sprintf("%s %s", c.method, c.path), c.status, c.want)
	}
}

func TestAgentsAPIIsOffUnlessOpened(t *testing.T) {
	w := open(t, &agent.Agent{}, withAgents(t, false))
	for _, c := range [][2]string{{"GET", "/api/agents"}, {"POST", "/api/agents"}, {"GET", "/api/agents/check"},
		{"GET", "/api/agents/x"}, {"PUT", "/api/agents/x"}, {"DELETE", "/api/agents/x"}, {"GET", "/api/user-profile"},
		{"PUT", "/api/user-profile"}} {
		if a := w.send(t, c[0], c[1], ""); a.status != 403 || !strings.Contains(a.body, "agents_api.enabled") {
			t.Errorf("%s %s: %d %s", c[0], c[1], a.status, a.body)
		}
	}
	w.send(t, "GET", "/api/features", "").holds(t, "/api/features", `"agents_api":{"enabled":false}`)
}
