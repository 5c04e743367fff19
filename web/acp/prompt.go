package acp

import (
	"bytes"
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"path"
	"path/filepath"
	"strings"
	"time"
	"unicode/utf8"

	sdk "github.com/coder/acp-go-sdk"

	"fawn/web/client"
)

const (
	maxAttached = 64 << 20         // bytes of a file that is sent along
	leaveTime   = 15 * time.Second // time limit of cancelling a run and reading its end
)

// Reasons why runs stop early.
const (
	reasonLength = "model_length_capped"
	reasonSteps  = "recursion_limit"
	reasonSafety = "safety_capped"
)

// Prompt implements sdk.Agent.
func (e *editor) Prompt(ctx context.Context, r sdk.PromptRequest) (out sdk.PromptResponse, err error) {
	s, err := e.session(r.SessionId)
	if err != nil {
		return out, err
	}
	if !e.enter() {
		return out, &sdk.RequestError{Code: -32603, Message: "the editor has left"}
	}
	defer e.work.Done()
	running, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(e.ctx, cancel)()
	if !s.begin(cancel) {
		return out, &sdk.RequestError{Code: -32600, Message: "the session answers another prompt: cancel that first"}
	}
	defer s.begin(nil)
	out, err = e.prompt(running, s, r.Prompt)
	if running.Err() != nil {
		return sdk.PromptResponse{StopReason: sdk.StopReasonCancelled}, nil
	}
	return out, err
}

// begin sets the active prompt and returns false if there is one already; nil clears it.
func (s *session) begin(cancel context.CancelFunc) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if cancel != nil && s.cancel != nil {
		return false
	}
	s.cancel = cancel
	return true
}

func (e *editor) prompt(ctx context.Context, s *session, blocks []sdk.ContentBlock) (out sdk.PromptResponse, err error) {
	server, err := e.reach(ctx)
	if err != nil {
		return out, err
	}
	dir, err := os.MkdirTemp("", "fawn-acp-*")
	if err != nil {
		return out, err
	}
	defer func() {
		if left := os.RemoveAll(dir); left != nil && err == nil {
			err = left
		}
	}()
	m, err := s.message(blocks, dir)
	if err != nil {
		return out, &sdk.RequestError{Code: -32602, Message: err.Error()}
	}
	if err := server.Call(ctx, http.MethodPost, "/threads", map[string]any{"thread_id": s.thread(),
		"metadata": s.metadata(), "if_exists": "do_nothing"}, nil); err != nil {
		return out, failure(err)
	}
	var before state
	if err := server.Call(ctx, http.MethodGet, s.path("/state"), nil, &before); err != nil {
		return out, failure(err)
	}
	human := map[string]any{"type": "human", "content": m.content}
	files, err := server.Upload(ctx, s.thread(), m.files)
	if err != nil {
		return out, failure(err)
	}
	if len(files) > 0 {
		var list []map[string]any
		for _, f := range files {
			list = append(list, map[string]any{"filename": f.Filename, "size": f.Size, "path": f.Path, "status": "uploaded"})
		}
		human["additional_kwargs"] = map[string]any{"files": list}
	}
	t := e.teller(ctx, s)
	t.server = server
	why, err := t.follow(ctx, e.request(s, human))
	if err != nil {
		return out, failure(err)
	}
	return t.finish(ctx, before, why)
}

// request returns the body of a run.
func (e *editor) request(s *session, human map[string]any) map[string]any {
	mode, chosen := s.choices()
	options := map[string]any{"interactive": true, "client_tools": e.tools(s, mode)}
	for id, key := range map[sdk.SessionConfigId]string{optionModel: "model_name", optionEffort: "mode",
		optionAgent: "agent_name"} {
		if chosen[id] != usual {
			options[key] = chosen[id]
		}
	}
	return map[string]any{"assistant_id": "lead_agent", "input": map[string]any{"messages": []any{human}},
		"context": options, "stream_mode": []string{"messages-tuple", "updates", "custom"}, "on_disconnect": "continue",
		"multitask_strategy": "reject"}
}

