package web_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"fawn/agent/agenttest/must"
	"fawn/web"
)

// operation is one of DeerFlow's own application: what it is answered with here. A status of 404 or 409 with a reason says
// that something isn't available or isn't there. keys are those of the answer, or of the first entry of a list of that name.
type operation struct {
	method, path, body string
	status             int
	keys               string
	says               string // in a refusal
	public             bool   // anonymous people may ask, where there are accounts
}

// operations are all that DeerFlow's gateway has, in an order in which each finds what it is about. {thread}, {run} and
// {message} stand for those of a chat that took place before, {task} for a scheduled task, {fact} for a fact.
func operations() []operation {
	const (
		model  = "name model display_name description supports_thinking supports_reasoning_effort"
		skill  = "name description license category enabled editable"
		agent  = "name description model tool_groups skills"
		memory = "version lastUpdated user history facts"
		task   = "id title prompt status schedule_type schedule_spec timezone context_mode"
		noLark = "Lark integration is not available"
		taskOf = `{"title":"Count","prompt":"Count the deer","schedule_type":"cron","schedule_spec":{"cron":"0 9 * * *"},"timezone":"Europe/Berlin","context_mode":"fresh_thread_per_run"}`
	)
	return []operation{
		{"GET", "/health", "", 200, "status service", "", true},
		{"GET", "/openapi.json", "", 200, "openapi paths", "", true},

		// models, features, suggestions
		{"GET", "/api/models", "", 200, "models token_usage", "", false},
		{"GET", "/api/models/script", "", 200, model, "", false},
		{"GET", "/api/models/none", "", 404, "", "none", false},
		{"GET", "/api/features", "", 200, "agents_api browser_control mcp_tasks", "", false},
		{"GET", "/api/suggestions/config", "", 200, "enabled max_suggestions", "", false},
		{"POST", "/api/threads/{thread}/suggestions", `{"messages":[{"role":"user","content":"hi"}],"n":2}`, 200, "suggestions", "", false},
		{"POST", "/api/input-polish", `{"text":""}`, 400, "", "no text", false},

		// assistants
		{"POST", "/api/assistants/search", `{}`, 200, "[0] assistant_id graph_id name config metadata version", "", false},
		{"GET", "/api/assistants/lead_agent", "", 200, "assistant_id graph_id name config metadata version", "", false},
		{"GET", "/api/assistants/none", "", 404, "", "none", false},
		{"GET", "/api/assistants/lead_agent/graph", "", 200, "nodes edges", "", false},
		{"GET", "/api/assistants/lead_agent/schemas", "", 200, "graph_id input_schema output_schema state_schema config_schema", "", false},

		// threads
		{"POST", "/api/threads", `{"thread_id":"swept"}`, 200, threadKeys, "", false},
		{"POST", "/api/threads/search", `{"limit":5}`, 200, "[0] thread_id status created_at updated_at metadata values", "", false},
		{"GET", "/api/threads/{thread}", "", 200, threadKeys, "", false},
		{"PATCH", "/api/threads/{thread}", `{"metadata":{"a":"b"}}`, 200, threadKeys, "", false},
		{"GET", "/api/threads/none", "", 404, "", "none", false},
		{"GET", "/api/threads/{thread}/state", "", 200, stateKeys + " checkpoint_id parent_checkpoint_id", "", false},
		{"POST", "/api/threads/{thread}/state", `{"values":{"title":"Deer"}}`, 200, stateKeys, "", false},
		{"POST", "/api/threads/{thread}/history", `{"limit":2}`, 200, "[0] checkpoint_id parent_checkpoint_id metadata values created_at next", "", false},
		{"GET", "/api/threads/{thread}/goal", "", 200, "goal", "", false},
		{"PUT", "/api/threads/{thread}/goal", `{"objective":"Count the deer"}`, 200, "goal", "", false},
		{"DELETE", "/api/threads/{thread}/goal", "", 200, "goal", "", false},
		{"POST", "/api/threads/{thread}/compact", `{"force":true}`, 200, "thread_id compacted reason removed_message_count preserved_message_count summary_updated checkpoint_id total_tokens", "", false},
		{"GET", "/api/threads/{thread}/token-usage", "", 200, "thread_id total_tokens total_input_tokens total_output_tokens total_runs by_model by_caller", "", false},
		{"GET", "/api/threads/{thread}/messages", "", 200, "[0] seq run_id content", "", false},
		{"GET", "/api/threads/{thread}/messages/page?limit=5", "", 200, "data has_more next_before_seq", "", false},
		{"POST", "/api/threads/{thread}/branches", `{"message_id":"{message}","message_ids":["{message}"]}`, 200, "thread_id parent_thread_id parent_checkpoint_id branched_from_message_id workspace_clone_mode history_seed_mode", "", false},
		{"GET", "/api/threads/{thread}/scheduled-tasks", "", 200, "[]", "", false},
		{"GET", "/api/threads/{thread}/mcp-tasks", "", 200, "[]", "", false},
		{"GET", "/api/threads/{thread}/mcp-tasks/none", "", 404, "", "not found", false},
		{"POST", "/api/threads/{thread}/mcp-tasks/none/cancel", "", 404, "", "not found", false},
		{"POST", "/api/threads/{thread}/browser/navigate", `{"url":"https://example.org"}`, 404, "", "not enabled", false},

		// runs
		{"GET", "/api/threads/{thread}/runs", "", 200, "[0] " + runKeys, "", false},
		{"GET", "/api/threads/{thread}/runs/{run}", "", 200, runKeys, "", false},
		{"GET", "/api/threads/{thread}/runs/none", "", 404, "", "none", false},
		{"POST", "/api/threads/{thread}/runs/{run}/cancel", "", 409, "", "", false},
		{"GET", "/api/threads/{thread}/runs/{run}/join", "", 200, "", "", false},
		{"GET", "/api/threads/{thread}/runs/{run}/stream", "", 200, "", "", false},
		{"POST", "/api/threads/{thread}/runs/{run}/stream", "", 200, "", "", false},
		{"GET", "/api/threads/{thread}/runs/{run}/messages", "", 200, "data has_more", "", false},
		{"GET", "/api/threads/{thread}/runs/{run}/events", "", 200, "[0] seq event_type", "", false},
		{"GET", "/api/threads/{thread}/runs/{run}/workspace-changes?include_files=true", "", 200, "summary files", "", false},
		{"POST", "/api/threads/{thread}/runs/regenerate/prepare", `{"message_id":"{message}"}`, 200, "input checkpoint metadata target_run_id", "", false},
		{"POST", "/api/threads/{thread}/runs/edit-regenerate/prepare", `{"human_message_id":"h1","replacement_text":"Count the fawns"}`, 200, "input checkpoint metadata target_run_id replacement_human_message_id source_message_ids", "", false},
		{"POST", "/api/threads/{thread}/runs", human("go on"), 200, runKeys, "", false},
		{"POST", "/api/threads/swept/runs/wait", human("again"), 200, "messages", "", false},
		{"POST", "/api/threads/swept/runs/stream", human("again"), 200, "", "", false},
		{"POST", "/api/runs/wait", human("alone"), 200, "messages", "", false},
		{"POST", "/api/runs/stream", human("alone"), 200, "", "", false},
		{"GET", "/api/runs/{run}/messages", "", 200, "data has_more", "", false},
		{"GET", "/api/runs/{run}/feedback", "", 200, "[]", "", false},

		// feedback
		{"PUT", "/api/threads/{thread}/runs/{run}/feedback", `{"rating":1}`, 200, "feedback_id run_id thread_id rating", "", false},
		{"GET", "/api/threads/{thread}/runs/{run}/feedback", "", 200, "[0] feedback_id rating", "", false},
		{"GET", "/api/threads/{thread}/runs/{run}/feedback/stats", "", 200, "run_id total positive negative", "", false},
		{"POST", "/api/threads/{thread}/runs/{run}/feedback", `{"rating":-1}`, 200, "feedback_id run_id thread_id rating", "", false},
		{"DELETE", "/api/threads/{thread}/runs/{run}/feedback", "", 200, "success", "", false},
		{"DELETE", "/api/threads/{thread}/runs/{run}/feedback/none", "", 404, "", "", false},

		// files
		{"GET", "/api/threads/{thread}/uploads/list", "", 200, "files count", "", false},
		{"GET", "/api/threads/{thread}/uploads/limits", "", 200, "max_files max_file_size max_total_size", "", false},
		{"POST", "/api/threads/{thread}/uploads", "", 400, "", "", false},
		{"DELETE", "/api/threads/{thread}/uploads/none.txt", "", 404, "", "none.txt", false},
		{"GET", "/api/threads/{thread}/artifacts/mnt/user-data/outputs/none.txt", "", 404, "", "none.txt", false},
		{"GET", "/api/threads/{thread}/artifacts/etc/passwd", "", 400, "", "/mnt/user-data", false},

		// MCP
		{"GET", "/api/mcp/config", "", 200, "mcp_servers", "", false},
		{"PUT", "/api/mcp/config", `{"mcp_servers":{}}`, 200, "mcp_servers", "", false},
		{"PATCH", "/api/mcp/config", `{"server_name":"none","enabled":false}`, 404, "", "not found", false},
		{"POST", "/api/mcp/cache/reset", "", 200, "success message", "", false},

		// skills
		{"GET", "/api/skills", "", 200, "skills", "", false},
		{"GET", "/api/skills/rhymes", "", 200, skill, "", false},
		{"PUT", "/api/skills/rhymes", `{"enabled":true}`, 200, skill, "", false},
		{"GET", "/api/skills/none", "", 404, "", "none", false},
		{"POST", "/api/skills/install", `{"thread_id":"{thread}","path":"/mnt/user-data/outputs/none.skill"}`, 404, "", "none.skill", false},
		{"POST", "/api/skills/reload", "", 200, "success scope message", "", false},
		{"GET", "/api/skills/custom", "", 200, "skills", "", false},
		{"GET", "/api/skills/custom/rhymes", "", 200, skill + " content", "", false},
		{"PUT", "/api/skills/custom/rhymes", `{"content":"---\nname: rhymes\ndescription: finds rhymes\n---\nThink of two.\n"}`, 200, skill + " content", "", false},
		{"GET", "/api/skills/custom/rhymes/history", "", 200, "history", "", false},
		{"POST", "/api/skills/custom/rhymes/rollback", `{"history_index":-1}`, 200, skill + " content", "", false},
		{"DELETE", "/api/skills/custom/none", "", 404, "", "none", false},

		// memory
		{"GET", "/api/memory", "", 200, memory, "", false},
		{"POST", "/api/memory/facts", `{"content":"The deer are seven.","category":"context","confidence":0.9}`, 200, memory, "", false},
		{"POST", "/api/memory/facts", `{"content":" "}`, 400, "", "", false},
		{"PATCH", "/api/memory/facts/{fact}", `{"content":"The deer are eight."}`, 200, memory, "", false},
		{"PATCH", "/api/memory/facts/none", `{"content":"x"}`, 404, "", "none", false},
		{"DELETE", "/api/memory/facts/{fact}", "", 200, memory, "", false},
		{"GET", "/api/memory/export", "", 200, memory, "", false},
		{"POST", "/api/memory/import", `{"version":"1.0","user":{},"history":{},"facts":[]}`, 200, memory, "", false},
		{"POST", "/api/memory/reload", "", 200, memory, "", false},
		{"GET", "/api/memory/config", "", 200, "enabled storage_path debounce_seconds max_facts fact_confidence_threshold injection_enabled max_injection_tokens mode manager_class backend_config", "", false},
		{"GET", "/api/memory/status", "", 200, "config data", "", false},
		{"DELETE", "/api/memory", "", 200, memory, "", false},

		// agents
		{"GET", "/api/agents", "", 200, "agents", "", false},
		{"GET", "/api/agents/check?name=poet", "", 200, "available name", "", false},
		{"GET", "/api/agents/check?name=a%20b", "", 422, "", "", false},
		{"POST", "/api/agents", `{"name":"poet","description":"rhymes","soul":"You rhyme."}`, 201, agent, "", false},
		{"POST", "/api/agents", `{"name":"poet","soul":"x"}`, 409, "", "poet", false},
		{"GET", "/api/agents/poet", "", 200, agent + " soul", "", false},
		{"PUT", "/api/agents/poet", `{"description":"rhymes well"}`, 200, agent, "", false},
		{"DELETE", "/api/agents/poet", "", 204, "", "", false},
		{"GET", "/api/agents/poet", "", 404, "", "poet", false},
		{"GET", "/api/user-profile", "", 200, "content", "", false},
		{"PUT", "/api/user-profile", `{"content":"I count deer."}`, 200, "content", "", false},

		// console
		{"GET", "/api/console/stats", "", 200, "total_runs active_runs failed_runs total_threads total_agents total_tokens", "", false},
		{"GET", "/api/console/runs?limit=5", "", 200, "runs has_more", "", false},
		{"GET", "/api/console/usage?days=7", "", 200, "days by_model total_tokens total_runs", "", false},

		// scheduled tasks
		{"GET", "/api/scheduled-tasks", "", 200, "[]", "", false},
		{"POST", "/api/scheduled-tasks", taskOf, 200, task, "", false},
		{"POST", "/api/scheduled-tasks", `{"title":"x","prompt":"x","schedule_type":"sometimes","schedule_spec":{},"timezone":"UTC"}`, 422, "", "", false},
		{"GET", "/api/scheduled-tasks/{task}", "", 200, task, "", false},
		{"PATCH", "/api/scheduled-tasks/{task}", `{"title":"Count again"}`, 200, task, "", false},
		{"POST", "/api/scheduled-tasks/{task}/pause", "", 200, task, "", false},
		{"POST", "/api/scheduled-tasks/{task}/resume", "", 200, task, "", false},
		{"POST", "/api/scheduled-tasks/{task}/trigger", "", 200, "", "", false},
		{"GET", "/api/scheduled-tasks/{task}/runs", "", 200, "[0] run_id", "", false},
		{"POST", "/api/scheduled-tasks", taskOf, 200, task, "", false}, // one that doesn't run
		{"DELETE", "/api/scheduled-tasks/{task}", "", 200, "", "", false},
		{"GET", "/api/scheduled-tasks/{task}", "", 404, "", "", false},

		// chat apps
		{"GET", "/api/channels", "", 200, "service_running channels", "", false},
		{"GET", "/api/channels/providers", "", 200, "providers", "", false},
		{"GET", "/api/channels/connections", "", 200, "connections", "", false},
		{"DELETE", "/api/channels/connections/none", "", 404, "", "", false},
		{"POST", "/api/channels/telegram/connect", "", 400, "", "not running", false},
		{"POST", "/api/channels/telegram/restart", "", 200, "success message", "", false},
		{"POST", "/api/channels/none/connect", "", 404, "", "Unknown", false},
		{"POST", "/api/channels/telegram/runtime-config", `{"values":{}}`, 400, "", "", false},
		{"DELETE", "/api/channels/telegram/runtime-config", "", 200, "", "", false},

		// integrations, which Fawn hasn't
		{"GET", "/api/integrations/lark/status", "", 200, "installed app_configured cli auth", "", false},
		{"POST", "/api/integrations/lark/install", "", 404, "", noLark, false},
		{"POST", "/api/integrations/lark/config/start", "", 404, "", noLark, false},
		{"POST", "/api/integrations/lark/config/complete", "{}", 404, "", noLark, false},
		{"POST", "/api/integrations/lark/config/credentials", "{}", 404, "", noLark, false},
		{"POST", "/api/integrations/lark/auth/start", "{}", 404, "", noLark, false},
		{"POST", "/api/integrations/lark/auth/complete", "{}", 404, "", noLark, false},

		{"GET", "/api/v1/auth/setup-status", "", 200, "needs_setup registration_enabled", "", true},
		{"GET", "/api/v1/auth/providers", "", 200, "providers", "", true},
		{"GET", "/api/v1/auth/me", "", 200, "id email system_role needs_setup oauth_provider", "", false},
		{"DELETE", "/api/threads/swept", "", 200, "success message", "", false},
	}
}

