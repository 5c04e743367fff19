package api_test

import (
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"fawn/agent"
	"fawn/agent/agenttest/must"
	"fawn/agent/config"
	"fawn/memory"
	"fawn/web/route"
)

// withMemory keeps a memory of at most ten facts. memory.json lies in the data folder.
func withMemory(d *route.Deps) {
	snap := &config.Snapshot{File: config.Default()}
	snap.File.Memory.Backend.Model.APIKey = "sk-secret"
	d.Snapshot = func() *config.Snapshot { return snap }
	path := filepath.Join(d.Dirs.Root, "memory.json")
	d.Memory = memory.New(memory.Config{DB: d.DB, Log: slog.New(slog.DiscardHandler), Escape: agent.Escape,
		Now:   func() time.Time { return time.Unix(1_800_000_000, 0) },
		Rules: func() memory.Rules { return memory.Rules{Enabled: true, Inject: true, MaxFacts: 10, Path: path} }})
}

const blankMemory = `"user":{"personalContext":{"summary":"","updatedAt":""},"topOfMind":{"summary":"","updatedAt":""},"workContext":{"summary":"","updatedAt":""}},` +
	`"history":{"earlierContext":{"summary":"","updatedAt":""},"longTermBackground":{"summary":"","updatedAt":""},"recentMonths":{"summary":"","updatedAt":""}},"facts":[]}`

func TestMemoryOverREST(t *testing.T) {
	w := open(t, &agent.Agent{}, withMemory)
	const full = `{"user":{"workContext":{"summary":"Builds compilers"}},"facts":[{"id":"fact_a","content":"Uses Rust","category":"knowledge","confidence":0.9,"createdAt":"2025-10-01T00:00:00Z","source":"thread-1"}]}`
	const added = `"content":"Likes tea","category":"preference","confidence":0.8,"createdAt":"2027-01-15T08:00:00.000Z","source":"manual"`
	for _, c := range []struct {
		method, path, body string
		status             int
		want               string
	}{
		{"GET", "/api/memory", "", 200, `{"version":"1.0","revision":0,"lastUpdated":"",` + blankMemory},
		{"POST", "/api/memory/facts", `{"content":"Likes tea","category":"preference","confidence":0.8}`, 200, added},
		{"POST", "/api/memory/facts", `{"content":"likes  TEA"}`, 409, "already remembered"},
		{"POST", "/api/memory/facts", `{}`, 422, `"content"`},
		{"POST", "/api/memory/facts", `{"content":""}`, 422, `"content"`},
		{"POST", "/api/memory/facts", `{"content":3}`, 422, `"content"`},
		{"POST", "/api/memory/facts", `{"content":" "}`, 400, "content must not be blank"},
		{"POST", "/api/memory/facts", `{"content":"x","confidence":1.5}`, 422, `"confidence"`},
		{"POST", "/api/memory/facts", `{"content":"x","confidence":-1}`, 422, `"confidence"`},
		{"POST", "/api/memory/facts?revision=9", `{"content":"x"}`, 409, "revision 1, not 9"},
		{"POST", "/api/memory/facts?revision=x", `{"content":"x"}`, 422, "revision"},
		{"POST", "/api/memory/facts?revision=1", `{"content":"Owns a boat"}`, 200, `"content":"Owns a boat","category":"context","confidence":0.5`},
		{"PATCH", "/api/memory/facts/nobody", `{}`, 404, "Memory fact 'nobody' not found"},
		{"DELETE", "/api/memory/facts/nobody", "", 404, "Memory fact 'nobody' not found"},
		{"POST", "/api/memory/import", full, 200, `"revision":3`},
		{"PATCH", "/api/memory/facts/fact_a", `{"content":"Uses Go","revision":3}`, 200, `{"id":"fact_a","content":"Uses Go","category":"knowledge","confidence":0.9`},
		{"PATCH", "/api/memory/facts/fact_a", `{"content":"Uses C","revision":3}`, 409, "the fact is at revision 4, not 3"},
		{"PATCH", "/api/memory/facts/fact_a", `{"content":null,"confidence":0.4}`, 200, `"content":"Uses Go","category":"knowledge","confidence":0.4`},
		{"PATCH", "/api/memory/facts/fact_a", `{"content":""}`, 400, "blank"},
		{"PATCH", "/api/memory/facts/fact_a", `{"confidence":2}`, 422, `"confidence"`},
		{"GET", "/api/memory/export", "", 200, `"workContext":{"summary":"Builds compilers","updatedAt":""}`},
		{"GET", "/api/memory/status", "", 200, `"data":{"version":"1.0","revision":5`},
		{"GET", "/api/memory/config", "", 200, `{"enabled":true,"storage_path":"","debounce_seconds":30,"max_facts":100,"fact_confidence_threshold":0.7,"injection_enabled":true,"max_injection_tokens":2000,"mode":"middleware","shutdown_flush_timeout_seconds":0,"manager_class":"deermem","backend_config":{`},
		{"POST", "/api/memory/import", `{"facts":[{"content":""}]}`, 400, "facts[0].content must not be blank"},
		{"POST", "/api/memory/import", `[]`, 422, "body"},
		{"POST", "/api/memory/import", `{}`, 422, "empty"},
		{"POST", "/api/memory/import?revision=1", full, 409, "revision 5, not 1"},
		{"DELETE", "/api/memory?revision=1", "", 409, "revision 5, not 1"},
		{"DELETE", "/api/memory/facts/fact_a", "", 200, `"facts":[]`},
		{"DELETE", "/api/memory", "", 200, `"revision":7,"lastUpdated":"2027-01-15T08:00:00.000Z",` + blankMemory},
		{"POST", "/api/memory/reload", "", 200, `"facts":[]`},
	} {
		w.send(t, c.method, c.path, c.body).want(t, fmt.Sprintf("%s %s %.200s\ngot \nwant %s", c.method, c.path, c.body, c.want), c.status, c.want, "!sk-secret")
	}
	path := filepath.Join(w.dirs.Root, "memory.json")
	for body, want := range map[string]int{full: 200, "{": 500} {
		must.Do(t, os.WriteFile(path, []byte(body), 0o600))
		a := w.send(t, "POST", "/api/memory/reload", "")
		if a.status != want || want == 200 && !strings.Contains(a.body, "Uses Rust") ||
			want == 500 && !strings.Contains(a.body, "memory.json can't be read") {
			t.Errorf("%s: %d %s", body, a.status, a.body)
		}
	}
}

