package web_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"fawn/agent/agenttest"
	"fawn/web"
	"fawn/web/account"
	"fawn/web/e2e/scriptmodel"
	"fawn/web/webtest"
)

// tryOf is the body of a try of a model at an address.
func tryOf(address string) string {
	return `{"name":"tried","use":"openai","model":"script","api_key":"k","base_url":"` + address + `"}`
}

// TestNobodyHasMetadataServicesTried, and the owner of a machine what runs on it.
func TestNobodyHasMetadataServicesTried(t *testing.T) {
	t.Parallel()
	model := scriptmodel.Start(t)
	s := start(t, scriptedBy(model))
	s.send(t, "POST", "/api/models/probe", tryOf(model.URL+"/v1")).holds(t, "a model of this machine", `"ok":true`)
	for _, at := range []string{"169.254.169.254", "[fd00:ec2::254]", "[::ffff:169.254.169.254]", "metadata.google.internal"} {
		got := s.send(t, "POST", "/api/models/probe", tryOf("http://"+at+"/v1"))
		got.want(t, at, http.StatusOK, "cloud metadata")
		got = s.send(t, "PUT", "/api/mcp/config", `{"mcp_servers":{"m":{"type":"http","url":"http://`+at+`/mcp"}}}`)
		if got.status < 400 || got.status >= 500 || !strings.Contains(got.body, "cloud metadata") {
			t.Errorf("an MCP server at %s: %d %s", at, got.status, got.body)
		}
	}
}

// TestAdministratorsTryPublicAddresses, and private ones that the owner has opened for them.
func TestAdministratorsTryPublicAddresses(t *testing.T) {
	t.Parallel()
	model := scriptmodel.Start(t)
	for _, c := range []struct {
		name, conf string
		open       bool
	}{{"closed", "", false}, {"opened", "auth: {allow_private: [127.0.0.0/8]}\n", true}} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			ann := start(t, scriptedBy(model)+c.conf, func(o *web.Options) { o.Addr = "0.0.0.0:0" }).owner(t)
			zoe := ann.member(t, "zoe@x.org", account.RoleAdmin)
			server := `{"mcp_servers":{"m":{"type":"http","url":"` + model.URL + `/mcp","enabled":false}}}`
			ann.do(t, "POST", "/api/models/probe", tryOf(model.URL+"/v1")).holds(t, "the owner", `"ok":true`)
			got := zoe.do(t, "POST", "/api/models/probe", tryOf(model.URL+"/v1"))
			if strings.Contains(got.body, `"ok":true`) != c.open || strings.Contains(got.body, "auth.allow_private") == c.open {
				t.Errorf("an administrator: %d %s", got.status, got.body)
			}
			got = zoe.do(t, "PUT", "/api/mcp/config", server)
			if (got.status == http.StatusOK) != c.open || strings.Contains(got.body, "auth.allow_private") == c.open {
				t.Errorf("an administrator adds an MCP server: %d %s", got.status, got.body)
			}
			zoe.do(t, "POST", "/api/models/probe", tryOf("http://169.254.169.254/v1")).holds(t, "an administrator and a metadata service", "cloud metadata")
			if c.open {
				return
			}
			ann.do(t, "PUT", "/api/mcp/config", server).want(t, "the owner adds an MCP server", http.StatusOK)
			zoe.do(t, "PUT", "/api/mcp/config", server).want(t, "an administrator leaves the owner's server as it", http.StatusOK)
		})
	}
}

