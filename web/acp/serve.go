package acp

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"sync"

	sdk "github.com/coder/acp-go-sdk"

	"fawn/web/client"
)

// Options configure serving an editor.
type Options struct {
	Open    func(ctx context.Context) (client.Server, error) // finds the server; called again if it is gone
	Agent   string                                           // agent of sessions that choose none; "" is the lead agent
	Model   string                                           // the same
	Effort  string                                           // flash, thinking, pro, ultra or ""
	Version string
	In      io.Reader
	Out     io.Writer
	Log     *slog.Logger // for protocol errors
}

// Serve serves an editor until it disconnects or ctx ends. Active runs are then cancelled.
func Serve(ctx context.Context, o Options) error {
	ctx, leave := context.WithCancel(ctx)
	defer leave()
	e := &editor{Options: o, ctx: ctx, sessions: map[sdk.SessionId]*session{}}
	ready := make(chan struct{})
	e.conn = sdk.NewAgentSideConnection(e, o.Out, &gate{from: o.In, ready: ready})
	e.conn.SetLogger(o.Log)
	close(ready)
	select {
	case <-e.conn.Done():
	case <-ctx.Done():
	}
	leave()
	e.stop()
	e.work.Wait()
	return nil
}

// gate is a reader that blocks until reading is allowed.
type gate struct {
	from  io.Reader
	ready <-chan struct{}
}

// Read implements io.Reader.
func (g *gate) Read(p []byte) (int, error) {
	<-g.ready
	return g.from.Read(p)
}

// editor is the agent that an editor speaks with.
type editor struct {
	Options
	ctx  context.Context
	conn *sdk.AgentSideConnection
	work sync.WaitGroup // active prompts

	mu       sync.Mutex
	closed   bool
	can      sdk.ClientCapabilities
	sessions map[sdk.SessionId]*session
	server   *client.Server
}

// enter counts a prompt, which Serve waits for; false once the editor has left.
func (e *editor) enter() bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.closed {
		return false
	}
	e.work.Add(1)
	return true
}

func (e *editor) stop() {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.closed = true
}

func (e *editor) capabilities() sdk.ClientCapabilities {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.can
}

// reach returns the server, searching again if it is gone.
func (e *editor) reach(ctx context.Context) (client.Server, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	var refused *client.Refusal
	if e.server != nil {
		err := e.server.Call(ctx, http.MethodGet, "/health", nil, nil)
		if err == nil || errors.As(err, &refused) || ctx.Err() != nil {
			return *e.server, nil
		}
	}
	s, err := e.Open(ctx)
	if err != nil {
		return s, sdk.NewInternalError(map[string]any{"details": err.Error()})
	}
	e.server = &s
	return s, nil
}

// failure words an error of the server for the editor.
func failure(err error) error {
	var refused *client.Refusal
	if !errors.As(err, &refused) {
		return &sdk.RequestError{Code: -32603, Message: err.Error()}
	}
	switch refused.Status {
	case http.StatusUnauthorized:
		return &sdk.RequestError{Code: -32000, Message: refused.Why}
	case http.StatusNotFound:
		return &sdk.RequestError{Code: -32002, Message: refused.Why}
	case http.StatusUnprocessableEntity, http.StatusBadRequest, http.StatusRequestEntityTooLarge:
		return &sdk.RequestError{Code: -32602, Message: refused.Why}
	}
	return &sdk.RequestError{Code: -32603, Message: refused.Why}
}

// Initialize implements sdk.Agent.
func (e *editor) Initialize(_ context.Context, r sdk.InitializeRequest) (sdk.InitializeResponse, error) {
	e.mu.Lock()
	e.can = r.ClientCapabilities
	e.mu.Unlock()
	return sdk.InitializeResponse{ProtocolVersion: sdk.ProtocolVersionNumber, AuthMethods: []sdk.AuthMethod{},
		AgentInfo: &sdk.Implementation{Name: "fawn", Title: sdk.Ptr("Fawn"), Version: e.Version},
		AgentCapabilities: sdk.AgentCapabilities{LoadSession: true,
			PromptCapabilities: sdk.PromptCapabilities{Image: true, EmbeddedContext: true},
			SessionCapabilities: sdk.SessionCapabilities{List: &sdk.SessionListCapabilities{},
				Resume: &sdk.SessionResumeCapabilities{}, Close: &sdk.SessionCloseCapabilities{},
				AdditionalDirectories: &sdk.SessionAdditionalDirectoriesCapabilities{}}}}, nil
}

// Authenticate implements sdk.Agent. There is no method to choose: the command has a token.
func (e *editor) Authenticate(context.Context, sdk.AuthenticateRequest) (sdk.AuthenticateResponse, error) {
	return sdk.AuthenticateResponse{}, &sdk.RequestError{Code: -32602,
		Message: "give the command a token instead, with --token or FAWN_TOKEN"}
}

// Logout implements sdk.Agent.
func (e *editor) Logout(context.Context, sdk.LogoutRequest) (sdk.LogoutResponse, error) {
	return sdk.LogoutResponse{}, nil
}