// accountOperations are those about accounts, which need some.
func accountOperations() []operation {
	return []operation{
		{"GET", "/api/v1/auth/sessions", "", 200, "", "", false},
		{"GET", "/api/v1/auth/pats", "", 200, "", "", false},
		{"POST", "/api/v1/auth/change-password", `{"current_password":"wrong","new_password":"` + correct + `2"}`, 400, "", "", false},
		{"POST", "/api/v1/auth/register", `{"email":"bob@x.org","password":"` + correct + `"}`, 403, "", "", true},
		{"POST", "/api/v1/auth/initialize", `{"email":"bob@x.org","password":"` + correct + `"}`, 409, "", "", true},
		{"POST", "/api/v1/auth/logout", "", 200, "message", "", true},
	}
}

// TestEveryOperationOfDeerFlowAnswers sweeps over the operations of DeerFlow's application, with accounts off and on: each
// is answered in DeerFlow's shape, or by a reason in its form of an error. Without a session, only the public ones are.
func TestEveryOperationOfDeerFlowAnswers(t *testing.T) {
	t.Parallel()
	for name, accounts := range map[string]bool{"accounts off": false, "accounts on": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			data := filepath.Join(t.TempDir(), "data")
			skill := filepath.Join(data, "skills", "custom", "rhymes", "SKILL.md")
			must.Do(t, os.MkdirAll(filepath.Dir(skill), 0o700))
			write(t, skill, "---\nname: rhymes\ndescription: finds rhymes\n---\nThink of one.\n")
			s := start(t, scripted(t)+"agents_api: {enabled: true}\nbrowser: {enabled: false}\n", func(o *web.Options) {
				if o.Data = data; accounts {
					o.Addr = "0.0.0.0:0"
				}
			})
			b := &browser{s, map[string]string{}}
			all := operations()
			if accounts {
				b = s.owner(t)
				all = append(all, accountOperations()...)
			}
			places := b.chatted(t)
			place := func(text string) string {
				for name, id := range places {
					text = strings.ReplaceAll(text, "{"+name+"}", id)
				}
				return text
			}
			stranger := &browser{s, map[string]string{}}
			for _, op := range all {
				if accounts && !op.public {
					a := stranger.do(t, op.method, place(op.path), place(op.body), "Content-Type", "application/json")
					a.want(t, fmt.Sprintf("%s %s of a stranger", op.method, op.path), http.StatusUnauthorized, `"detail":{"code"`)
				}
				a := b.do(t, op.method, place(op.path), place(op.body), "Content-Type", "application/json")
				switch {
				case a.status != op.status:
					t.Errorf("%s %s: %d instead of %d: %.300s", op.method, op.path, a.status, op.status, a.body)
				case op.status >= 400:
					op.refusal(t, a.body)
				default:
					op.shape(t, a.body)
				}
				places.remember(op, a)
			}
			t.Logf("%d operations", len(all))
		})
	}
}

