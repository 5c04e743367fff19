package web_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"fawn/agent/agenttest/must"
	"fawn/web"
	"fawn/web/webtest"
)

// visit is a call that DeerFlow's front end makes: what it is answered with, and where in that answer
// which keys are. A place is a path of keys and indices; "" is the whole answer.
type visit struct {
	method, path, body string
	status             int
	keys               map[string]string
}

// lookup finds a place in an answer.
func lookup(t *testing.T, answer, place string) any {
	t.Helper()
	v := webtest.Decode[any](t, answer)
	for step := range strings.SplitSeq(place, ".") {
		switch x := v.(type) {
		case map[string]any:
			if step != "" {
				v = x[step]
			}
		case []any:
			if n, err := strconv.Atoi(step); err == nil && n < len(x) {
				v = x[n]
			} else if step != "" {
				t.Fatalf("no %s in %s", place, answer)
			}
		}
	}
	return v
}

// make makes the calls in their order, and compares what comes back with what the front end reads.
func (b *browser) make(t *testing.T, calls []visit) {
	t.Helper()
	for _, c := range calls {
		a := b.do(t, c.method, c.path, c.body, "Content-Type", "application/json")
		a.must(t, fmt.Sprintf("%s %s", c.method, c.path), c.status)
		for place, want := range c.keys {
			m, _ := lookup(t, a.body, place).(map[string]any)
			for key := range strings.FieldsSeq(want) {
				if _, has := m[key]; !has {
					t.Errorf("%s %s: no %q at %q of %.600s", c.method, c.path, key, place, a.body)
				}
			}
		}
	}
}

// TestDeerFlowsFrontEndGoesThroughOneSession makes the calls of DeerFlow's front end in its order,
// on a server with accounts, with its cookies and its CSRF header.
func TestDeerFlowsFrontEndGoesThroughOneSession(t *testing.T) {
	t.Parallel()
	skill := filepath.Join(t.TempDir(), "skills", "custom", "rhymes", "SKILL.md")
	must.Do(t, os.MkdirAll(filepath.Dir(skill), 0o700))
	err := os.WriteFile(skill, []byte("---\nname: rhymes\ndescription: finds rhymes\n---\nThink of one.\n"), 0o600)
	must.Do(t, err)
	s := start(t, scripted(t)+"agents_api: {enabled: true}\n", func(o *web.Options) {
		o.Addr, o.Data = "0.0.0.0:0", filepath.Join(skill, "../../../..")
	})
	b := s.opened(t)
	const user = "id email system_role needs_setup oauth_provider"
	b.make(t, []visit{
		{"GET", "/api/v1/auth/setup-status", "", 200, map[string]string{"": "needs_setup registration_enabled"}},
		{"GET", "/api/v1/auth/me", "", 401, map[string]string{"detail": "code message"}},
		{"POST", "/api/v1/auth/initialize", `{"email":"ann@x.org","password":"` + correct + `"}`, 201, map[string]string{"": user}},
		{"GET", "/api/v1/auth/me", "", 200, map[string]string{"": user}},
		{"POST", "/api/v1/auth/logout", "", 200, map[string]string{"": "message"}},
		{"GET", "/api/v1/auth/providers", "", 200, map[string]string{"": "providers"}},
	})
	form := url.Values{"username": {"ann@x.org"}, "password": {correct}, "remember_me": {"true"}}
	a := b.do(t, "POST", "/api/v1/auth/login/local", form.Encode(), "Content-Type", "application/x-www-form-urlencoded")
	if a.status != http.StatusOK || lookup(t, a.body, "expires_in").(float64) < 86400 ||
		lookup(t, a.body, "needs_setup") != false {
		t.Fatalf("login: %d %s", a.status, a.body)
	}
	b.make(t, []visit{{"GET", "/api/v1/auth/me", "", 200, map[string]string{"": user}}})
	b.chats(t)
	b.works(t)
	b.settles(t)
	b.make(t, []visit{
		{"DELETE", "/api/langgraph/threads/t1", "", 204, nil},
		{"DELETE", "/api/threads/t1", "", 200, map[string]string{"": "success message"}},
		{"POST", "/api/v1/auth/logout", "", 200, map[string]string{"": "message"}},
		{"GET", "/api/v1/auth/me", "", 401, map[string]string{"detail": "code message"}},
		{"POST", "/api/langgraph/threads/search", "{}", 401, map[string]string{"detail": "code message"}},
	})
}

