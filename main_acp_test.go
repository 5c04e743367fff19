package main

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	acp "github.com/coder/acp-go-sdk"
)

// desk is an editor: a client of the SDK with files that are open and not saved.
type desk struct {
	*acp.ClientSideConnection
	cmd *exec.Cmd
	end func() // closes its side

	mu      sync.Mutex
	updates []acp.SessionUpdate
	asked   []acp.RequestPermissionRequest
	choose  func(ctx context.Context, r acp.RequestPermissionRequest) string // an option, "" for none
	buffers map[string]string
	ran     []string
	told    chan struct{} // something has come
	stray   []string      // lines that are no messages
}

// SessionUpdate implements acp.Client.
func (d *desk) SessionUpdate(_ context.Context, n acp.SessionNotification) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.updates = append(d.updates, n.Update)
	select {
	case d.told <- struct{}{}:
	default:
	}
	return nil
}

// RequestPermission implements acp.Client.
func (d *desk) RequestPermission(ctx context.Context, r acp.RequestPermissionRequest) (acp.RequestPermissionResponse, error) {
	d.mu.Lock()
	d.asked = append(d.asked, r)
	choose := d.choose
	d.mu.Unlock()
	select {
	case d.told <- struct{}{}:
	default:
	}
	id := choose(ctx, r)
	if id == "" {
		return acp.RequestPermissionResponse{Outcome: acp.NewRequestPermissionOutcomeCancelled()}, nil
	}
	return acp.RequestPermissionResponse{Outcome: acp.NewRequestPermissionOutcomeSelected(acp.PermissionOptionId(id))}, nil
}

// ReadTextFile implements acp.Client: a buffer that is not saved counts.
func (d *desk) ReadTextFile(_ context.Context, r acp.ReadTextFileRequest) (acp.ReadTextFileResponse, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if text, ok := d.buffers[r.Path]; ok {
		return acp.ReadTextFileResponse{Content: text}, nil
	}
	b, err := os.ReadFile(r.Path)
	return acp.ReadTextFileResponse{Content: string(b)}, err
}

// WriteTextFile implements acp.Client.
func (d *desk) WriteTextFile(_ context.Context, r acp.WriteTextFileRequest) (acp.WriteTextFileResponse, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.buffers[r.Path] = r.Content
	return acp.WriteTextFileResponse{}, nil
}

// CreateTerminal implements acp.Client.
func (d *desk) CreateTerminal(_ context.Context, r acp.CreateTerminalRequest) (acp.CreateTerminalResponse, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.ran = append(d.ran, strings.Join(append([]string{r.Command}, r.Args...), " "))
	return acp.CreateTerminalResponse{TerminalId: "t1"}, nil
}

// KillTerminal implements acp.Client.
func (d *desk) KillTerminal(context.Context, acp.KillTerminalRequest) (acp.KillTerminalResponse, error) {
	return acp.KillTerminalResponse{}, nil
}

// TerminalOutput implements acp.Client.
func (d *desk) TerminalOutput(context.Context, acp.TerminalOutputRequest) (acp.TerminalOutputResponse, error) {
	return acp.TerminalOutputResponse{Output: "ok fawn 0.1s\n"}, nil
}

// ReleaseTerminal implements acp.Client.
func (d *desk) ReleaseTerminal(context.Context, acp.ReleaseTerminalRequest) (acp.ReleaseTerminalResponse, error) {
	return acp.ReleaseTerminalResponse{}, nil
}

// WaitForTerminalExit implements acp.Client.
func (d *desk) WaitForTerminalExit(context.Context, acp.WaitForTerminalExitRequest) (acp.WaitForTerminalExitResponse, error) {
	return acp.WaitForTerminalExitResponse{ExitCode: acp.Ptr(0)}, nil
}

// strays keeps lines of the protocol that are no JSON objects.
type strays struct {
	from io.Reader
	d    *desk
	line []byte
}

