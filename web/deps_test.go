package web_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"os/exec"
	"slices"
	"strings"
	"testing"
)

const module = "fawn"

// imports says what of ours each package may import. "x/..." is x and all below
// it. Arrows only go down: main, web, the APIs and the UI, the builder of the
// agent, its parts, and the leaves, which import nothing of ours.
func imports() map[string][]string {
	leaf := []string{}
	return map[string][]string{
		".":                       {"web", "web/cli", "web/eval", "sandbox", "sandbox/ns", "uploads/convert", "agent/skills/bundled", "agent/skills/skilltool"}, // ns.Reexec and the other roles must come first in main
		"agent":                   leaf,
		"agent/access":            {"store"},
		"agent/agenttest":         {"agent"},
		"agent/agenttest/must":    leaf, // tests only
		"agent/browsing":          {"agent", "agent/tools", "sandbox/browser", "sandbox/files"},
		"agent/channels":          {"agent", "agent/channels/chat", "agent/channels/qrlogin", "agent/middleware", "agent/runs", "agent/runs/eventlog", "agent/runs/runevent", "agent/clusterstate", "sandbox/files", "store", "uploads"},
		"agent/channels/chat":     leaf,
		"agent/channels/chat/...": {"agent/channels/chat"},
		"agent/channels/qrlogin":  {"agent/channels/chat", "agent/clusterstate"},
		"agent/community/...":     {"agent", "agent/tools", "sandbox/netguard"},
		"agent/command":           leaf,
		"agent/config/extensions": leaf,
		"agent/config":            {"agent/config/servers", "agent/config/syntax", "agent/clusterstate", "agent/config/extensions", "agent/middleware", "sandbox", "sandbox/files", "store", "uploads", "memory", "agent/mcp", "agent/skills", "agent/subagent"},
		"agent/config/syntax":     leaf,
		"agent/config/servers":    {"agent/config/syntax"},
		"agent/tracestore":        {"agent", "agent/runs", "agent/runs/trace", "store"},
		"agent/knowledge":         {"agent/llm/llmerr", "agent/projects", "agent/runs", "agent/skills", "agent/skills/fetch", "sandbox/files", "store", "uploads", "uploads/convert", "uploads/documents"},
		"agent/lead":              {"agent/...", "memory", "sandbox", "sandbox/files", "sandbox/netguard", "uploads"},
		"agent/takeout":           leaf,
		"agent/llm":               {"agent", "agent/llm/..."},
		"agent/llm/embed":         {"agent/llm/openai", "agent/llm/wire"},
		"agent/llm/llmerr":        leaf,
		"agent/llm/marks":         leaf,
		"agent/llm/media":         {"agent/llm/llmerr", "agent/llm/openai", "agent/llm/wire", "sandbox/netguard"},
		"agent/llm/offline":       {"agent", "memory"},
		"agent/llm/sse":           leaf,
		"agent/llm/wire":          {"agent", "agent/llm/llmerr", "agent/llm/sse"},
		"agent/llm/...":           {"agent", "agent/llm/llmerr", "agent/llm/marks", "agent/llm/sse", "agent/llm/wire"},
		"agent/mcp":               {"agent", "agent/mcp/ask", "agent/mcp/consent", "agent/mcp/process", "agent/clusterstate", "sandbox/netguard", "agent/mcp/tasks"},
		"agent/acp":               {"agent", "agent/mcp/process", "sandbox/files"},
		"agent/clienttool":        {"agent", "agent/clusterstate"},
		"agent/mcp/ask":           {"agent", "agent/clusterstate"},
		"agent/mcp/consent":       {"agent/clusterstate"},
		"agent/mcp/mcptest":       leaf, // bad servers for tests
		"agent/mcp/process":       leaf,
		"agent/mcp/switches":      {"store"},
		"agent/mcp/tasks":         {"store"},
		"agent/middleware":        {"agent", "agent/command", "agent/llm/llmerr", "agent/llm/wire", "agent/skills", "memory", "sandbox", "sandbox/files", "uploads"},
		"sandbox/affinity":        {"sandbox", "sandbox/files", "store"},
		"agent/profile":           leaf,
		"agent/runs":              {"agent", "agent/runs/eventlog", "agent/runs/trace", "agent/runs/resume", "agent/runs/recorder", "agent/runs/request", "agent/runs/runevent", "store"},
		"agent/prompts":           {"store"},
		"agent/projects":          {"agent/access", "agent/runs", "sandbox/files", "store", "uploads"},
		"agent/runs/eventlog":     {"agent", "agent/runs/runevent", "store"},
		"agent/runs/trace":        {"agent", "store"},
		"agent/runs/resume":       {"agent", "agent/runs/eventlog", "agent/runs/recorder", "agent/runs/request", "agent/runs/runevent", "store"},
		"agent/runs/recorder":     {"agent", "agent/runs/eventlog", "agent/runs/request", "agent/runs/runevent", "store"},
		"agent/runs/request":      {"agent", "store"},
		"agent/runs/runevent":     {"agent", "store"},
		"agent/schedule":          {"agent", "agent/runs", "agent/runs/request", "store"},
		"agent/clusterstate":      {"store"},
		"agent/skills":            {"agent/config/extensions"},
		"agent/skills/bundled":    leaf,
		"agent/skills/fetch":      {"agent/skills", "sandbox/netguard"},
		"agent/skills/skilltool":  {"agent/skills", "uploads/charset", "uploads/workbook"},
		"agent/subagent":          {"agent"},
		"agent/threads":           {"agent", "agent/runs", "agent/runs/eventlog", "agent/runs/recorder", "agent/runs/request", "store"},
		"agent/tools":             {"agent", "agent/llm/llmerr", "agent/llm/media", "agent/profile", "agent/skills", "memory", "sandbox", "sandbox/files", "uploads"},
		"assets":                  leaf,
		"assets/notices":          leaf, // writes the list of licences
		"backup":                  {"store"},
		"memory":                  {"store"},
		"release":                 {"assets", "sandbox"}, // makes what is handed out
		"release/vet":             leaf,                  // go vet for other systems, from source
		"sandbox":                 {"sandbox/files"},
		"sandbox/browser":         {"sandbox/egress", "sandbox/netguard", "sandbox/render"},
		"sandbox/changes":         {"sandbox/files", "sandbox/linediff"},
		"sandbox/docker":          {"sandbox", "sandbox/files", "sandbox/jail", "sandbox/ns", "sandbox/pool"},
		"sandbox/egress":          {"sandbox/netguard"},
		"sandbox/files":           leaf,
		"sandbox/host":            {"sandbox", "sandbox/files", "sandbox/pool"},
		"sandbox/initbin":         leaf,
		"sandbox/jail":            leaf,
		"sandbox/landlock":        {"sandbox", "sandbox/files", "sandbox/jail", "sandbox/ns", "sandbox/pool"},
		"sandbox/ns":              {"sandbox", "sandbox/files", "sandbox/initbin", "sandbox/jail", "sandbox/pool"},
		"sandbox/pool":            {"sandbox", "sandbox/files"},
		"sandbox/providers":       {"sandbox", "sandbox/docker", "sandbox/host", "sandbox/landlock", "sandbox/ns", "sandbox/seatbelt"},
		"sandbox/render":          {"sandbox/egress", "sandbox/netguard"},
		"sandbox/render/...":      {"web/e2e/gate"}, // tests only
		"sandbox/sbxinit":         {"sandbox/jail"},
		"sandbox/seatbelt":        {"sandbox", "sandbox/files", "sandbox/host", "sandbox/pool"},
		"sandbox/linediff":        leaf,
		"sandbox/netguard":        leaf,
		"sandbox/netguard/...":    {"agent/agenttest/must", "sandbox/netguard"}, // tests only
		"store":                   {"store/commit", "store/folder", "store/migrations", "store/postgres", "store/sqlite", "store/wake"},
		"store/commit":            leaf,
		"store/folder":            leaf,
		"store/migrations":        leaf,
		"store/postgres":          {"store/commit", "store/migrations", "store/wake"},
		"store/sqlite":            {"store/commit", "store/folder", "store/migrations"},
		"store/wake":              leaf,
		"store/pgtest":            {"web/e2e/gate"},
		"store/deerflow":          leaf,
		"store/objects":           leaf,
		"store/objects/...":       {"store/objects"},
		"store/filestore":         {"sandbox/files", "store", "store/objects"},
		"uploads/...":             {"uploads/..."},
		"views/i18n":              leaf,
		"views/mathml":            leaf,
		"views/markdown":          {"views/i18n", "views/mathml"},
		"views":                   {"assets", "sandbox/linediff", "views/i18n", "views/markdown"},
		"views/...":               {"assets", "sandbox/linediff", "views/..."},
		"web":                     {"agent/...", "assets", "backup", "memory", "sandbox", "sandbox/affinity", "sandbox/changes", "sandbox/egress", "sandbox/files", "sandbox/netguard", "sandbox/providers", "sandbox/render", "store", "store/filestore", "uploads/...", "views", "web/account/...", "web/api", "web/audit", "web/api/wire", "web/httpx", "web/gateway", "web/memlimit", "web/bots", "web/leader", "web/completions", "uploads/worker", "web/inproc", "web/mcpserver", "web/metrics", "web/hostrules", "web/openapi", "web/principal", "web/proxy", "web/redact", "web/route", "web/storage", "web/restart", "web/systemd", "web/tlsport", "web/traceexport", "web/ui", "web/ui/page", "web/imports", "sandbox/browser", "web/once"},
		"web/cli":                 {"agent/...", "backup", "memory", "sandbox", "sandbox/files", "sandbox/providers", "store", "store/deerflow", "web", "web/acp", "web/bots", "web/client", "web/eval", "web/mcpserver", "web/storage", "web/tlsport", "web/traceexport"},
		"web/mcpserver":           {"agent", "agent/llm/sse", "agent/runs", "agent/runs/runevent", "web/httpx", "web/inproc"},
		"web/imports":             {"agent", "agent/runs", "agent/takeout", "agent/threads", "sandbox/files", "store", "uploads"},
		"web/inproc":              {"agent"},
		"web/completions":         {"agent", "agent/config", "agent/runs", "agent/runs/runevent", "web/httpx", "web/inproc", "web/once", "web/openapi", "web/principal", "web/route", "agent/access", "agent/lead"},
		"web/account":             {"store", "web/httpx", "web/principal", "web/proxy"},
		"web/leader":              {"store"},
		"uploads/worker":          {"sandbox", "sandbox/files", "sandbox/ns", "sandbox/providers", "uploads", "uploads/convert", "uploads/documents"},
		"web/bots":                {"agent/channels", "agent/channels/chat", "agent/channels/qrlogin", "agent/config", "agent/runs", "store"},
		"web/audit":               {"agent", "agent/command", "agent/middleware", "sandbox", "sandbox/egress", "store"},
		"web/attack":              leaf, // tests only
		"web/chain":               leaf, // tests only
		"web/history":             leaf, // tests only
		"web/account/factor":      {"store", "web/account/passkey", "web/account/totp"},
		"web/account/passkey":     leaf,
		"web/account/sso":         {"sandbox/netguard"},
		"web/account/sso/ssotest": leaf, // a service for tests
		"web/account/totp":        leaf,
		"web/api":                 {"agent/...", "sandbox", "sandbox/files", "store", "uploads", "web/api/wire", "web/httpx", "web/once", "web/openapi", "web/principal", "web/route"},
		"web/api/wire":            {"agent", "agent/runs", "agent/runs/eventlog", "agent/runs/request", "agent/runs/runevent", "store", "web/httpx"},
		"web/gateway":             {"agent/...", "memory", "sandbox/changes", "sandbox/egress", "sandbox/files", "sandbox/linediff", "sandbox/netguard", "store", "web/account", "web/api", "web/api/wire", "web/bots", "web/httpx", "web/hostrules", "web/openapi", "web/principal", "web/proxy", "web/route", "web/imports", "sandbox/browser", "uploads"},
		"web/route":               {"agent/...", "memory", "sandbox/files", "store", "uploads", "web/account", "web/api/wire", "web/bots", "web/httpx", "web/hostrules", "web/openapi", "web/principal", "web/imports", "sandbox/browser"},
		"web/client":              leaf,
		"web/acp":                 {"web/client"},
		"web/eval":                {"agent/community", "web/client"},
		"web/memlimit":            {},
		"web/httpx":               {"web/proxy", "agent", "agent/runs", "agent/runs/request", "sandbox/files", "store", "uploads", "agent/access", "memory"},
		"web/redact":              leaf,
		"web/metrics":             {"agent", "agent/channels", "agent/runs", "store"},
		"web/traceexport":         {"agent", "agent/runs", "agent/runs/trace", "store"},
		"web/hostrules":           {"agent", "sandbox/egress", "sandbox/netguard", "store"},
		"web/once":                {"agent/runs", "store", "web/httpx"},
		"web/openapi":             leaf,
		"web/proxy":               leaf,
		"web/storage":             {"agent/config", "agent/profile", "agent/clusterstate", "agent/skills", "sandbox/files", "store", "store/objects", "store/filestore"},
		"web/restart":             leaf,
		"web/systemd":             leaf,
		"web/tlsport":             leaf,
		"web/principal":           {"store", "web/httpx"},
		"web/ui":                  {"agent/...", "assets", "memory", "sandbox/egress", "sandbox/netguard", "store", "uploads", "views/...", "web/account/...", "web/httpx", "web/bots", "web/hostrules", "web/once", "web/openapi", "web/principal", "web/ui/...", "web/imports", "sandbox/browser"},
		"web/ui/account":          {"agent/config", "store", "views/...", "web/account/...", "web/httpx", "web/principal", "web/ui/page", "agent/access"},
		"web/ui/agents":           {"agent/browsing", "agent/community", "agent/knowledge", "agent/profile", "agent/skills/...", "agent/tools", "sandbox/files", "store", "views/...", "web/httpx", "web/principal", "web/ui/page", "agent/access"},
		"web/ui/chats":            {"agent", "agent/channels", "agent/runs", "store", "views/...", "web/bots", "web/httpx", "web/principal", "web/ui/page"},
		"web/ui/conversation":     {"agent", "agent/mcp", "agent/mcp/ask", "agent/middleware", "agent/runs", "agent/runs/eventlog", "agent/runs/request", "agent/runs/runevent", "sandbox/changes", "store", "uploads", "views/...", "web/httpx", "web/hostrules", "web/principal", "web/ui/page", "web/ui/turns"},
		"web/ui/export":           {"agent", "agent/profile", "agent/runs", "assets", "memory", "sandbox/files", "store", "views/...", "web/httpx", "web/ui/conversation", "web/ui/page", "web/ui/turns"},
		"web/ui/files":            {"agent/knowledge", "web/principal", "sandbox/changes", "sandbox/files", "sandbox/linediff", "store", "uploads", "uploads/preview", "views/...", "web/httpx", "web/ui/conversation", "web/ui/export", "web/ui/page"},
		"web/ui/insight":          {"agent", "agent/tracestore", "agent/middleware", "agent/runs", "store", "views/...", "web/httpx", "web/openapi", "web/principal", "agent/runs/request", "web/ui/page", "web/ui/turns", "agent/access"},
		"web/ui/page":             {"agent", "agent/channels", "agent/channels/chat", "agent/config", "agent/llm/offline", "agent/runs", "sandbox", "sandbox/files", "store", "uploads", "views/...", "web/account", "web/httpx", "web/hostrules", "web/principal", "agent/runs/request", "sandbox/browser", "agent/access", "agent/threads"},
		"web/ui/settings":         {"agent/...", "assets", "memory", "store", "uploads", "views/...", "web/bots", "web/httpx", "web/principal", "web/ui/account", "web/ui/page", "web/imports"},
		"web/ui/share":            {"sandbox/files", "store", "views/...", "web/httpx", "web/principal", "web/ui/conversation", "web/ui/export", "web/ui/files", "web/ui/page", "web/ui/turns"},
		"web/ui/tasks":            {"agent/channels", "agent/profile", "agent/runs", "agent/schedule", "store", "views/...", "web/bots", "web/httpx", "web/principal", "web/ui/page", "agent/access"},
		"web/ui/turns":            {"agent", "agent/browsing", "agent/community", "agent/lead", "agent/llm/llmerr", "agent/middleware", "agent/runs", "agent/runs/runevent", "agent/tools", "sandbox/files", "store", "uploads", "views/...", "agent/runs/request", "web/ui/page", "agent/mcp"},
		"web/ui/knowledge":        {"agent/knowledge", "agent/projects", "store", "uploads", "views/...", "web/httpx", "web/principal", "web/ui/files", "web/ui/page"},
		"web/ui/prompts":          {"agent/prompts", "store", "views/...", "web/httpx", "web/principal", "web/ui/page"},
		"web/ui/projects":         {"agent/access", "agent/knowledge", "agent/profile", "agent/projects", "agent/skills", "memory", "store", "uploads", "views/...", "web/httpx", "web/principal", "web/ui/page"},
		"web/webtest":             {"agent/agenttest/must", "web/e2e/scriptmodel"}, // tests only
		"web/e2e/gate":            leaf,                                            // tests only
		"web/e2e/chatapp/...":     {"agent/channels/chat/chattest"},
		"web/e2e/scriptmodel/...": {"web/e2e/scriptmodel"},
		"web/e2e/load/...":        {"agent/mcp/mcptest", "sandbox", "sandbox/ns", "sandbox/providers", "web/e2e/load", "web/e2e/scriptmodel"},
	}
}