func TestNoRoomForAFact(t *testing.T) {
	w := open(t, &agent.Agent{}, withMemory)
	for _, word := range strings.Fields("a b c d e f g h i j") {
		w.ok(t, "POST", "/api/memory/facts", `{"content":"fact `+word+`","confidence":0.9}`)
	}
	w.send(t, "POST", "/api/memory/facts", `{"content":"a guess"}`).want(t, "the answer", 409, "memory is full")
}

// TestMemoryOfOthersIsNotThere, nor can they take in the file of who runs the installation.
func TestMemoryOfOthersIsNotThere(t *testing.T) {
	w := open(t, &agent.Agent{}, withMemory)
	w.ok(t, "POST", "/api/memory/import", `{"facts":[{"id":"fact_a","content":"Uses Rust"}]}`)
	w.ok(t, "POST", "/api/threads", `{"thread_id":"t"}`)
	for _, c := range []struct {
		method, path, body string
		status             int
		want               string
	}{
		{"GET", "/api/memory", "", 200, `"facts":[]`},
		{"GET", "/api/memory/export", "", 200, `"facts":[]`},
		{"GET", "/api/memory/status", "", 200, `"facts":[]`},
		{"PATCH", "/api/memory/facts/fact_a", `{"content":"x"}`, 404, ""},
		{"DELETE", "/api/memory/facts/fact_a", "", 404, ""},
		{"DELETE", "/api/memory", "", 200, ""},
		{"POST", "/api/memory/reload", "", 403, ""},
		{"GET", "/api/threads/t/memory", "", 404, ""},
		{"PUT", "/api/threads/t/memory", `{"enabled":false}`, 404, ""},
		{"DELETE", "/api/threads/t/memory", "", 404, ""},
	} {
		w.send(t, c.method, c.path, c.body, "X-Owner", "eve").want(t, fmt.Sprintf("%s %s", c.method, c.path), c.status, c.want)
	}
	w.send(t, "GET", "/api/memory", "").holds(t, "/api/memory", "Uses Rust")
}

func TestMemoryOfAThread(t *testing.T) {
	w := open(t, &agent.Agent{}, withMemory)
	w.ok(t, "POST", "/api/threads", `{"thread_id":"t"}`)
	w.ok(t, "POST", "/api/memory/import", `{"facts":[{"content":"one","source":"t"},{"content":"two","source":"u"}]}`)
	for _, c := range []struct {
		method, body string
		status       int
		want         string
	}{
		{"GET", "", 200, `{"enabled":true,"facts":1}`},
		{"PUT", `{"enabled":false}`, 200, `{"enabled":false,"facts":1}`},
		{"GET", "", 200, `{"enabled":false,"facts":1}`},
		{"PUT", `{}`, 422, "enabled"},
		{"PUT", `{"enabled":true}`, 200, `{"enabled":true,"facts":1}`},
		{"DELETE", "", 200, `{"enabled":true,"facts":0}`},
	} {
		w.send(t, c.method, "/api/threads/t/memory", c.body).want(t, fmt.Sprintf("%s %s", c.method, c.body), c.status, c.want)
	}
	w.send(t, "GET", "/api/memory", "").holds(t, "the answer", `!"one"`, `"two"`)
}