func (s *strays) Read(p []byte) (int, error) {
	n, err := s.from.Read(p)
	for _, b := range p[:n] {
		if b != '\n' {
			s.line = append(s.line, b)
			continue
		}
		if len(s.line) == 0 || s.line[0] != '{' {
			s.d.mu.Lock()
			s.d.stray = append(s.d.stray, string(s.line))
			s.d.mu.Unlock()
		}
		s.line = s.line[:0]
	}
	return n, err
}

// newDesk starts "fawn acp" and says hello.
func newDesk(t *testing.T, args ...string) *desk {
	t.Helper()
	d := &desk{cmd: program(t, nil, append([]string{"acp"}, args...)...), buffers: map[string]string{},
		told:   make(chan struct{}, 1),
		choose: func(context.Context, acp.RequestPermissionRequest) string { return "once" }}
	in, err := d.cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := d.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	var stderr strings.Builder
	d.cmd.Stderr = &stderr
	if err := d.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	d.ClientSideConnection = acp.NewClientSideConnection(d, in, &strays{from: out, d: d})
	d.end = sync.OnceFunc(func() {
		in.Close()
		<-d.Done()
		if err := d.cmd.Wait(); err != nil {
			t.Errorf("fawn acp ends badly: %v", err)
		}
		if len(d.stray) > 0 {
			t.Errorf("standard output has more than the protocol: %q", d.stray)
		}
		if t.Failed() {
			t.Log(stderr.String())
		}
	})
	t.Cleanup(d.end)
	r, err := d.Initialize(t.Context(), acp.InitializeRequest{ProtocolVersion: acp.ProtocolVersionNumber,
		ClientCapabilities: acp.ClientCapabilities{Terminal: true,
			Fs: acp.FileSystemCapabilities{ReadTextFile: true, WriteTextFile: true}}})
	if err != nil {
		t.Fatal(err)
	}
	if r.ProtocolVersion != acp.ProtocolVersionNumber || !r.AgentCapabilities.LoadSession ||
		!r.AgentCapabilities.PromptCapabilities.Image || !r.AgentCapabilities.PromptCapabilities.EmbeddedContext ||
		r.AgentCapabilities.SessionCapabilities.List == nil || r.AgentInfo == nil || r.AgentInfo.Name != "fawn" {
		t.Errorf("it says of itself %+v", r)
	}
	return d
}

func (d *desk) begin(t *testing.T, folder string) acp.SessionId {
	t.Helper()
	r, err := d.NewSession(t.Context(), acp.NewSessionRequest{Cwd: folder, McpServers: []acp.McpServer{}})
	if err != nil {
		t.Fatal(err)
	}
	return r.SessionId
}

// says sends a prompt and gives how it ended.
func (d *desk) says(t *testing.T, id acp.SessionId, blocks ...acp.ContentBlock) acp.PromptResponse {
	t.Helper()
	d.mu.Lock()
	d.updates, d.asked = nil, nil
	d.mu.Unlock()
	r, err := d.Prompt(t.Context(), acp.PromptRequest{SessionId: id, Prompt: blocks})
	if err != nil {
		t.Fatalf("prompt: %v", err)
	}
	return r
}

// seen is what came since the last prompt: what was said, thought, called and planned.
func (d *desk) seen() (said, thought string, calls map[acp.ToolCallId]*acp.SessionUpdateToolCall, plan []acp.PlanEntry) {
	d.mu.Lock()
	defer d.mu.Unlock()
	calls = map[acp.ToolCallId]*acp.SessionUpdateToolCall{}
	for _, u := range d.updates {
		switch {
		case u.AgentMessageChunk != nil && u.AgentMessageChunk.Content.Text != nil:
			said += u.AgentMessageChunk.Content.Text.Text
		case u.AgentMessageChunk != nil && u.AgentMessageChunk.Content.ResourceLink != nil:
			said += "\n[" + u.AgentMessageChunk.Content.ResourceLink.Uri + "]"
		case u.UserMessageChunk != nil && u.UserMessageChunk.Content.Text != nil:
			said += "> " + u.UserMessageChunk.Content.Text.Text + "\n"
		case u.UserMessageChunk != nil && u.UserMessageChunk.Content.Image != nil:
			said += "> a picture\n"
		case u.AgentThoughtChunk != nil && u.AgentThoughtChunk.Content.Text != nil:
			thought += u.AgentThoughtChunk.Content.Text.Text
		case u.ToolCall != nil:
			c := *u.ToolCall
			calls[c.ToolCallId] = &c
		case u.ToolCallUpdate != nil && calls[u.ToolCallUpdate.ToolCallId] != nil:
			c := calls[u.ToolCallUpdate.ToolCallId]
			if u.ToolCallUpdate.Status != nil {
				c.Status = *u.ToolCallUpdate.Status
			}
			if u.ToolCallUpdate.Content != nil {
				c.Content = u.ToolCallUpdate.Content
			}
		case u.Plan != nil:
			plan = u.Plan.Entries
		}
	}
	return said, thought, calls, plan
}

