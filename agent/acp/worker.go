package acp

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	sdk "github.com/coder/acp-go-sdk"

	"fawn/agent"
	"fawn/agent/mcp/process"
)

const (
	maxAnswer  = 256 << 10 // limit of an agent's answer in bytes
	maxText    = 8 << 20   // size limit of a file that it reads or writes through us
	maxSteps   = 64 << 10  // limit of its shown steps in bytes
	lastLines  = 10        // last lines of error output kept
	helloTime  = time.Minute
	cancelTime = 2 * time.Second
)

// worker is one call of an agent, with its ACP client.
type worker struct {
	name string
	who  Agent
	at   string
	root *os.Root
	turn *agent.Turn
	call agent.ToolCall
	log  *slog.Logger

	mu     sync.Mutex
	answer strings.Builder
	cut    bool
	shown  int
	lines  []string // the last lines of error output
	over   bool
}

// work starts the agent, gives it the task and waits for the end of its turn. With an error, it also returns the answer
// so far.
func (w *worker) work(ctx context.Context, prompt string) (_ string, err error) {
	program, err := process.Find(w.who.Command, process.SearchPath(w.who.Env), w.at)
	if err != nil {
		return "", err
	}
	p, err := process.Start(process.Command{Path: program, Args: w.who.Args, Dir: w.at,
		Env: process.Environment(w.who.Env, "")}, w.complain)
	if err != nil {
		return "", err
	}
	defer p.End()
	ready := make(chan struct{})
	conn := sdk.NewClientSideConnection(w, p.Input(), &waits{from: p.Output(), ready: ready})
	conn.SetLogger(slog.New(slog.DiscardHandler))
	close(ready)
	stop, err := w.turnOf(ctx, conn, prompt)
	if err != nil && ctx.Err() == nil {
		select {
		case <-conn.Done():
			p.LastWords()
		default:
		}
		err = w.explained(err)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.over = true
	said := w.answer.String()
	if w.cut {
		said += fmt.Sprintf("\n[cut after %d bytes]", maxAnswer)
	}
	switch {
	case err != nil:
		return said, err
	case stop == sdk.StopReasonRefusal:
		return said, errors.New("it refused the task")
	case stop == sdk.StopReasonCancelled:
		return said, errors.New("it was cancelled")
	case stop == sdk.StopReasonMaxTokens, stop == sdk.StopReasonMaxTurnRequests:
		said += "\n[it stopped early: " + string(stop) + "]"
	}
	return said, nil
}

// turnOf returns a session of one prompt.
func (w *worker) turnOf(ctx context.Context, conn *sdk.ClientSideConnection, prompt string) (sdk.StopReason, error) {
	hello, done := context.WithTimeout(ctx, helloTime)
	defer done()
	r, err := conn.Initialize(hello, sdk.InitializeRequest{ProtocolVersion: sdk.ProtocolVersionNumber,
		ClientInfo: &sdk.Implementation{Name: "fawn", Version: "1"},
		ClientCapabilities: sdk.ClientCapabilities{
			Fs: sdk.FileSystemCapabilities{ReadTextFile: true, WriteTextFile: true}}})
	if err != nil {
		return "", fmt.Errorf("begin: %w", err)
	}
	if r.ProtocolVersion != sdk.ProtocolVersionNumber {
		return "", fmt.Errorf("it speaks version %d of the protocol, not %d", r.ProtocolVersion, sdk.ProtocolVersionNumber)
	}
	s, err := conn.NewSession(hello, sdk.NewSessionRequest{Cwd: w.at, McpServers: []sdk.McpServer{}})
	if err != nil {
		return "", fmt.Errorf("begin a session: %w", err)
	}
	if w.who.Model != "" {
		if err := choose(hello, conn, s, w.who.Model); err != nil {
			return "", err
		}
	}
	end, err := conn.Prompt(ctx, sdk.PromptRequest{SessionId: s.SessionId, Prompt: []sdk.ContentBlock{sdk.TextBlock(prompt)}})
	if ctx.Err() != nil {
		after, done := context.WithTimeout(context.WithoutCancel(ctx), cancelTime)
		defer done()
		if err := conn.Cancel(after, sdk.CancelNotification{SessionId: s.SessionId}); err != nil {
			w.log.Debug("couldn't stop an external agent; killing it", "agent", w.name, "err", err)
		}
		return "", context.Cause(ctx)
	}
	return end.StopReason, err
}

// choose sets the model of a session.
func choose(ctx context.Context, conn *sdk.ClientSideConnection, s sdk.NewSessionResponse, model string) error {
	for _, o := range s.ConfigOptions {
		if o.Select == nil || o.Select.Id != "model" &&
			(o.Select.Category == nil || *o.Select.Category != sdk.SessionConfigOptionCategoryModel) {
			continue
		}
		_, err := conn.SetSessionConfigOption(ctx, sdk.SetSessionConfigOptionRequest{ValueId: &sdk.SetSessionConfigOptionValueId{
			SessionId: s.SessionId, ConfigId: o.Select.Id, Value: sdk.SessionConfigValueId(model)}})
		if err != nil {
			return fmt.Errorf("choose the model %s: %w", model, err)
		}
		return nil
	}
	return fmt.Errorf("it doesn't support choosing a model; remove model from acp_agents, or pass it in args")
}

// explained adds the agent's complaints to an error.
func (w *worker) explained(err error) error {
	var r *sdk.RequestError
	text := err.Error()
	if errors.As(err, &r) && r.Message != "" {
		text = r.Message
		if data, ok := r.Data.(map[string]any); ok {
			for _, key := range []string{"details", "error"} {
				if more, ok := data[key].(string); ok {
					text += ": " + more
				}
			}
		}
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.lines) > 0 {
		text += "\nIt wrote on standard error:\n" + strings.Join(w.lines, "\n")
	}
	return errors.New(agent.Clip(text, 4000))
}

// veiled removes values of the agent's environment from a text.
func (w *worker) veiled(text string) string {
	for _, v := range w.who.Env {
		if len(v) >= 8 {
			text = strings.ReplaceAll(text, v, "***")
		}
	}
	return text
}

func (w *worker) complain(line string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.lines = append(w.lines, agent.Visible(agent.Clip(line, 500)))
	w.lines = w.lines[max(len(w.lines)-lastLines, 0):]
}

// waits is a reader that blocks until reading is allowed.
type waits struct {
	from  io.Reader
	ready <-chan struct{}
}

// Read implements io.Reader.
func (g *waits) Read(p []byte) (int, error) {
	<-g.ready
	return g.from.Read(p)
}

// SessionUpdate implements sdk.Client: it collects the answer and shows the agent's steps.
func (w *worker) SessionUpdate(_ context.Context, n sdk.SessionNotification) error {
	u := n.Update
	switch {
	case u.AgentMessageChunk != nil && u.AgentMessageChunk.Content.Text != nil:
		w.says(u.AgentMessageChunk.Content.Text.Text)
	case u.ToolCall != nil:
		w.steps(u.ToolCall.Title)
	case u.ToolCallUpdate != nil && u.ToolCallUpdate.Status != nil && *u.ToolCallUpdate.Status == sdk.ToolCallStatusFailed:
		w.steps("  failed")
	}
	return nil
}

func (w *worker) says(text string) {
	text = w.veiled(text)
	w.mu.Lock()
	defer w.mu.Unlock()
	room := maxAnswer - w.answer.Len()
	if len(text) > room {
		text, w.cut = strings.ToValidUTF8(text[:max(room, 0)], ""), true
	}
	w.answer.WriteString(text)
}

// steps shows a line during the call.
func (w *worker) steps(line string) {
	line = strings.ReplaceAll(agent.Visible(agent.Clip(w.veiled(line), 300)), "\n", " ") + "\n"
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.shown += len(line); w.over || w.shown > maxSteps || w.turn.Sink == nil {
		return
	}
	if data, err := agent.Encode(line); err == nil { // a string always encodes
		w.turn.Sink.Emit(agent.Event{Kind: agent.EventToolOutput, NS: w.turn.NS, Call: w.call, Data: data})
	}
}

// RequestPermission implements sdk.Client: only configured permissions are granted.
func (w *worker) RequestPermission(_ context.Context, r sdk.RequestPermissionRequest) (sdk.RequestPermissionResponse, error) {
	kinds := []sdk.PermissionOptionKind{sdk.PermissionOptionKindRejectOnce, sdk.PermissionOptionKindRejectAlways}
	if w.who.Approve {
		kinds = []sdk.PermissionOptionKind{sdk.PermissionOptionKindAllowOnce, sdk.PermissionOptionKindAllowAlways}
	}
	for _, kind := range kinds {
		for _, o := range r.Options {
			if o.Kind == kind {
				return sdk.RequestPermissionResponse{Outcome: sdk.NewRequestPermissionOutcomeSelected(o.OptionId)}, nil
			}
		}
	}
	return sdk.RequestPermissionResponse{Outcome: sdk.NewRequestPermissionOutcomeCancelled()}, nil
}

// place returns a path of the agent's folder.
func (w *worker) place(name string) (string, error) {
	rel := name
	if filepath.IsAbs(name) {
		var err error
		if rel, err = filepath.Rel(w.at, filepath.Clean(name)); err != nil {
			rel = ".."
		}
	}
	if !filepath.IsLocal(rel) {
		return "", sdk.NewInvalidParams(map[string]any{"error": name + " is outside of the session's folder"})
	}
	return rel, nil
}

// ReadTextFile implements sdk.Client.
func (w *worker) ReadTextFile(_ context.Context, r sdk.ReadTextFileRequest) (out sdk.ReadTextFileResponse, err error) {
	rel, err := w.place(r.Path)
	if err != nil {
		return out, err
	}
	f, err := w.root.Open(rel)
	if err != nil {
		return out, err
	}
	b, err := io.ReadAll(io.LimitReader(f, maxText+1))
	if err = errors.Join(err, f.Close()); err != nil {
		return out, err
	}
	if len(b) > maxText || !utf8.Valid(b) {
		return out, sdk.NewInvalidParams(map[string]any{"error": r.Path + " is too large, or no text"})
	}
	out.Content = string(b)
	if r.Line == nil && r.Limit == nil {
		return out, nil
	}
	all := strings.SplitAfter(out.Content, "\n")
	from, to := 0, len(all)
	if r.Line != nil {
		from = min(max(*r.Line, 1)-1, len(all))
	}
	if r.Limit != nil {
		to = min(from+max(*r.Limit, 0), to)
	}
	out.Content = strings.Join(all[from:to], "")
	return out, nil
}

// WriteTextFile implements sdk.Client.
func (w *worker) WriteTextFile(_ context.Context, r sdk.WriteTextFileRequest) (out sdk.WriteTextFileResponse, err error) {
	rel, err := w.place(r.Path)
	if err != nil {
		return out, err
	}
	if len(r.Content) > maxText {
		return out, sdk.NewInvalidParams(map[string]any{"error": "the text is too large"})
	}
	if err := w.root.MkdirAll(filepath.Dir(rel), 0o700); err != nil {
		return out, err
	}
	return out, w.root.WriteFile(rel, []byte(r.Content), 0o600)
}

// errNoTerminal is returned to agents that request a terminal.
func errNoTerminal() error { return sdk.NewMethodNotFound("terminal") }

// CreateTerminal implements sdk.Client.
func (*worker) CreateTerminal(context.Context, sdk.CreateTerminalRequest) (out sdk.CreateTerminalResponse, err error) {
	return out, errNoTerminal()
}

// KillTerminal implements sdk.Client.
func (*worker) KillTerminal(context.Context, sdk.KillTerminalRequest) (out sdk.KillTerminalResponse, err error) {
	return out, errNoTerminal()
}

// TerminalOutput implements sdk.Client.
func (*worker) TerminalOutput(context.Context, sdk.TerminalOutputRequest) (out sdk.TerminalOutputResponse, err error) {
	return out, errNoTerminal()
}

// ReleaseTerminal implements sdk.Client.
func (*worker) ReleaseTerminal(context.Context, sdk.ReleaseTerminalRequest) (out sdk.ReleaseTerminalResponse, err error) {
	return out, errNoTerminal()
}

// WaitForTerminalExit implements sdk.Client.
func (*worker) WaitForTerminalExit(context.Context, sdk.WaitForTerminalExitRequest) (
	out sdk.WaitForTerminalExitResponse, err error) {
	return out, errNoTerminal()
}