// threadKeys and runKeys are what the front end reads of a thread and of a run.
const (
	threadKeys = "thread_id status created_at updated_at metadata values interrupts"
	stateKeys  = "values next metadata checkpoint created_at tasks"
	runKeys    = "run_id thread_id assistant_id status metadata kwargs multitask_strategy created_at updated_at"
)

// chats are the calls of the list of chats and of a chat, on both mounts.
func (b *browser) chats(t *testing.T) {
	t.Helper()
	for _, mount := range []string{"/api/langgraph", "/api"} {
		b.send(t, "POST", mount+"/threads", "{}", "Cookie", b.headers()[1]).want(t, fmt.Sprintf("%s without the CSRF header", mount), http.StatusForbidden, "X-CSRF-Token")
	}
	b.make(t, []visit{
		{"POST", "/api/langgraph/threads/search", `{"limit":50,"offset":0,"sort_by":"updated_at","sort_order":"desc","select":["thread_id","updated_at","values","metadata"]}`, 200, nil},
		{"POST", "/api/langgraph/assistants/search", `{"graph_id":"lead_agent","limit":10}`, 200, map[string]string{"0": "assistant_id graph_id name config metadata"}},
		{"POST", "/api/langgraph/threads", `{"thread_id":"t1","metadata":{}}`, 200, map[string]string{"": threadKeys}},
		{"GET", "/api/langgraph/threads/t1", "", 200, map[string]string{"": threadKeys}},
		{"POST", "/api/langgraph/threads/t1/history", `{"limit":1}`, 200, nil},
	})
	b.converses(t, "/api/langgraph", "")
	b.sendFile(t, "/api/threads/t1/uploads", "a dozen words", b.headers()...).must(t, "upload", http.StatusOK)
	b.make(t, []visit{
		{"GET", "/api/threads/t1/uploads/list", "", 200, map[string]string{"": "files count", "files.0": "filename size path virtual_path artifact_url"}},
		{"GET", "/api/threads/t1/uploads/limits", "", 200, map[string]string{"": "max_files max_file_size max_total_size"}},
	})
	b.converses(t, "/api", "/api")
	b.make(t, []visit{
		{"GET", "/api/langgraph/threads/t1/state", "", 200, map[string]string{"": stateKeys, "values": "messages title", "checkpoint": "checkpoint_id checkpoint_ns thread_id"}},
		{"GET", "/api/threads/t1/state", "", 200, map[string]string{"": stateKeys, "values": "messages title", "checkpoint": "checkpoint_id checkpoint_ns thread_id"}},
		{"POST", "/api/langgraph/threads/t1/history", `{"limit":1}`, 200, map[string]string{"0": stateKeys, "0.values": "messages title"}},
		{"POST", "/api/langgraph/threads/t1/state", `{"values":{"title":"A better title"}}`, 200, map[string]string{"checkpoint": "checkpoint_id"}},
		{"POST", "/api/langgraph/threads/search", `{"limit":50,"offset":0,"sort_by":"updated_at","sort_order":"desc","select":["thread_id","updated_at","values","metadata"]}`, 200, map[string]string{"0": "thread_id updated_at values metadata", "0.values": "title"}},
		{"POST", "/api/threads/t1/suggestions", `{"messages":[{"role":"user","content":"hello"},{"role":"assistant","content":"hello"}],"n":3}`, 200, map[string]string{"": "suggestions"}},
		{"GET", "/api/threads/t1/token-usage?include_active=true", "", 200, map[string]string{"": "thread_id total_tokens total_input_tokens total_output_tokens total_runs by_model by_caller", "by_caller": "lead_agent subagent middleware"}},
		{"GET", "/api/threads/t1/messages/page?limit=50", "", 200, map[string]string{"": "data has_more next_before_seq"}},
		{"GET", "/api/threads/t1/goal", "", 200, map[string]string{"": "goal"}},
	})
}