// refusal checks that an error has a detail in words.
func (op operation) refusal(t *testing.T, body string) {
	t.Helper()
	var e struct{ Detail json.RawMessage }
	if json.Unmarshal([]byte(body), &e) != nil || len(e.Detail) < 5 || !strings.Contains(string(e.Detail), op.says) {
		t.Errorf("%s %s: %.300s doesn't say %q", op.method, op.path, body, op.says)
	}
}

// shape checks the keys of an answer.
func (op operation) shape(t *testing.T, body string) {
	t.Helper()
	keys := strings.Fields(op.keys)
	if len(keys) == 0 {
		return
	}
	var v any
	if err := json.Unmarshal([]byte(body), &v); err != nil {
		t.Errorf("%s %s: %v: %.300s", op.method, op.path, err, body)
		return
	}
	if keys[0] == "[]" || keys[0] == "[0]" {
		list, ok := v.([]any)
		if !ok || keys[0] == "[0]" && len(list) == 0 {
			t.Errorf("%s %s: no list of something: %.300s", op.method, op.path, body)
			return
		}
		if keys = keys[1:]; len(keys) == 0 {
			return
		}
		v = list[0]
	}
	m, _ := v.(map[string]any)
	for _, key := range keys {
		if _, ok := m[key]; !ok {
			t.Errorf("%s %s: no %q in %.600s", op.method, op.path, key, body)
		}
	}
}