// reserved packages of others may only be used in one place.
func reserved() []struct{ path, only, why string } {
	return []struct{ path, only, why string }{
		{"database/sql", "store/... agent/skills/skilltool", "all SQL on what Fawn keeps is in store, so that moving to another database touches one room"},
		{"modernc.org/sqlite", "store/sqlite store/deerflow agent/skills/skilltool", "all SQL on what Fawn keeps is in store, so that moving to another database touches one room"},
		{"github.com/jackc/pgx/v5", "store/postgres store/pgtest", "all SQL on what Fawn keeps is in store, so that moving to another database touches one room"},
		{"github.com/aws/aws-sdk-go-v2/aws", "store/objects", "one place speaks to stores of objects"},
		{"github.com/labstack/echo/v4", "web/...", "only the edge speaks HTTP to clients"},
		{"github.com/a-h/templ", "views/... web/ui/conversation web/ui/page", "templates are a matter of the views"},
		{"github.com/sashabaranov/go-openai", "agent/llm/...", "only adapters know a provider's client"},
		{"github.com/anthropics/anthropic-sdk-go", "agent/llm/anthropic", "only adapters know a provider's client"},
		{"github.com/modelcontextprotocol/go-sdk/mcp", "agent/mcp web/mcpserver", "one place speaks to MCP servers, and one is one"},
		{"github.com/coder/acp-go-sdk", "agent/acp web/acp", "one place asks agents of others, and one is an agent of editors"},
		{"github.com/tinylib/msgp/msgp", "store/deerflow", "MessagePack is what LangGraph writes, and nobody else here"},
		{"github.com/dop251/goja", "views/mathml", "scripts run only to translate formulas, within their limits"},
		{"mvdan.cc/sh/v3", "agent/command", "one place reads the grammar of the shell"},
		{"testing", "agent/agenttest agent/agenttest/must agent/channels/chat/chattest agent/llm/llmtest sandbox/netguard/netguardtest sandbox/render/rendertest sandbox/sandboxtest store/objects/objectstest store/pgtest store/storetest web/e2e/gate web/e2e/scriptmodel web/webtest", "test code does not belong into the program"},
	}
}