// converses streams a run as the front end's SDK does, and goes back to it. Its address begins with prefix.
func (b *browser) converses(t *testing.T, mount, prefix string) {
	t.Helper()
	said, err := json.Marshal(script(writesReport))
	must.Do(t, err)
	body := `{"assistant_id":"lead_agent","input":{"messages":[{"type":"human","content":[{"type":"text","text":` + string(said) + `}],
		"additional_kwargs":{}}]},"stream_mode":["values","messages-tuple","custom"],"stream_subgraphs":true,"config":{"recursion_limit":1000},
		"context":{"mode":"flash","thinking_enabled":false,"is_plan_mode":false,"subagent_enabled":false,"thread_id":"t1"},"on_disconnect":"continue","multitask_strategy":"reject"}`
	a := b.do(t, "POST", mount+"/threads/t1/runs/stream", body, "Content-Type", "application/json", "Accept",
		"text/event-stream")
	at := a.header.Get("Content-Location")
	if a.status != http.StatusOK || !strings.HasPrefix(at, prefix+"/threads/t1/runs/") ||
		!strings.HasPrefix(a.header.Get("Content-Type"), "text/event-stream") {
		t.Fatalf("%s: %d %s %.500s", mount, a.status, at, a.body)
	}
	seen := events(t, a.body)
	for event, keys := range map[string][]string{"metadata": {"run_id"}, "values": {"messages"}} {
		for _, key := range keys {
			if m, _ := seen[event].(map[string]any); m[key] == nil {
				t.Errorf("%s: the event %s has no %s: %v", mount, event, key, seen[event])
			}
		}
	}
	if pair, _ := seen["messages"].([]any); len(pair) != 2 || pair[0].(map[string]any)["id"] == nil {
		t.Errorf("%s: the messages are %v", mount, seen["messages"])
	}
	if _, ok := seen["error"]; ok || !slices.Contains([]string{"end", "values"}, lastEvent(a.body)) {
		t.Errorf("%s: the stream ends with %s: %v", mount, lastEvent(a.body), seen["error"])
	}
	b.make(t, []visit{
		{"GET", at, "", 200, map[string]string{"": runKeys}},
		{"GET", mount + "/threads/t1/runs?limit=10", "", 200, map[string]string{"0": runKeys}},
	})
	again := b.do(t, "GET", at+"/stream?stream_mode=values", "", "Last-Event-ID", "-1")
	if again.status != http.StatusOK || events(t, again.body)["values"] == nil {
		t.Errorf("%s: joined: %d %.300s", mount, again.status, again.body)
	}
}

// events are the data of the last event of each name in a stream.
func events(t *testing.T, stream string) map[string]any {
	t.Helper()
	last, name := map[string]any{}, ""
	for line := range strings.Lines(stream) {
		line = strings.TrimRight(line, "\r\n")
		if event, ok := strings.CutPrefix(line, "event: "); ok {
			name = event
		} else if data, ok := strings.CutPrefix(line, "data: "); ok {
			v := webtest.Decode[any](t, data)
			last[name] = v
		}
	}
	return last
}

func lastEvent(stream string) string {
	_, rest, _ := strings.Cut(stream[max(0, strings.LastIndex(stream, "event: ")):], "event: ")
	name, _, _ := strings.Cut(rest, "\n")
	return name
}

// works are the calls about what a chat made.
func (b *browser) works(t *testing.T) {
	t.Helper()
	state := b.do(t, "GET", "/api/threads/t1/state", "")
	made, _ := lookup(t, state.body, "values.artifacts").([]any)
	if len(made) == 0 {
		t.Fatalf("the chat made nothing: %s", state.body)
	}
	for _, path := range []string{made[0].(string), "/mnt/user-data/uploads/up.txt"} {
		for query, disposition := range map[string]string{"": "inline", "?download=true": "attachment"} {
			a := b.do(t, "GET", "/api/threads/t1/artifacts"+path+query, "")
			if a.status != http.StatusOK || a.body == "" ||
				!strings.HasPrefix(a.header.Get("Content-Disposition"), disposition) {
				t.Errorf("%s%s: %d %q", path, query, a.status, a.header.Get("Content-Disposition"))
			}
		}
	}
	b.make(t, []visit{{"DELETE", "/api/threads/t1/uploads/up.txt", "", 200, map[string]string{"": "success message"}}})
}