// TestModelsOfAdministratorsStayOutside: an administrator saves no private address, and what they saved is judged again by each
// run, also as a fallback. Models of the owner and of config.yaml are called where they are.
func TestModelsOfAdministratorsStayOutside(t *testing.T) {
	t.Parallel()
	model := scriptmodel.Start(t)
	const open = "auth: {allow_private: [127.0.0.0/8]}\n"
	closed := "title: {model_name: offline}\nmemory: {model_name: offline}\nllm_call: {retry_max_attempts: 1}\nmodels:\n" +
		"- {name: script, use: openai, model: script, base_url: '" + model.URL + "/v1', api_key: k}\n" +
		"- {name: dead, use: openai, model: dead, base_url: 'http://127.0.0.1:1/v1', api_key: k, fallback: zoes}\n"
	s := start(t, closed, func(o *web.Options) { o.Addr = "0.0.0.0:0" })
	ann := s.owner(t)
	zoe := ann.member(t, "zoe@x.org", account.RoleAdmin)
	of := func(name, at string) string {
		return `{"name":"` + name + `","use":"openai","model":"script","api_key":"k","base_url":"` + at + `/v1"}`
	}
	refused := func(what string, got answer) {
		t.Helper()
		got.want(t, what, http.StatusUnprocessableEntity, "base_url", "auth.allow_private")
	}
	good := func(what string, got answer) {
		t.Helper()
		got.want(t, what, http.StatusOK)
	}
	runs := 0
	answers := func(name string, want bool) {
		t.Helper()
		runs++
		thread := fmt.Sprint("m", runs)
		got := ann.do(t, "POST", "/threads/"+thread+"/runs/wait", agenttest.RunBody("/runs",
			human(`SCRIPT{"turns": [{"text": "it was reached"}]}`, `"context": {"model_name": "`+name+`"}`, `"if_not_exists": "create"`)))
		state := got.body + ann.do(t, "GET", "/threads/"+thread+"/runs", "").body
		if strings.Contains(state, `"it was reached"`) != want || strings.Contains(state, "auth.allow_private") == want {
			t.Errorf("a run with %s: %d %s", name, got.status, state)
		}
	}
	refused("an administrator adds a private address", zoe.do(t, "POST", "/api/settings/models", of("zoes", model.URL)))
	refused("one of the class alone", zoe.do(t, "POST", "/api/settings/models", `{"name":"local","use":"ollama","model":"m"}`))
	good("the owner adds one", ann.do(t, "POST", "/api/settings/models", of("anns", model.URL)))
	refused("an administrator moves the owner's", zoe.do(t, "PATCH", "/api/settings/models/anns",
		`{"base_url":"http://localhost:11434/v1","api_key":"k"}`))
	good("an administrator changes its name", zoe.do(t, "PATCH", "/api/settings/models/anns",
		`{"display_name":"Ann's","base_url":"`+model.URL+`/v1"}`))
	answers("anns", true)

	s.configure(t, closed+open)
	good("an administrator adds what the owner opened", zoe.do(t, "POST", "/api/settings/models", of("zoes", model.URL)))
	answers("zoes", true)
	s.configure(t, closed)
	answers("zoes", false)
	answers("dead", false)
	answers("anns", true)
	answers("script", true)
	zoe.do(t, "PATCH", "/api/settings/models/zoes", `{"public_only":false}`).want(t, "an administrator takes the mark away", http.StatusUnprocessableEntity)
	good("the owner takes the model over", ann.do(t, "PATCH", "/api/settings/models/zoes", `{"public_only":false}`))
	answers("zoes", true)
	answers("dead", true)
}

