package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	acp "github.com/coder/acp-go-sdk"
)

// asACPAgent makes the test binary an agent of others, for as long as its input is open. Its value is a secret of its.
const asACPAgent = "FAWN_TEST_AS_ACP_AGENT"

// other is an agent made with the SDK. Its prompts say what it does.
type other struct {
	acp.Agent
	conn *acp.AgentSideConnection
	cwd  string
}

func beACPAgent() {
	a := &other{}
	a.conn = acp.NewAgentSideConnection(a, os.Stdout, os.Stdin)
	<-a.conn.Done()
}

// Initialize implements acp.Agent.
func (a *other) Initialize(context.Context, acp.InitializeRequest) (acp.InitializeResponse, error) {
	return acp.InitializeResponse{ProtocolVersion: acp.ProtocolVersionNumber, AuthMethods: []acp.AuthMethod{}}, nil
}

// NewSession implements acp.Agent.
func (a *other) NewSession(_ context.Context, r acp.NewSessionRequest) (acp.NewSessionResponse, error) {
	a.cwd = r.Cwd
	return acp.NewSessionResponse{SessionId: "s"}, nil
}

// Cancel implements acp.Agent.
func (a *other) Cancel(context.Context, acp.CancelNotification) error { return nil }

// Prompt implements acp.Agent.
func (a *other) Prompt(ctx context.Context, r acp.PromptRequest) (out acp.PromptResponse, err error) {
	out.StopReason = acp.StopReasonEndTurn
	says := func(text string) {
		err = errors.Join(err, a.conn.SessionUpdate(ctx, acp.SessionNotification{SessionId: r.SessionId,
			Update: acp.UpdateAgentMessageText(text)}))
	}
	switch task := r.Prompt[0].Text.Text; task {
	case "write":
		notes := filepath.Join(a.cwd, "sub", "notes.txt")
		before, failed := a.conn.ReadTextFile(ctx, acp.ReadTextFileRequest{SessionId: r.SessionId, Path: notes})
		if failed != nil {
			before.Content = "nothing"
		}
		_, err = a.conn.WriteTextFile(ctx, acp.WriteTextFileRequest{SessionId: r.SessionId, Path: notes, Content: "a note"})
		_, outside := a.conn.WriteTextFile(ctx, acp.WriteTextFileRequest{SessionId: r.SessionId,
			Path: filepath.Join(a.cwd, "..", "out.txt"), Content: "x"})
		p, asked := a.conn.RequestPermission(ctx, acp.RequestPermissionRequest{SessionId: r.SessionId,
			ToolCall: acp.ToolCallUpdate{ToolCallId: "c", Title: acp.Ptr("Delete everything")},
			Options: []acp.PermissionOption{{Kind: acp.PermissionOptionKindAllowOnce, Name: "Yes", OptionId: "yes"},
				{Kind: acp.PermissionOptionKindRejectOnce, Name: "No", OptionId: "no"}}})
		err = errors.Join(err, asked)
		answer := ""
		if p.Outcome.Selected != nil {
			answer = string(p.Outcome.Selected.OptionId)
		}
		says(fmt.Sprintf("before: %s; outside: %v; permission: %s; ", before.Content, outside != nil, answer))
		says("secret: " + os.Getenv(asACPAgent) + "; key of a model: " + os.Getenv("OPENAI_API_KEY"))
	case "talk":
		for range 40 {
			says(strings.Repeat("x", 10<<10))
		}
	case "die":
		fmt.Fprintln(os.Stderr, "I have no more strength")
		os.Exit(3)
	case "hang":
		if err := os.WriteFile(filepath.Join(a.cwd, "pid"), fmt.Append(nil, os.Getpid()), 0o600); err != nil {
			return out, err
		}
		select {} // also when it is told to stop
	default:
		err = fmt.Errorf("no such task: %s", task)
	}
	return out, err
}