type pkg struct {
	ImportPath string
	Imports    []string
	Deps       []string
}

func packages(t *testing.T) []pkg {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "go", "list", "-json=ImportPath,Imports,Deps", "./...")
	cmd.Dir = ".."
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("go list: %v\n%s", err, stderr.Bytes())
	}
	var list []pkg
	for dec := json.NewDecoder(bytes.NewReader(out)); ; {
		var p pkg
		if err := dec.Decode(&p); errors.Is(err, io.EOF) {
			return list
		} else if err != nil {
			t.Fatal(err)
		}
		list = append(list, p)
	}
}

// local returns the path inside the module, "." for main.
func local(path string) (string, bool) {
	if path == module {
		return ".", true
	}
	return strings.CutPrefix(path, module+"/")
}

// matches says whether a path is named by a pattern, and how closely.
func matches(pattern, path string) (bool, int) {
	if base, ok := strings.CutSuffix(pattern, "/..."); ok {
		return path == base || strings.HasPrefix(path, base+"/"), len(base)
	}
	return pattern == path, len(pattern) + 1000
}

func anyMatches(patterns []string, path string) bool {
	return slices.ContainsFunc(patterns, func(p string) bool { ok, _ := matches(p, path); return ok })
}

// rule finds the closest line of the table for a package.
func rule(table map[string][]string, path string) ([]string, bool) {
	var allowed []string
	best := -1
	for pattern, list := range table {
		if ok, n := matches(pattern, path); ok && n > best {
			allowed, best = list, n
		}
	}
	return allowed, best >= 0
}