// titled is the call whose title begins so.
func titled(t *testing.T, calls map[acp.ToolCallId]*acp.SessionUpdateToolCall, title string) *acp.SessionUpdateToolCall {
	t.Helper()
	var titles []string
	for _, c := range calls {
		if strings.HasPrefix(c.Title, title) {
			return c
		}
		titles = append(titles, c.Title)
	}
	t.Fatalf("no call is titled %q: %q", title, titles)
	return nil
}

// project is a folder of an editor with a file that is saved otherwise than it is open.
func project(t *testing.T, d *desk) (folder, file string) {
	t.Helper()
	folder = t.TempDir()
	file = filepath.Join(folder, "main.go")
	if err := os.WriteFile(file, []byte("package saved\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	d.buffers[file] = "package unsaved\n\nfunc main() {}\n"
	return folder, file
}

// TestAnEditorWorksWithAnAgent reads and changes what is open and not saved, asks before that, shows thoughts, calls, plan
// and files, and lists, loads and resumes sessions.
func TestAnEditorWorksWithAnAgent(t *testing.T) {
	t.Parallel()
	data := t.TempDir()
	s := serve(t, nil, "--data", data, "--config", configured(t))
	d := newDesk(t, "--data", data)
	folder, file := project(t, d)
	id := d.begin(t, folder)
	r := d.says(t, id, acp.TextBlock(script(t,
		map[string]any{"reasoning": "First I look.", "text": "I look.", "tool_calls": []any{
			map[string]any{"name": "editor_read_file", "args": map[string]any{"path": "main.go"}},
			map[string]any{"name": "editor_list_files", "args": map[string]any{}},
			map[string]any{"name": "editor_search", "args": map[string]any{"pattern": "^package"}}}},
		calls("editor_edit_file", map[string]any{"path": file, "old_text": "unsaved", "new_text": "changed"}),
		calls("editor_run_command", map[string]any{"command": "go test ./..."}),
		calls("write_file", map[string]any{"description": "report", "path": "/mnt/user-data/outputs/r.md", "content": "# r"}),
		calls("present_files", map[string]any{"filepaths": []string{"/mnt/user-data/outputs/r.md"}}),
		says("Done."))))
	said, thought, called, _ := d.seen()
	if r.StopReason != acp.StopReasonEndTurn || r.Usage == nil || r.Usage.TotalTokens == 0 {
		t.Errorf("it ends with %+v", r)
	}
	if want := "I look.\n\nDone.\n[" + s.url + "/api/threads/" + string(id) + "/artifacts/mnt/user-data/outputs/r.md]"; said != want {
		t.Errorf("it says %q, want %q", said, want)
	}
	if thought != "First I look." {
		t.Errorf("it thinks %q", thought)
	}
	read := titled(t, called, "Read main.go")
	if read.Kind != acp.ToolKindRead || read.Status != acp.ToolCallStatusCompleted || len(read.Locations) != 1 ||
		read.Locations[0].Path != file || !strings.Contains(read.Content[0].Content.Content.Text.Text, "package unsaved") {
		t.Errorf("reading is shown as %+v", read)
	}
	if c := titled(t, called, "Search for"); !strings.Contains(c.Content[0].Content.Content.Text.Text, "main.go:1: package saved") {
		t.Errorf("searching is shown as %+v", c)
	}
	edit := titled(t, called, "Edit")
	if edit.Kind != acp.ToolKindEdit || edit.Status != acp.ToolCallStatusCompleted || len(edit.Content) != 1 ||
		edit.Content[0].Diff == nil || edit.Content[0].Diff.Path != file ||
		!strings.Contains(edit.Content[0].Diff.NewText, "changed") || !strings.Contains(*edit.Content[0].Diff.OldText, "unsaved") {
		t.Errorf("editing is shown as %+v", edit)
	}
	run := titled(t, called, "Run `go test ./...`")
	if run.Kind != acp.ToolKindExecute || len(run.Content) != 1 || run.Content[0].Terminal == nil {
		t.Errorf("a command is shown as %+v", run)
	}
	if d.buffers[file] != "package changed\n\nfunc main() {}\n" || len(d.asked) != 2 || len(d.ran) != 1 {
		t.Errorf("the editor has %q, asked %d times and ran %q", d.buffers[file], len(d.asked), d.ran)
	}
	if b, err := os.ReadFile(file); err != nil || string(b) != "package saved\n" {
		t.Errorf("the disk was changed behind the editor: %q %v", b, err)
	}
	if got := call[struct {
		Values struct {
			Messages []struct{ Type, Content string }
		}
	}](t, s, "GET", "/threads/"+string(id)+"/state", "").Values.Messages; !slices.ContainsFunc(got,
		func(m struct{ Type, Content string }) bool {
			return m.Type == "tool" && strings.Contains(m.Content, "ok fawn 0.1s") && strings.Contains(m.Content, "exit code 0")
		}) {
		t.Errorf("the model is not told what the command printed: %+v", got)
	}

	// Another editor goes on with it.
	d.end()
	d = newDesk(t, "--server", s.url)
	list, err := d.ListSessions(t.Context(), acp.ListSessionsRequest{Cwd: &folder})
	if err != nil || len(list.Sessions) != 1 || list.Sessions[0].SessionId != id || list.Sessions[0].Cwd != folder {
		t.Fatalf("the list is %+v %v", list, err)
	}
	other := t.TempDir()
	if list, err := d.ListSessions(t.Context(), acp.ListSessionsRequest{Cwd: &other}); err != nil || len(list.Sessions) != 0 {
		t.Errorf("another folder has %+v %v", list, err)
	}
	loaded, err := d.LoadSession(t.Context(), acp.LoadSessionRequest{SessionId: id, Cwd: folder, McpServers: []acp.McpServer{}})
	if err != nil || loaded.Modes == nil || len(loaded.ConfigOptions) < 2 {
		t.Fatalf("loading: %+v %v", loaded, err)
	}
	d.settle(t, func() bool {
		said, _, called, _ = d.seen()
		return strings.HasSuffix(said, "Done.")
	})
	if !strings.HasPrefix(said, "> SCRIPT") || len(called) != 7 {
		t.Errorf("loaded: %q with %d calls", said, len(called))
	}
	if _, err := d.LoadSession(t.Context(), acp.LoadSessionRequest{SessionId: "none", Cwd: folder,
		McpServers: []acp.McpServer{}}); err == nil || !strings.Contains(err.Error(), "-32002") {
		t.Errorf("a session that is not there: %v", err)
	}
	d.says(t, id, acp.TextBlock(script(t, says("Still here."))))
	if said, _, _, _ := d.seen(); !strings.Contains(said, "Still here.") {
		t.Errorf("after loading it says %q", said)
	}
	if runs := runsOf(t, s, string(id)); len(runs) != 2 {
		t.Errorf("it has %d runs", len(runs))
	}
}

// settle waits until the updates are such.
func (d *desk) settle(t *testing.T, done func() bool) {
	t.Helper()
	for end := time.After(patience); !done(); {
		select {
		case <-d.told:
		case <-end:
			t.Fatal("the editor is not told")
		}
	}
}

// TestAnEditorsPromptBringsWhatItShows checks text of open files, links into the project and out of it, files that are no
// text, and pictures.
func TestAnEditorsPromptBringsWhatItShows(t *testing.T) {
	t.Parallel()
	data := t.TempDir()
	s := serve(t, nil, "--data", data, "--config", configured(t))
	d := newDesk(t, "--server", s.url)
	folder, file := project(t, d)
	outside := filepath.Join(t.TempDir(), "notes.csv")
	if err := os.WriteFile(outside, []byte("a,b\n1,2\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	uri := func(path string) string { return (&url.URL{Scheme: "file", Path: filepath.ToSlash(path)}).String() }
	id := d.begin(t, folder)
	const dot = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
	d.says(t, id, acp.TextBlock(script(t, says("Seen."))+" Look at "),
		acp.ResourceLinkBlock("main.go", uri(file)), acp.TextBlock(" and "), acp.ResourceLinkBlock("notes.csv", uri(outside)),
		acp.ResourceLinkBlock("a page", "https://example.org/x"),
		acp.ResourceBlock(acp.EmbeddedResourceResource{TextResourceContents: &acp.TextResourceContents{
			Uri: uri(filepath.Join(folder, "sub", "x.txt")), Text: "open text\n"}}),
		acp.ResourceBlock(acp.EmbeddedResourceResource{BlobResourceContents: &acp.BlobResourceContents{
			Uri: "file:///../secret.bin", Blob: base64.StdEncoding.EncodeToString([]byte{0, 1, 2})}}),
		acp.ImageBlock(dot, "image/png"))
	state := call[struct {
		Values struct {
			Messages []struct {
				Type    string
				Content any
			}
			Files []struct{ Filename string } `json:"uploaded_files"`
		}
	}](t, s, "GET", "/threads/"+string(id)+"/state", "")
	text := fmt.Sprint(state.Values.Messages[0].Content)
	for _, want := range []string{"Look at `main.go` and `" + outside + "`", "[a page](https://example.org/x)", "`sub/x.txt`",
		"<file path=\"sub/x.txt\">\nopen text\n</file>", "`secret.bin`", "image_url"} {
		if !strings.Contains(text, want) {
			t.Errorf("the message lacks %q: %s", want, text)
		}
	}
	var names []string
	for _, f := range state.Values.Files {
		names = append(names, f.Filename)
	}
	slices.Sort(names)
	if strings.Join(names, " ") != "notes.csv secret.bin" {
		t.Errorf("uploaded: %q", names)
	}
	if _, err := d.Prompt(t.Context(), acp.PromptRequest{SessionId: id, Prompt: []acp.ContentBlock{acp.TextBlock(" ")}}); err == nil ||
		!strings.Contains(err.Error(), "empty") {
		t.Errorf("an empty prompt: %v", err)
	}
	d.LoadSession(t.Context(), acp.LoadSessionRequest{SessionId: id, Cwd: folder, McpServers: []acp.McpServer{}})
	d.settle(t, func() bool {
		said, _, _, _ := d.seen()
		return strings.Contains(said, "> a picture") && strings.HasSuffix(said, "Seen.")
	})
}

// TestAnEditorSaysNo: what is refused, outside of the folder, or not allowed in a mode is not done, and the model is told.
func TestAnEditorSaysNo(t *testing.T) {
	t.Parallel()
	d := newDesk(t, "--data", t.TempDir(), "--config", configured(t)) // with a server of its own
	folder, file := project(t, d)
	outside := filepath.Join(t.TempDir(), "other.txt")
	if err := os.WriteFile(outside, []byte("secret"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(filepath.Dir(outside), filepath.Join(folder, "link")); err != nil {
		t.Fatal(err)
	}
	id := d.begin(t, folder)
	d.choose = func(context.Context, acp.RequestPermissionRequest) string { return "reject" }
	writes := script(t,
		calls("editor_write_file", map[string]any{"path": file, "content": "broken"}),
		calls("editor_run_command", map[string]any{"command": "rm -rf ."}),
		calls("editor_read_file", map[string]any{"path": outside}),
		calls("editor_read_file", map[string]any{"path": "link/other.txt"}),
		calls("editor_write_file", map[string]any{"path": "../up.txt", "content": "x"}),
		calls("editor_edit_file", map[string]any{"path": "main.go", "old_text": "not there", "new_text": "x"}),
		says("Nothing done."))
	d.says(t, id, acp.TextBlock(writes))
	_, _, called, _ := d.seen()
	if len(called) != 6 || len(d.asked) != 2 || len(d.ran) != 0 || !strings.Contains(d.buffers[file], "unsaved") {
		t.Errorf("%d calls, %d questions, ran %q, the file is %q", len(called), len(d.asked), d.ran, d.buffers[file])
	}
	for _, c := range called {
		last := c.Content[len(c.Content)-1]
		if c.Status != acp.ToolCallStatusFailed || last.Content == nil || strings.Contains(last.Content.Content.Text.Text, "secret") {
			t.Errorf("%q is %s: %+v", c.Title, c.Status, last.Content)
		}
	}
	if _, err := os.Stat(filepath.Join(filepath.Dir(folder), "up.txt")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a file beside the project: %v", err)
	}

	// Edits are accepted without asking, commands once for all.
	if _, err := d.SetSessionMode(t.Context(), acp.SetSessionModeRequest{SessionId: id, ModeId: "accept_edits"}); err != nil {
		t.Fatal(err)
	}
	d.choose = func(context.Context, acp.RequestPermissionRequest) string { return "always" }
	d.says(t, id, acp.TextBlock(script(t, calls("editor_write_file", map[string]any{"path": file, "content": "new"}),
		calls("editor_run_command", map[string]any{"command": "one"}),
		calls("editor_run_command", map[string]any{"command": "two"}), says("Done."))))
	if d.buffers[file] != "new" || len(d.asked) != 1 || len(d.ran) != 2 {
		t.Errorf("accepting: the file is %q, %d questions, ran %q", d.buffers[file], len(d.asked), d.ran)
	}
	// Reading only has no other tools.
	if _, err := d.SetSessionMode(t.Context(), acp.SetSessionModeRequest{SessionId: id, ModeId: "read_only"}); err != nil {
		t.Fatal(err)
	}
	d.says(t, id, acp.TextBlock(script(t, calls("editor_write_file", map[string]any{"path": file, "content": "newer"}),
		says("Not possible."))))
	if d.buffers[file] != "new" {
		t.Errorf("reading only: the file is %q", d.buffers[file])
	}
	if _, err := d.SetSessionMode(t.Context(), acp.SetSessionModeRequest{SessionId: id, ModeId: "none"}); err == nil {
		t.Error("there is a mode none")
	}
	set := func(id acp.SessionId, what, value string) error {
		_, err := d.SetSessionConfigOption(t.Context(), acp.SetSessionConfigOptionRequest{ValueId: &acp.SetSessionConfigOptionValueId{
			SessionId: id, ConfigId: acp.SessionConfigId(what), Value: acp.SessionConfigValueId(value)}})
		return err
	}
	if err := errors.Join(set(id, "model", "script"), set(id, "effort", "pro")); err != nil {
		t.Error(err)
	}
	if err := set(id, "model", "none"); err == nil {
		t.Error("there is a model none")
	}
	d.says(t, id, acp.TextBlock(script(t, calls("write_todos", map[string]any{"todos": []any{
		map[string]any{"content": "look", "status": "completed"}, map[string]any{"content": "mend", "status": "in_progress"}}}),
		calls("ask_clarification", map[string]any{"question": "Which one?", "clarification_type": "approach_choice",
			"options": []string{"red", "blue"}}))))
	said, _, _, plan := d.seen()
	if len(plan) != 2 || plan[0].Status != acp.PlanEntryStatusCompleted || plan[1].Content != "mend" ||
		plan[1].Status != acp.PlanEntryStatusInProgress {
		t.Errorf("the plan is %+v", plan)
	}
	if !strings.HasSuffix(said, "Which one?\n\n- red\n- blue") {
		t.Errorf("it asks %q", said)
	}
}

// TestAnEditorCancels while an answer streams, and while its person is asked. An editor that leaves ends its runs.
func TestAnEditorCancels(t *testing.T) {
	t.Parallel()
	data := t.TempDir()
	s := serve(t, nil, "--data", data, "--config", configured(t))
	d := newDesk(t, "--data", data)
	folder, file := project(t, d)
	id := d.begin(t, folder)
	cancelled := func(what, prompt string, ready func() bool) {
		t.Helper()
		d.mu.Lock()
		d.updates, d.asked = nil, nil
		d.mu.Unlock()
		end := make(chan acp.PromptResponse, 1)
		go func() {
			r, err := d.Prompt(t.Context(), acp.PromptRequest{SessionId: id, Prompt: []acp.ContentBlock{acp.TextBlock(prompt)}})
			if err != nil {
				t.Errorf("%s: %v", what, err)
			}
			end <- r
		}()
		d.settle(t, ready)
		if err := d.Cancel(t.Context(), acp.CancelNotification{SessionId: id}); err != nil {
			t.Error(err)
		}
		if r := <-end; r.StopReason != acp.StopReasonCancelled {
			t.Errorf("%s: it ends with %+v", what, r)
		}
		runs := runsOf(t, s, string(id))
		if runs[len(runs)-1].Status != "interrupted" {
			t.Errorf("%s: the run is %v", what, runs[len(runs)-1].Status)
		}
	}
	cancelled("an answer", `SCRIPT{"turns":[{"text":"so far","chunk":2,"hang":true}]}`, func() bool {
		said, _, _, _ := d.seen()
		return said == "so far"
	})
	d.choose = func(ctx context.Context, _ acp.RequestPermissionRequest) string {
		<-ctx.Done() // as the dialog is closed
		return ""
	}
	cancelled("a question", script(t, calls("editor_write_file", map[string]any{"path": file, "content": "x"}), says("no")),
		func() bool {
			d.mu.Lock()
			defer d.mu.Unlock()
			return len(d.asked) == 1
		})
	if !strings.Contains(d.buffers[file], "unsaved") {
		t.Errorf("the file is %q", d.buffers[file])
	}
	go func() {
		_, _ = d.Prompt(t.Context(), acp.PromptRequest{SessionId: id, // the editor leaves meanwhile
			Prompt: []acp.ContentBlock{acp.TextBlock(`SCRIPT{"turns":[{"text":"at work","chunk":2,"hang":true}]}`)}})
	}()
	d.settle(t, func() bool { said, _, _, _ := d.seen(); return strings.HasSuffix(said, "at work") })
	d.end()
	if runs := runsOf(t, s, string(id)); runs[len(runs)-1].Status != "interrupted" {
		t.Errorf("the editor left: the run is %v", runs[len(runs)-1].Status)
	}
}

// TestAnEditorIsToldWhatIsWrong: failures of models, of tokens, and of servers.
func TestAnEditorIsToldWhatIsWrong(t *testing.T) {
	t.Parallel()
	broken := file(t, "c.yaml", "models: [{name: a, use: openai, model: a, api_key: k, max_retries: 0, base_url: 'http://127.0.0.1:1/v1'}]\nllm: {retry: {max_attempts: 1}}\n")
	d := newDesk(t, "--data", t.TempDir(), "--config", broken)
	id := d.begin(t, t.TempDir())
	_, err := d.Prompt(t.Context(), acp.PromptRequest{SessionId: id, Prompt: []acp.ContentBlock{acp.TextBlock("hello")}})
	if err == nil || strings.Contains(err.Error(), "Internal error") {
		t.Errorf("a broken model: %v", err)
	}
	if _, err := d.NewSession(t.Context(), acp.NewSessionRequest{Cwd: "relative", McpServers: []acp.McpServer{}}); err == nil ||
		!strings.Contains(err.Error(), "absolute") {
		t.Errorf("a relative folder: %v", err)
	}
	away := newDesk(t, "--server", "http://127.0.0.1:1")
	if _, err := away.NewSession(t.Context(), acp.NewSessionRequest{Cwd: "/", McpServers: []acp.McpServer{}}); err == nil ||
		!strings.Contains(err.Error(), "127.0.0.1:1") {
		t.Errorf("a server that is away: %v", err)
	}
}
