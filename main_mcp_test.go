package main

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"fawn/web/e2e/scriptmodel"
)

// mcpClient is a client of the official SDK that has started "fawn mcp".
func mcpClient(t *testing.T, cmd *exec.Cmd, steps chan<- string) *mcp.ClientSession {
	t.Helper()
	client := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, &mcp.ClientOptions{
		ProgressNotificationHandler: func(_ context.Context, r *mcp.ProgressNotificationClientRequest) {
			select {
			case steps <- r.Params.Message:
			default:
			}
		}})
	session, err := client.Connect(t.Context(), &mcp.CommandTransport{Command: cmd, TerminateDuration: patience}, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { session.Close() })
	return session
}

func ask(t *testing.T, s *mcp.ClientSession, message string) string {
	t.Helper()
	p := &mcp.CallToolParams{Name: "ask", Arguments: map[string]any{"message": message, "wait_seconds": 120}}
	p.SetProgressToken("p")
	r, err := s.CallTool(t.Context(), p)
	if err != nil || len(r.Content) == 0 {
		t.Fatalf("ask: %v", err)
	}
	return r.Content[0].(*mcp.TextContent).Text
}

// TestMCPOnStandardInput: without a server the command opens the data folder itself, with one it
// uses that, also when it comes and goes; a canceled call ends, and so does the command with its client.
func TestMCPOnStandardInput(t *testing.T) {
	m := scriptmodel.Start(t)
	data := t.TempDir()
	conf := filepath.Join(data, "config.yaml")
	if err := os.WriteFile(conf,
		[]byte("title: {model_name: offline}\nmemory: {model_name: offline}\nmodels: [{name: script, use: openai, model: script, base_url: \""+
			m.URL+"/v1\", api_key: test}]\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	steps := make(chan string, 100)
	alone := mcpClient(t, program(t, nil, "mcp", "--data", data), steps)
	if got := ask(t, alone, `SCRIPT{"turns":[{"text":"over a pipe"}]}`); got != "over a pipe" {
		t.Errorf("alone: %q", got)
	}
	if got := <-steps; got != "Writing" {
		t.Errorf("the first step is %q", got)
	}
	guest := mcpClient(t, program(t, nil, "mcp", "--data", data), nil)
	tools, err := guest.ListTools(t.Context(), nil)
	if err != nil || len(tools.Tools) != 9 {
		t.Errorf("a second one: %v %v", tools, err)
	}
	for len(steps) > 0 {
		<-steps
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	p := &mcp.CallToolParams{Name: "ask",
		Arguments: map[string]any{"message": `SCRIPT{"turns":[{"text":"held","gate":"never","tokens":1}]}`,
			"wait_seconds": 3600}}
	p.SetProgressToken("q")
	go func() {
		_, err := alone.CallTool(ctx, p)
		ended <- err
	}()
	<-steps
	cancel()
	if err := <-ended; err == nil {
		t.Error("a canceled call has an answer")
	}
	closed := time.Now()
	if err := alone.Close(); err != nil {
		t.Errorf("the command ends badly: %v", err)
	}
	if took := time.Since(closed); took > patience/2 {
		t.Errorf("it took %v to end", took)
	}
	// The server of the second one is gone: it opens the folder itself.
	if got := ask(t, guest, `SCRIPT{"turns":[{"text":"still here"}]}`); got != "still here" {
		t.Errorf("after the server: %q", got)
	}
	if err := guest.Close(); err != nil {
		t.Errorf("the second one ends badly: %v", err)
	}
	s := serve(t, nil, "--data", data)
	third := mcpClient(t, program(t, nil, "mcp", "--data", data), nil)
	if got := ask(t, third, `SCRIPT{"turns":[{"text":"with a server"}]}`); got != "with a server" {
		t.Errorf("with a server: %q", got)
	}
	res, err := s.client.Get(s.url + "/health")
	if err != nil {
		t.Fatalf("the server: %v", err)
	}
	res.Body.Close()
}

// TestMCPTellsWhatItCannotDo in words on standard error and in the answers to requests; standard
// output has nothing but messages.
func TestMCPTellsWhatItCannotDo(t *testing.T) {
	hello := `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"x","version":"1"}}}` + "\n"
	cmd := program(t, nil, "mcp", "--data", t.TempDir(), "--config", "/nonexistent/config.yaml")
	cmd.Stdin = strings.NewReader("no JSON\n" + hello)
	r := finished(t, cmd)
	lines := strings.Split(strings.TrimSpace(r.stdout), "\n")
	if len(lines) != 2 || !strings.Contains(lines[0], `"code":-32700`) || !strings.Contains(lines[1], `"id":1`) ||
		!strings.Contains(lines[1], "/nonexistent/config.yaml") {
		t.Errorf("it says %q and %q", r.stdout, r.stderr)
	}
}
