package acp

import (
	"context"
	"encoding/json"
	"fmt"
	"net/url"

	sdk "github.com/coder/acp-go-sdk"
)

// Answers of a person.
const (
	onceOption   sdk.PermissionOptionId = "once"
	alwaysOption sdk.PermissionOptionId = "always"
	rejectOption sdk.PermissionOptionId = "reject"
)

// allow asks the person whether a call may be carried out. Permissions for the session aren't asked again.
func (t *teller) allow(ctx context.Context, c calling, what string, kind sdk.ToolKind, shown []sdk.ToolCallContent) error {
	t.s.mu.Lock()
	known := t.s.allowed[what]
	t.s.mu.Unlock()
	if known {
		return nil
	}
	var a map[string]any
	if err := json.Unmarshal(c.Args, &a); err != nil {
		return err
	}
	call := sdk.ToolCallUpdate{ToolCallId: c.ID, Title: sdk.Ptr(titleOf(c.Name, a)), Kind: &kind,
		Status: sdk.Ptr(sdk.ToolCallStatusPending), Content: shown, RawInput: a}
	if at := t.location(c.Name, a); at != nil {
		call.Locations = []sdk.ToolCallLocation{*at}
	}
	all := "Allow all edits in this session"
	if what == "run" {
		all = "Allow all commands in this session"
	}
	got, err := t.permission(ctx, call, []sdk.PermissionOption{
		{Kind: sdk.PermissionOptionKindAllowOnce, Name: "Allow", OptionId: onceOption},
		{Kind: sdk.PermissionOptionKindAllowAlways, Name: all, OptionId: alwaysOption},
		{Kind: sdk.PermissionOptionKindRejectOnce, Name: "Reject", OptionId: rejectOption}})
	switch {
	case err != nil:
		return err
	case got == alwaysOption:
		t.s.mu.Lock()
		t.s.allowed[what] = true
		t.s.mu.Unlock()
	case got != onceOption:
		return errRefused
	}
	t.tell(sdk.UpdateToolCall(c.ID, sdk.WithUpdateStatus(sdk.ToolCallStatusInProgress)))
	return nil
}

// permission asks and returns the option chosen by the person, "" for none.
func (t *teller) permission(ctx context.Context, call sdk.ToolCallUpdate, options []sdk.PermissionOption) (
	sdk.PermissionOptionId, error) {
	r, err := t.e.conn.RequestPermission(ctx, sdk.RequestPermissionRequest{SessionId: t.s.id, ToolCall: call,
		Options: options})
	if err != nil {
		if ctx.Err() != nil {
			return "", context.Cause(ctx)
		}
		return "", fmt.Errorf("ask the user: %s", reason(err))
	}
	if r.Outcome.Selected == nil {
		return "", nil
	}
	return r.Outcome.Selected.OptionId, nil
}

// question returns the server's question to the person.
type question struct {
	ID      string `json:"-"`
	Host    string `json:"host"`
	Port    int    `json:"port"`
	Server  string `json:"server"`
	Message string `json:"message"`
	Schema  struct {
		Required []string `json:"required"`
	} `json:"schema"`
}

// put shows a question as a waiting call, and returns the option chosen by the person.
func (t *teller) put(ctx context.Context, id sdk.ToolCallId, title string, kind sdk.ToolKind,
	options []sdk.PermissionOption) (sdk.PermissionOptionId, error) {
	t.mu.Lock()
	known := t.calls[id] != nil
	t.calls[id] = &performed{over: true}
	t.mu.Unlock()
	if !known {
		t.tell(sdk.StartToolCall(id, title, sdk.WithStartKind(kind), sdk.WithStartStatus(sdk.ToolCallStatusPending)))
	}
	got, err := t.permission(ctx, sdk.ToolCallUpdate{ToolCallId: id, Title: &title, Kind: &kind,
		Status: sdk.Ptr(sdk.ToolCallStatusPending)}, options)
	status := sdk.ToolCallStatusFailed
	if got == onceOption || got == alwaysOption {
		status = sdk.ToolCallStatusCompleted
	}
	t.tell(sdk.UpdateToolCall(id, sdk.WithUpdateStatus(status)))
	return got, err
}

// connects asks whether commands of the agent may reach a host.
func (t *teller) connects(ctx context.Context, q question) {
	got, err := t.put(ctx, sdk.ToolCallId("network "+q.Host), fmt.Sprintf("Connect to %s:%d", q.Host, q.Port),
		sdk.ToolKindFetch, []sdk.PermissionOption{
			{Kind: sdk.PermissionOptionKindAllowOnce, Name: "Allow once", OptionId: onceOption},
			{Kind: sdk.PermissionOptionKindAllowAlways, Name: "Allow in this session", OptionId: alwaysOption},
			{Kind: sdk.PermissionOptionKindRejectOnce, Name: "Don't allow", OptionId: rejectOption}})
	if err != nil {
		return // it can still be answered on the page
	}
	said := map[sdk.PermissionOptionId]string{onceOption: "once", alwaysOption: "thread", rejectOption: "no", "": "no"}[got]
	t.post("/network", map[string]any{"host": q.Host, "port": q.Port, "answer": said})
}

// form asks an MCP server's question. A form with fields is answered on the page.
func (t *teller) form(ctx context.Context, q question) {
	if len(q.Schema.Required) > 0 {
		t.says("question "+q.ID, fmt.Sprintf("%s asks: %s\n\nAnswer it in the chat: %s", q.Server, q.Message,
			t.server.URL+"/workspace/chats/"+url.PathEscape(t.s.thread())))
		return
	}
	got, err := t.put(ctx, sdk.ToolCallId("question "+q.ID), q.Server+": "+q.Message, sdk.ToolKindOther,
		[]sdk.PermissionOption{{Kind: sdk.PermissionOptionKindAllowOnce, Name: "Accept", OptionId: onceOption},
			{Kind: sdk.PermissionOptionKindRejectOnce, Name: "Decline", OptionId: rejectOption}})
	if err != nil {
		return // it can still be answered on the page
	}
	said := map[sdk.PermissionOptionId]string{onceOption: "accept", rejectOption: "decline", "": "cancel"}[got]
	t.post("/mcp/questions/"+url.PathEscape(q.ID), map[string]any{"action": said})
}