// places are the ids of what operations are about, by name.
type places map[string]string

// chatted has a chat take place, and returns its ids.
func (b *browser) chatted(t *testing.T) places {
	t.Helper()
	p := places{"thread": "chat", "task": "none", "fact": "none"}
	b.do(t, "POST", "/api/threads", `{"thread_id":"chat"}`, "Content-Type", "application/json")
	a := b.do(t, "POST", "/api/threads/chat/runs/wait",
		`{"input":{"messages":[{"type":"human","id":"h1","content":"Count the deer"}]}}`, "Content-Type", "application/json")
	state := decoded[struct {
		Messages []struct{ ID, Type string }
	}](t, a)
	p["message"] = state.Messages[len(state.Messages)-1].ID
	runs := decoded[[]struct {
		ID string `json:"run_id"`
	}](t, b.do(t, "GET", "/api/threads/chat/runs", ""))
	p["run"] = runs[0].ID
	return p
}

// remember keeps the ids of what an operation has made.
func (p places) remember(op operation, a answer) {
	var made struct {
		ID    string
		Facts []struct{ ID string }
	}
	if json.Unmarshal([]byte(a.body), &made) != nil || op.method != "POST" || a.status >= 300 {
		return
	}
	switch {
	case op.path == "/api/scheduled-tasks":
		p["task"] = made.ID
	case op.path == "/api/memory/facts" && len(made.Facts) > 0:
		p["fact"] = made.Facts[0].ID
	}
}