// follow starts the run and reports it to the editor. The end of ctx cancels the run.
func (t *teller) follow(ctx context.Context, body map[string]any) (why string, err error) {
	working, stop := context.WithCancel(ctx)
	t.working = working
	why, err = t.server.Follow(ctx, t.s.thread(), body, client.Listener{Event: t.event,
		Begun: func(run string) { t.run = run },
		Away:  func(why string) { t.e.Log.Warn(why, "session", t.s.id) }})
	stop()
	t.work.Wait()
	if ctx.Err() == nil {
		return why, err
	}
	after, done := context.WithTimeout(context.WithoutCancel(ctx), leaveTime)
	defer done()
	var gone *client.Refusal // the run has ended
	if err := t.server.Cancel(after, t.s.thread(), t.run); err != nil && !errors.As(err, &gone) {
		t.e.Log.Error("couldn't cancel a run", "session", t.s.id, "run", t.run, "err", err)
	}
	t.unfinished()
	return "", ctx.Err()
}

// finish reports information from the final state: a question, files, the title. Then it reports how the run ended.
func (t *teller) finish(ctx context.Context, before state, why string) (out sdk.PromptResponse, err error) {
	var run struct {
		Status string  `json:"status"`
		Error  *string `json:"error"`
		Reason *string `json:"stop_reason"`
		Input  int     `json:"total_input_tokens"`
		Output int     `json:"total_output_tokens"`
		Total  int     `json:"total_tokens"`
	}
	if err := t.server.Call(ctx, http.MethodGet, t.s.path("/runs/"+url.PathEscape(t.run)), nil, &run); err != nil {
		return out, failure(err)
	}
	var now state
	if err := t.server.Call(ctx, http.MethodGet, t.s.path("/state"), nil, &now); err != nil {
		return out, failure(err)
	}
	t.unfinished()
	if why == "" && run.Status != "success" && run.Status != "interrupted" {
		if why = run.Status; run.Error != nil {
			why = *run.Error
		}
	}
	if why != "" {
		return out, &sdk.RequestError{Code: -32603, Message: why}
	}
	if question := now.question(); question != "" && !strings.HasSuffix(t.said(), question) {
		t.says("question", question)
	}
	t.files(before.Values.Artifacts, now.Values.Artifacts)
	if now.Values.Title != "" && now.Values.Title != before.Values.Title {
		t.tell(sdk.SessionUpdate{SessionInfoUpdate: &sdk.SessionSessionInfoUpdate{SessionUpdate: "session_info_update",
			Title: &now.Values.Title}})
	}
	out.StopReason = sdk.StopReasonEndTurn
	switch {
	case run.Reason != nil && *run.Reason == reasonLength:
		out.StopReason = sdk.StopReasonMaxTokens
	case run.Reason != nil && *run.Reason == reasonSteps:
		out.StopReason = sdk.StopReasonMaxTurnRequests
	case run.Reason != nil && *run.Reason == reasonSafety:
		out.StopReason = sdk.StopReasonRefusal
	case run.Status == "interrupted" && now.question() == "":
		out.StopReason = sdk.StopReasonCancelled // cancelled on the page
	}
	out.Usage = &sdk.Usage{InputTokens: run.Input, OutputTokens: run.Output, TotalTokens: run.Total}
	return out, t.failed()
}

// files sends links to files presented by the agent since.
func (t *teller) files(before, now []string) {
	known := map[string]bool{}
	for _, p := range before {
		known[p] = true
	}
	for _, p := range now {
		if known[p] {
			continue
		}
		parts := strings.Split(strings.TrimPrefix(path.Clean("/"+p), "/"), "/")
		for i := range parts {
			parts[i] = url.PathEscape(parts[i])
		}
		at := strings.TrimRight(t.server.URL, "/") + "/api" + t.s.path("/artifacts/"+strings.Join(parts, "/"))
		t.tell(sdk.UpdateAgentMessage(sdk.ResourceLinkBlock(path.Base(p), at)))
	}
}

// message is a prompt in the form of the API.
type message struct {
	content any      // text, or parts
	files   []string // to upload first
}