// TestMCPServersOfAdministratorsStayOutside, also once their names lead elsewhere.
func TestMCPServersOfAdministratorsStayOutside(t *testing.T) {
	t.Parallel()
	reached := make(chan string, 1000)
	at := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		reached <- r.URL.Path
		w.WriteHeader(http.StatusTeapot)
	}))
	t.Cleanup(at.Close)
	const open = "auth: {allow_private: [127.0.0.0/8]}\n"
	s := start(t, open, func(o *web.Options) { o.Addr = "0.0.0.0:0" })
	ann := s.owner(t)
	zoe := ann.member(t, "zoe@x.org", account.RoleAdmin)
	put := func(b *browser, path, more string) {
		t.Helper()
		b.do(t, "PUT", "/api/mcp/config", `{"mcp_servers":{"m":{"type":"http","url":"`+at.URL+path+`"`+more+`}}}`).must(t, "/api/mcp/config", http.StatusOK)
	}
	// An address that comes of a variable is judged where it is called.
	zoe.do(t, "PUT", "/api/mcp/config", `{"mcp_servers":{"v":{"type":"http","enabled":false,"url":"${NONE_SUCH:-`+at.URL+`}"}}}`).must(t, "/api/mcp/config", http.StatusOK)
	if got := ann.do(t, "GET", "/api/mcp/config", ""); !strings.Contains(strings.ReplaceAll(got.body, " ", ""), `"public_only":true`) {
		t.Errorf("an address of a variable is not marked: %s", got.body)
	}
	put(zoe, "/opened", "")
	webtest.Same(t, "reached", <-reached, "/opened")
	put(zoe, "/off", `,"enabled":false`)
	s.configure(t, "title: {model_name: offline}\n")
	for len(reached) > 0 {
		<-reached
	}
	put(zoe, "/off", `,"enabled":true,"public_only":false`)
	webtest.UntilSeen(t, func() bool {
		return strings.Contains(ann.do(t, "GET", "/api/mcp/status", "").body, "auth.allow_private")
	}, func() string { return ann.do(t, "GET", "/api/mcp/status", "").body })
	if len(reached) > 0 {
		t.Errorf("reached was %s", <-reached)
	}
	put(ann, "/owned", "")
	webtest.Same(t, "reached", <-reached, "/owned")
}

// TestSearchEnginesOfAdministratorsStayOutside: their address is judged at each search; that of an owner is asked where it is.
func TestSearchEnginesOfAdministratorsStayOutside(t *testing.T) {
	t.Parallel()
	asked := make(chan string, 1000)
	at := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked <- r.URL.Query().Get("q")
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprint(w, `{"results":[{"title":"Owls","url":"https://owls.example/","content":"About owls."}]}`)
	}))
	t.Cleanup(at.Close)
	closed := scripted(t) + "\nweb: {fallback: false}\n"
	const open = "auth: {allow_private: [127.0.0.0/8]}\n"
	s := start(t, closed+open, func(o *web.Options) { o.Addr = "0.0.0.0:0" })
	ann := s.owner(t)
	zoe := ann.member(t, "zoe@x.org", account.RoleAdmin)
	save := func(b *browser, address string, want int) {
		t.Helper()
		got := b.do(t, "POST", "/ui/web/by-name/searxng/save", "address="+address, "Content-Type", "application/x-www-form-urlencoded",
			"Accept", "text/html")
		got.must(t, "save "+address, want)
	}
	n := 0
	search := func(what string, want bool) {
		t.Helper()
		for len(asked) > 0 {
			<-asked
		}
		n++
		got := ann.do(t, "POST", fmt.Sprintf("/threads/s%d/runs/wait", n), human(fmt.Sprintf(
			`SCRIPT{"turns":[{"tool_calls":[{"name":"web_search","args":{"query":"owls %d"}}]},{"text":"ok"}]}`, n)))
		if found := strings.Contains(got.body, "About owls."); found != want || len(asked) > 0 != want {
			t.Errorf("%s: found %v, asked %d times: %s", what, found, len(asked), got.body)
		}
	}
	save(zoe, at.URL, http.StatusSeeOther)
	search("an administrator's, opened", true)
	s.configure(t, closed)
	search("an administrator's", false)
	save(zoe, at.URL, http.StatusSeeOther) // nothing changes, so the mark stays
	search("an administrator's, saved again", false)
	if got := zoe.do(t, "POST", "/ui/web/by-name/searxng/try", "address="+at.URL, "Content-Type", "application/x-www-form-urlencoded",
		"X-Fawn", "1"); len(asked) > 0 || got.status != http.StatusOK {
		t.Errorf("tried: %d %s", got.status, got.body)
	}
	save(zoe, at.URL+"/other", http.StatusUnprocessableEntity)
	save(ann, at.URL, http.StatusSeeOther)
	search("the owner's", true)
	save(zoe, at.URL, http.StatusSeeOther)
	search("the owner's, which an administrator has left as it is", true)
}