func TestImportsOnlyPointDown(t *testing.T) {
	t.Parallel()
	table, foreign := imports(), reserved()
	list := packages(t)
	if len(list) < 10 {
		t.Fatalf("go list found only %d packages", len(list))
	}
	for _, p := range list {
		path, ok := local(p.ImportPath)
		if !ok {
			t.Errorf("%s is not of this module", p.ImportPath)
			continue
		}
		allowed, known := rule(table, path)
		if !known {
			t.Errorf("%s is not in the table of this test: decide what it may import, and add it", path)
			continue
		}
		for _, imp := range p.Imports {
			if dep, ours := local(imp); ours && !anyMatches(allowed, dep) {
				t.Errorf("%s imports %s, but may only import %v: move what they share down, or hand it over as a value or func",
					path, dep, allowed)
			}
			for _, r := range foreign {
				if imp == r.path && !anyMatches(strings.Fields(r.only), path) {
					t.Errorf("%s imports %s, which only %s may: %s", path, imp, r.only, r.why)
				}
			}
		}
		if path == "agent" {
			checkCore(t, p)
		}
	}
}

// checkCore: the core knows the standard library, and of it neither the network
// nor files' databases.
func checkCore(t *testing.T, p pkg) {
	for _, dep := range p.Deps {
		first, _, _ := strings.Cut(dep, "/")
		if strings.Contains(first, ".") || first == module {
			t.Errorf("agent needs %s: the core has the standard library only", dep)
		}
		if dep == "net/http" || dep == "database/sql" || dep == "os/exec" {
			t.Errorf("agent needs %s: the core neither talks, stores nor runs anything itself", dep)
		}
	}
}

func TestRulesOfTheTableWork(t *testing.T) {
	t.Parallel()
	table := map[string][]string{"a": {"b"}, "a/...": {"c/..."}, "a/x/...": {}}
	for name, c := range map[string]struct {
		path, dep string
		allowed   bool
	}{
		"exact wins over a tree":   {"a", "b", true},
		"exact hides the tree":     {"a", "c", false},
		"tree below":               {"a/y", "c/d", true},
		"longer tree wins":         {"a/x/z", "c", false},
		"a name is no prefix":      {"a/y", "cc", false},
		"tree includes its parent": {"a/y", "c", true},
	} {
		list, _ := rule(table, c.path)
		if anyMatches(list, c.dep) != c.allowed {
			t.Errorf("%s: %s -> %s", name, c.path, c.dep)
		}
	}
}