// message reads a prompt. Contents of files that are sent with it are put into dir.
func (s *session) message(blocks []sdk.ContentBlock, dir string) (m message, err error) {
	var text, behind strings.Builder
	var pictures []any
	picture := func(mime, data string) {
		pictures = append(pictures, map[string]any{"type": "image_url",
			"image_url": map[string]any{"url": "data:" + mime + ";base64," + data}})
	}
	for i, b := range blocks {
		switch {
		case b.Text != nil:
			text.WriteString(b.Text.Text)
		case b.Image != nil:
			picture(b.Image.MimeType, b.Image.Data)
		case b.ResourceLink != nil:
			said, file := s.link(b.ResourceLink.Name, b.ResourceLink.Uri)
			text.WriteString(said)
			if file != "" {
				m.files = append(m.files, file)
			}
		case b.Resource != nil && b.Resource.Resource.TextResourceContents != nil:
			r := b.Resource.Resource.TextResourceContents
			name := s.called(r.Uri)
			text.WriteString("`" + name + "`")
			fmt.Fprintf(&behind, "\n\n<file path=%q>\n%s\n</file>", name, strings.TrimSuffix(r.Text, "\n"))
		case b.Resource != nil && b.Resource.Resource.BlobResourceContents != nil:
			r := b.Resource.Resource.BlobResourceContents
			if r.MimeType != nil && strings.HasPrefix(*r.MimeType, "image/") {
				picture(*r.MimeType, r.Blob)
				continue
			}
			data, err := base64.StdEncoding.DecodeString(r.Blob)
			if err != nil {
				return m, fmt.Errorf("the resource %s isn't valid base64: %w", r.Uri, err)
			}
			name := path.Base(filepath.ToSlash(s.called(r.Uri)))
			if name == "." || name == "/" || name == ".." {
				name = "file"
			}
			at := filepath.Join(dir, fmt.Sprint(i), name)
			if err = os.MkdirAll(filepath.Dir(at), 0o700); err == nil {
				err = os.WriteFile(at, data, 0o600)
			}
			if err != nil {
				return m, err
			}
			text.WriteString("`" + name + "`")
			m.files = append(m.files, at)
		default:
			return m, errors.New("the prompt has content that isn't text, an image or a file")
		}
	}
	whole := text.String() + behind.String()
	if strings.TrimSpace(whole) == "" && len(pictures) == 0 {
		return m, errors.New("the prompt is empty")
	}
	if m.content = whole; len(pictures) > 0 {
		parts := []any{}
		if whole != "" {
			parts = append(parts, map[string]any{"type": "text", "text": whole})
		}
		m.content = append(parts, pictures...)
	}
	return m, nil
}

// local returns the file that an address names, "" for other addresses.
func local(uri string) string {
	u, err := url.Parse(uri)
	if err != nil || u.Scheme != "file" || u.Host != "" && u.Host != "localhost" {
		return ""
	}
	name := filepath.FromSlash(u.Path)
	if filepath.Separator == '\\' {
		name = strings.TrimPrefix(name, `\`) // before a drive
	}
	if !filepath.IsAbs(name) {
		return ""
	}
	return filepath.Clean(name)
}

// called returns a resource's name in a message: its path if it is in the project.
func (s *session) called(uri string) string {
	at := local(uri)
	if at == "" {
		return uri
	}
	if rel, err := filepath.Rel(s.folder, at); err == nil && filepath.IsLocal(rel) {
		return filepath.ToSlash(rel)
	}
	return at
}

// link returns the text for a link in a message. A file that the agent can't read in the project is attached.
func (s *session) link(name, uri string) (said, file string) {
	at := local(uri)
	if at == "" {
		return "[" + name + "](" + uri + ")", ""
	}
	said = "`" + s.called(uri) + "`"
	info, err := os.Stat(at)
	if err != nil || !info.Mode().IsRegular() || info.Size() > maxAttached {
		return said, ""
	}
	if _, err := s.place(at); err == nil && readable(at) {
		return said, ""
	}
	return said, at
}

// readable reports whether a file's beginning is text.
func readable(at string) bool {
	f, err := os.Open(at)
	if err != nil {
		return false
	}
	b, err := io.ReadAll(io.LimitReader(f, 8<<10))
	if err = errors.Join(err, f.Close()); err != nil || bytes.IndexByte(b, 0) >= 0 {
		return false
	}
	for i := 0; i < utf8.UTFMax && len(b) > 0 && !utf8.Valid(b); i++ {
		b = b[:len(b)-1] // the last character may be cut
	}
	return utf8.Valid(b)
}