// TestAgentsOfOthersAreAsked checks answers, files, permissions, bounds and ends of agents that run as programs.
func TestAgentsOfOthersAreAsked(t *testing.T) {
	t.Parallel()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	inner := t.TempDir()
	entry := func(name, more string, args []string, env map[string]string) string {
		a, err := json.Marshal(args)
		if err != nil {
			t.Fatal(err)
		}
		e, err := json.Marshal(env)
		if err != nil {
			t.Fatal(err)
		}
		command, err := json.Marshal(self)
		if err != nil {
			t.Fatal(err)
		}
		return fmt.Sprintf("  %s: {command: %s, args: %s, env: %s, description: d%s}\n", name, command, a, e, more)
	}
	secret := map[string]string{asACPAgent: "very-secret-word"}
	conf := configured(t, "acp_agents:\n"+entry("strict", "", nil, secret)+
		entry("free", ", auto_approve_permissions: true", nil, secret)+
		entry("slow", ", timeout_seconds: 2", nil, secret)+
		entry("gone", "", nil, nil)[:len("  gone: {command: ")]+"/nonexistent/agent, description: d}\n"+
		entry("fawn", "", []string{"acp", "--data", inner, "--config", configured(t)}, map[string]string{asProgram: "1"}))
	data := t.TempDir()
	s := serve(t, []string{"OPENAI_API_KEY=key-of-a-model"}, "--data", data, "--config", conf)
	ask := func(thread, name, prompt string) (text, status string) {
		t.Helper()
		body, err := json.Marshal(map[string]any{"assistant_id": "lead_agent", "if_not_exists": "create", "input": map[string]any{
			"messages": []any{map[string]any{"type": "human", "content": script(t,
				calls("invoke_acp_agent", map[string]any{"agent": name, "prompt": prompt}), says("Asked."))}}}})
		if err != nil {
			t.Fatal(err)
		}
		got := call[struct {
			Messages []struct{ Type, Content, Status string }
		}](t, s, "POST", "/threads/"+thread+"/runs/wait", string(body))
		for _, m := range got.Messages {
			if m.Type == "tool" {
				text, status = m.Content, m.Status
			}
		}
		return text, status
	}
	const made = "/mnt/user-data/workspace/acp/strict/sub/notes.txt"
	text, status := ask("t1", "strict", "write")
	if want := "before: nothing; outside: true; permission: no; secret: ***; key of a model: "; status != "success" ||
		!strings.HasPrefix(text, want+"\n") || !strings.Contains(text, made) {
		t.Errorf("%s: %q, want %q", status, text, want)
	}
	file, err := os.ReadFile(filepath.Join(data, "threads", "t1", "user-data", "workspace", "acp", "strict", "sub", "notes.txt"))
	if err != nil || string(file) != "a note" {
		t.Errorf("its file: %q %v", file, err)
	}
	if text, _ := ask("t1", "free", "write"); !strings.Contains(text, "before: nothing; outside: true; permission: yes") {
		t.Errorf("allowed, in a folder of its own: %q", text)
	}
	if text, _ := ask("t1", "strict", "write"); !strings.Contains(text, "before: a note") {
		t.Errorf("its folder is not kept: %q", text)
	}
	if text, _ := ask("t2", "strict", "write"); !strings.Contains(text, "before: nothing") {
		t.Errorf("another chat has its folder: %q", text)
	}
	if text, status := ask("t1", "strict", "die"); status != "error" || !strings.Contains(text, "no more strength") {
		t.Errorf("one that dies: %s %q", status, text)
	}
	if text, status := ask("t1", "strict", "dance"); status != "error" || !strings.Contains(text, "no such task: dance") {
		t.Errorf("one that fails: %s %q", status, text)
	}
	if text, status := ask("t1", "gone", "x"); status != "error" || !strings.Contains(text, "/nonexistent/agent") {
		t.Errorf("one that is not there: %s %q", status, text)
	}
	if text, status := ask("t1", "nobody", "x"); status != "error" || !strings.Contains(text, "fawn, free, gone, slow, strict") {
		t.Errorf("one that nobody knows: %s %q", status, text)
	}
	began := time.Now()
	if text, status := ask("t1", "slow", "hang"); status != "error" || !strings.Contains(text, "longer than 2s") {
		t.Errorf("one that hangs: %s %q", status, text)
	}
	if took := time.Since(began); took > patience/2 {
		t.Errorf("it was waited for %v", took)
	}
	pid, err := os.ReadFile(filepath.Join(data, "threads", "t1", "acp-workspace", "slow", "pid"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat("/proc/" + string(pid)); err == nil {
		t.Errorf("its process %s is still there", pid)
	}
	text, status = ask("t1", "fawn", script(t, calls("editor_read_file", map[string]any{"path": "none.txt"}), says("I am Fawn, too.")))
	if status != "success" || text != "I am Fawn, too." {
		t.Errorf("Fawn itself: %s %q", status, text)
	}
	if text, status := ask("t1", "strict", "talk"); status != "success" || len(text) > 300<<10 {
		t.Errorf("one that talks: %s, %d bytes", status, len(text))
	}
}