// settles are the calls of the settings and the side pages.
func (b *browser) settles(t *testing.T) {
	t.Helper()
	const config = "enabled storage_path debounce_seconds max_facts fact_confidence_threshold injection_enabled max_injection_tokens"
	b.make(t, []visit{
		{"GET", "/api/models", "", 200, map[string]string{"": "models token_usage", "token_usage": "enabled", "models.0": "name model display_name description supports_thinking supports_reasoning_effort"}},
		{"GET", "/api/features", "", 200, map[string]string{"agents_api": "enabled", "browser_control": "enabled", "mcp_tasks": "enabled"}},
		{"GET", "/api/suggestions/config", "", 200, map[string]string{"": "enabled max_suggestions"}},
		{"PUT", "/api/skills/custom/rhymes", `{"content":"---\nname: rhymes\ndescription: finds rhymes\n---\nThink of one."}`, 200, map[string]string{"": "name description license category enabled content"}},
		{"GET", "/api/skills", "", 200, map[string]string{"": "skills", "skills.0": "name description license category enabled editable"}},
		{"PUT", "/api/skills/rhymes", `{"enabled":false}`, 200, map[string]string{"": "name enabled"}},
		{"GET", "/api/memory", "", 200, map[string]string{"": "version lastUpdated user history facts"}},
		{"GET", "/api/memory/config", "", 200, map[string]string{"": config}},
		{"GET", "/api/memory/status", "", 200, map[string]string{"": "config data", "config": config}},
		{"POST", "/api/memory/facts", `{"content":"likes deer","category":"context","confidence":0.9}`, 200, map[string]string{"facts.0": "id content category confidence createdAt source"}},
		{"POST", "/api/memory/reload", "", 200, map[string]string{"": "facts"}},
		{"DELETE", "/api/memory", "", 200, map[string]string{"": "facts"}},
		{"GET", "/api/mcp/config", "", 200, map[string]string{"": "mcp_servers"}},
		{"PUT", "/api/mcp/config", `{"mcp_servers":{"docs":{"enabled":false,"type":"http","url":"https://docs.example/mcp","headers":{"X-Key":"secret"}}}}`, 200, map[string]string{"mcp_servers.docs": "enabled type url headers description"}},
		{"GET", "/api/agents", "", 200, map[string]string{"": "agents"}},
		{"GET", "/api/agents/check?name=scribe", "", 200, map[string]string{"": "available name"}},
		{"POST", "/api/agents", `{"name":"scribe","description":"writes","soul":"You write."}`, 201, map[string]string{"": "name description model tool_groups skills soul"}},
		{"GET", "/api/agents/scribe", "", 200, map[string]string{"": "name description soul"}},
		{"PUT", "/api/agents/scribe", `{"description":"writes well"}`, 200, map[string]string{"": "name description"}},
		{"DELETE", "/api/agents/scribe", "", 204, nil},
		{"GET", "/api/user-profile", "", 200, map[string]string{"": "content"}},
		{"GET", "/api/channels", "", 200, map[string]string{"": "service_running channels"}},
		{"GET", "/api/channels/", "", 200, map[string]string{"": "service_running channels"}},
		{"GET", "/api/channels/providers", "", 200, map[string]string{"": "enabled providers"}},
		{"GET", "/api/channels/connections", "", 200, map[string]string{"": "connections"}},
		{"GET", "/api/integrations/lark/status", "", 200, map[string]string{"": "installed app_configured auth cli", "auth": "status message"}},
		{"GET", "/api/threads/t1/mcp-tasks?limit=50", "", 200, nil},
		{"GET", "/api/scheduled-tasks", "", 200, nil},
		{"GET", "/api/console/stats", "", 200, map[string]string{"": "total_runs active_runs failed_runs total_threads total_agents total_tokens"}},
		{"GET", "/api/console/usage?days=7&tz_offset_minutes=0", "", 200, map[string]string{"": "days by_model total_tokens total_runs", "days.0": "date total_tokens input_tokens output_tokens runs"}},
	})
}
