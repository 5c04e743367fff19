package main

import (
	"context"
	"database/sql"
	"io"
	"io/fs"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	_ "modernc.org/sqlite" // DeerFlow's database is changed here as DeerFlow would
)

// deerFlow is the folder of a real DeerFlow: four chats, an upload, a report, an agent and a profile.
const deerFlow = "store/deerflow/testdata/deer-flow"

// The chats in it.
const (
	plainChat = "212050db-018d-4df6-a8c8-32845b8677ce"
	fileChat  = "b3bef440-e573-4433-b5de-5d1408b7e650"
	planChat  = "2221e37a-a510-4215-b429-0cac2e6fb0c3"
	askChat   = "5e041cdf-d170-4008-a423-59c78963b3be"
)

// tree is every file below a folder.
func tree(t *testing.T, root string) map[string]string {
	t.Helper()
	all := map[string]string{}
	err := fs.WalkDir(os.DirFS(root), ".", func(path string, e fs.DirEntry, err error) error {
		if err != nil || !e.Type().IsRegular() {
			return err
		}
		b, err := os.ReadFile(filepath.Join(root, path))
		all[path] = string(b)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// copied is the folder as a copy that a test may change.
func copied(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	if err := os.CopyFS(dir, os.DirFS(deerFlow)); err != nil {
		t.Fatal(err)
	}
	return dir
}

// change runs statements on the database of such a copy.
func change(t *testing.T, dir string, statements ...string) {
	t.Helper()
	db, err := sql.Open("sqlite", filepath.Join(dir, "data", "deerflow.db"))
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	for _, s := range statements {
		if _, err := db.ExecContext(t.Context(), s); err != nil {
			t.Fatal(err)
		}
	}
}

// imported is a state as far as these tests read it.
type imported struct {
	Next   []string
	Values struct {
		Messages  []struct{ Type, Content string }
		Todos     []struct{ Content, Status string }
		Artifacts []string
		Title     string
	}
	CreatedAt string `json:"created_at"`
}

func TestADeerFlowMovesIn(t *testing.T) {
	t.Parallel()
	data, before := t.TempDir(), tree(t, deerFlow)
	r := finished(t, program(t, nil, "import", "--data", data))
	if r.code != exitUsage {
		t.Errorf("without a folder: %d %s", r.code, r.stderr)
	}
	from, err := filepath.Abs(deerFlow)
	if err != nil {
		t.Fatal(err)
	}
	if r := finished(t, program(t, nil, "import", from, "--dry-run", "--data", data)); r.code != exitOK ||
		!strings.Contains(r.stdout, "Chats: 4 of 4 would be imported") || tree(t, data)["USER.md"] != "" {
		t.Errorf("a dry run: %+v", r)
	}
	for _, want := range []string{"Chats: 4 of 4 imported, 0 are here already.\nAgents: 1 imported, 0 are here already.\nProfile (USER.md): imported.\nconfig.yaml: copied",
		"Chats: 0 of 4 imported, 4 are here already.\nAgents: 0 imported, 1 are here already.\nconfig.yaml: stays"} {
		if r := finished(t, program(t, nil, "import", from, "--data", data)); r.code != exitOK || r.stderr != "" ||
			!strings.HasPrefix(r.stdout, want) {
			t.Errorf("%+v, want %s", r, want)
		}
	}
	if r := finished(t, program(t, nil, "fsck", "--data", data)); r.code != exitOK {
		t.Errorf("fsck: %+v", r)
	}
	if !maps.Equal(before, tree(t, deerFlow)) {
		t.Error("the import changed DeerFlow's folder")
	}

	s := serve(t, nil, "--data", data, "--config",
		configured(t, "title: {enabled: false}", "agents_api: {enabled: true}"))
	if got := call[[]struct {
		ThreadID  string `json:"thread_id"`
		CreatedAt string `json:"created_at"`
	}](t, s, "POST", "/threads/search", `{"sort_by": "created_at", "sort_order": "asc"}`); len(got) != 4 ||
		got[0].ThreadID != plainChat || !strings.HasPrefix(got[0].CreatedAt, "2026-11-23T00:29:01") {
		t.Errorf("chats: %+v", got)
	}
	state := func(thread string) imported { return call[imported](t, s, "GET", "/threads/"+thread+"/state", "") }
	v := state(planChat).Values
	if len(v.Todos) != 2 || v.Todos[1].Status != "in_progress" || !strings.HasPrefix(v.Title, "STUB") {
		t.Errorf("the plan: %+v", v)
	}
	if v := state(fileChat).Values; !slices.Equal(v.Artifacts, []string{"/mnt/user-data/outputs/report.md"}) {
		t.Errorf("the artifacts: %+v", v)
	}
	st := state(askChat)
	if !slices.Equal(st.Next, []string{"__interrupt__"}) || status(t, s, askChat) != "interrupted" {
		t.Errorf("the question: %+v", st)
	}
	for path, want := range map[string]string{
		"/api/threads/" + fileChat + "/artifacts/mnt/user-data/outputs/report.md":      "数字: 42",
		"/api/threads/" + fileChat + "/artifacts/mnt/user-data/uploads/notes%20笔记.txt": "",
		"/api/agents/market-analyst": "Looks at markets",
		"/api/user-profile":          "short answers in German",
	} {
		if body := page(t, s, path); !strings.Contains(body, want) || body == "" {
			t.Errorf("%s: %s", path, body)
		}
	}
	if list := runsOf(t, s, plainChat); len(list) != 2 || list[0].Status != "success" {
		t.Errorf("runs: %+v", list)
	}
	if got := call[struct {
		Total int `json:"total_tokens"`
	}](t, s, "GET", "/api/threads/"+plainChat+"/token-usage", ""); got.Total != 9734+9764 {
		t.Errorf("tokens: %+v", got)
	}
	body := page(t, s, "/workspace/chats/"+askChat)
	if !strings.Contains(body, "Which colour?") || !strings.Contains(body, "blue") {
		t.Error("the question cannot be answered on its page")
	}

	call[any](t, s, "POST", "/threads/"+plainChat+"/runs/wait", input("echo 3 tokens at 0 tok/s"))
	if m := state(plainChat).Values.Messages; len(m) != 7 || m[1].Content != "Hello there, please answer." ||
		m[5].Type != "human" || m[6].Type != "ai" {
		t.Errorf("the chat that went on: %+v", m)
	}
}

// page is the body of a response that must be a success.
func page(t *testing.T, s *server, path string) string {
	t.Helper()
	req, err := http.NewRequestWithContext(context.Background(), http.MethodGet, s.url+path, nil)
	if err != nil {
		t.Fatal(err)
	}
	res, err := s.client.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	b, err := io.ReadAll(res.Body)
	if err != nil || res.StatusCode != http.StatusOK {
		t.Fatalf("%s: %s %v", path, res.Status, err)
	}
	return string(b)
}

// TestAnImportSaysWhatStaysBehind: a chat that cannot be read, a name that leaves the folder and a link
// out of it do no harm, and all else arrives.
func TestAnImportSaysWhatStaysBehind(t *testing.T) {
	t.Parallel()
	dir, data := copied(t), t.TempDir()
	secret := file(t, "secret.txt", "a secret")
	err := os.Symlink(secret, filepath.Join(dir, "users", "default", "threads", fileChat, "user-data", "outputs",
		"link.txt"))
	if err != nil {
		t.Fatal(err)
	}
	change(t, dir, `UPDATE checkpoints SET checkpoint = x'ddffffffff' WHERE thread_id = '`+planChat+`'`,
		`INSERT INTO threads_meta SELECT '../../escape', assistant_id, user_id, display_name, status, metadata_json, created_at, updated_at FROM threads_meta WHERE thread_id = '`+plainChat+`'`,
		`INSERT INTO checkpoints SELECT '../../escape', checkpoint_ns, checkpoint_id, parent_checkpoint_id, type, checkpoint, metadata FROM checkpoints WHERE thread_id = '`+plainChat+`'`,
		`UPDATE threads_meta SET display_name = NULL, metadata_json = 'null' WHERE thread_id = '`+plainChat+`'`)
	r := finished(t, program(t, nil, "import", dir, "--data", data))
	if r.code != exitError || r.stderr != "" || !strings.Contains(r.stdout, "Chats: 3 of 5 imported") ||
		!strings.Contains(r.stdout, "Not imported: chat "+planChat) ||
		!strings.Contains(r.stdout, "Not imported: chat ../../escape") {
		t.Errorf("%+v", r)
	}
	for path, content := range tree(t, data) {
		if strings.Contains(content, "a secret") || strings.Contains(path, planChat) {
			t.Error("there is", path)
		}
	}
	if r := finished(t, program(t, nil, "fsck", "--data", data)); r.code != exitOK {
		t.Errorf("fsck: %+v", r)
	}

	change(t, dir, `UPDATE threads_meta SET user_id = 'ada' WHERE thread_id = '`+plainChat+`'`)
	other := t.TempDir()
	if r := finished(t, program(t, nil, "import", dir, "--data", other)); r.code != exitError ||
		!strings.Contains(r.stderr, "--user: ada, default") {
		t.Errorf("several users: %+v", r)
	}
	if r := finished(t, program(t, nil, "import", dir, "--user", "ada", "--data", other)); r.code != exitOK ||
		!strings.Contains(r.stdout, "Chats: 1 of 1 imported") {
		t.Errorf("one of several users: %+v", r)
	}
	for _, wrong := range []string{t.TempDir(), secret, filepath.Join(dir, "none")} {
		if r := finished(t, program(t, nil, "import", wrong, "--data", t.TempDir())); r.code != exitError ||
			!strings.Contains(r.stderr, "look for DeerFlow") {
			t.Errorf("%s: %+v", wrong, r)
		}
	}
}

// TestAMemoryAndAProjectMoveIn: the layout of a project, with what belongs to it.
func TestAMemoryAndAProjectMoveIn(t *testing.T) {
	t.Parallel()
	project, data := t.TempDir(), t.TempDir()
	if err := os.CopyFS(filepath.Join(project, "backend", ".deer-flow"), os.DirFS(deerFlow)); err != nil {
		t.Fatal(err)
	}
	for path, text := range map[string]string{
		"backend/.deer-flow/users/default/memory.json": `{"version":"1.0","facts":[{"id":"f1","content":"Prefers tea","category":"preference","confidence":0.9}]}`,
		"extensions_config.json":                       `{"mcpServers":{"time":{"enabled":false,"type":"stdio","command":"uvx","args":["mcp-server-time"]}}}`,
		"skills/custom/mine/SKILL.md":                  "---\nname: mine\ndescription: x\n---\n",
	} {
		at := filepath.Join(project, filepath.FromSlash(path))
		if err := os.MkdirAll(filepath.Dir(at), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(at, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	r := finished(t, program(t, nil, "import", project, "--data", data))
	for _, want := range []string{"Chats: 4 of 4", "Memory: 1 facts imported.", "extensions_config.json: copied",
		filepath.Join("skills", "custom")} {
		if r.code != exitOK || !strings.Contains(r.stdout, want) {
			t.Errorf("no %q: %+v", want, r)
		}
	}
	if r := finished(t, program(t, nil, "import", project, "--data", data)); !strings.Contains(r.stdout,
		"Memory: stays as it is here, with 1 facts.") {
		t.Errorf("again: %+v", r)
	}
	s := serve(t, nil, "--data", data)
	if !call[known](t, s, "GET", "/api/memory", "").has("Prefers tea") {
		t.Error("the memory is not there")
	}
}
