package api_test

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write golden files")

// golden records a conversation and compares it with testdata/name.txt. Ids that the server
// made are numbered in the order they appear, so that the file shows which are the same.
type golden struct {
	t     *testing.T
	w     *world
	b     strings.Builder
	ids   map[string]string
	names *regexp.Regexp
	times *regexp.Regexp
}

func newGolden(t *testing.T, w *world) *golden {
	return &golden{t: t, w: w, ids: map[string]string{},
		names: regexp.MustCompile(`[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}|\b[0-9a-f]{32}\b`),
		times: regexp.MustCompile(`\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z`)}
}

// send makes a request and records it with its answer.
func (g *golden) send(method, path, body string, headers ...string) answer {
	g.t.Helper()
	a := g.w.send(g.t, method, path, body, headers...)
	fmt.Fprintf(&g.b, "== %s %s %s\n%d", method, path, body, a.status)
	for _, h := range []string{"Content-Location", "Location", "X-Pagination-Total", "X-Pagination-Next"} {
		if v := a.header.Get(h); v != "" {
			fmt.Fprintf(&g.b, "\n%s: %s", h, v)
		}
	}
	g.b.WriteByte('\n')
	if strings.HasPrefix(a.header.Get("Content-Type"), "text/event-stream") {
		for _, f := range frames(g.t, a.body) {
			fmt.Fprintf(&g.b, "%s %s %s\n", f.id, f.event, normal(g.t, f.data))
		}
	} else if a.body != "" {
		fmt.Fprintf(&g.b, "%s\n", normal(g.t, a.body))
	}
	return a
}

func (g *golden) compare(name string) {
	g.t.Helper()
	got := g.times.ReplaceAllString(g.b.String(), "TIME")
	got = g.names.ReplaceAllStringFunc(got, func(id string) string {
		if id == "bee7d354-5df5-5f26-a978-10ea053f620d" { // fixed for everybody
			return id
		}
		if g.ids[id] == "" {
			g.ids[id] = fmt.Sprintf("ID%d", len(g.ids)+1)
		}
		return g.ids[id]
	})
	file := filepath.Join("testdata", name+".txt")
	if *update {
		if err := os.MkdirAll("testdata", 0o755); err != nil {
			g.t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
			g.t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(file)
	if err != nil {
		g.t.Fatal(err)
	}
	if got == string(want) {
		return
	}
	a, b := strings.Split(got, "\n"), strings.Split(string(want), "\n")
	for i := range min(len(a), len(b)) {
		if a[i] != b[i] {
			g.t.Fatalf("%s:%d\ngot  %s\nwant %s", file, i+1, a[i], b[i])
		}
	}
	g.t.Fatalf("%s: %d lines, want %d", file, len(a), len(b))
}

func TestGoldenToolTurn(t *testing.T) {
	g := newGolden(t, open(t, toolAgent()))
	g.send("POST", "/threads/t1/runs/stream", toolBody)
	g.send("GET", "/threads/t1", "")
	g.send("GET", "/threads/t1/state", "")
	g.send("POST", "/threads/t1/history", `{"limit":2}`)
	g.send("GET", "/threads/t1/runs", "")
	g.compare("tool_turn")
}

func TestGoldenClarification(t *testing.T) {
	g := newGolden(t, open(t, askAgent()))
	g.send("POST", "/threads/t1/runs/stream",
		`{"input":{"messages":[{"type":"human","content":"do it","id":"h1"}]},"stream_mode":["updates"]}`)
	g.send("GET", "/threads/t1", "")
	g.send("GET", "/threads/t1/state", "")
	g.send("POST", "/threads/t1/runs/wait", `{"command":{"resume":"blue"}}`)
	g.send("GET", "/threads/t1/state", "")
	g.compare("clarification")
}

func TestGoldenErrors(t *testing.T) {
	g := newGolden(t, open(t, failAgent()))
	g.send("POST", "/threads/t1/runs/stream",
		`{"input":{"messages":[{"type":"human","content":"x","id":"h1"}]},"stream_mode":["values","updates","messages-tuple"]}`)
	g.send("GET", "/threads/t1", "")
	g.send("GET", "/threads/t1/state", "")
	g.send("POST", "/threads/t2/runs/wait", `{"input":{"messages":[{"type":"human","content":"x","id":"h1"}]}}`)
	g.send("POST", "/api/threads/t3/runs/wait", `{"input":{"messages":[{"type":"human","content":"x","id":"h1"}]}}`)
	g.send("GET", "/threads/nope", "")
	g.send("GET", "/threads/a.b", "")
	g.send("GET", "/nowhere", "")
	g.send("PUT", "/threads", "")
	g.compare("errors")
}

func TestGoldenAssistants(t *testing.T) {
	g := newGolden(t, open(t, sayAgent("hi")))
	g.send("GET", "/ok", "")
	g.send("GET", "/info", "")
	g.send("POST", "/assistants/search", "")
	g.send("POST", "/assistants/search",
		`{"graph_id":"lead_agent","limit":1,"select":["assistant_id"],"metadata":{"created_by":"system"}}`)
	g.send("POST", "/assistants/search", `{"graph_id":"other"}`)
	g.send("POST", "/assistants/count", `{}`)
	g.send("GET", "/assistants/lead_agent", "")
	g.send("GET", "/assistants/bee7d354-5df5-5f26-a978-10ea053f620d/graph?xray=1", "")
	g.send("GET", "/assistants/lead_agent/schemas", "")
	g.send("GET", "/assistants/lead_agent/subgraphs?recurse=true", "")
	g.send("GET", "/assistants/nope", "")
	g.send("GET", "/api/models", "")
	g.send("GET", "/api/models/none", "")
	g.send("GET", "/models", "")
	g.send("GET", "/api/features", "")
	g.compare("assistants")
}
