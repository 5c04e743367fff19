package mcpserver

import (
	"bytes"
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"mime/multipart"
	"net/http"
	"time"

	"github.com/google/uuid"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"fawn/web/inproc"
)

// Limit of a call's wait. Many clients give up after a minute without a response.
const (
	usualWait = 50 * time.Second
	mostWait  = time.Hour
)

// beginning is the input that starts or continues a task.
type beginning struct {
	Message string  `json:"message" jsonschema:"the task, or what to say in the conversation"`
	Thread  string  `json:"thread_id,omitempty" jsonschema:"the conversation to go on with; a new one without it"`
	Files   []given `json:"files,omitempty" jsonschema:"files to work with, 16 MiB in all"`
	Agent   string  `json:"agent,omitempty" jsonschema:"name of a custom agent"`
	Mode    string  `json:"mode,omitempty"`
	Model   string  `json:"model,omitempty" jsonschema:"name of a configured model; the usual one without it"`

	Knowledge []string `json:"knowledge,omitempty" jsonschema:"names or ids of collections of documents to search"`

	Wait *int `json:"wait_seconds,omitempty" jsonschema:"how long to wait, 0 to 3600; 50 without it"`
}

// given is a file of a client.
type given struct {
	Name string `json:"name" jsonschema:"file name with its extension"`
	Text string `json:"text,omitempty" jsonschema:"content of a text file"`
	Data string `json:"data,omitempty" jsonschema:"content of any other file, in base64"`
}

// which names a task.
type which struct {
	Thread string `json:"thread_id" jsonschema:"the conversation"`
	Run    string `json:"run_id,omitempty" jsonschema:"a task in it; the newest without it"`
}

type waiting struct {
	which
	Wait *int `json:"wait_seconds,omitempty" jsonschema:"how long to wait, 0 to 3600; 50 without it"`
}

type answering struct {
	Thread string `json:"thread_id" jsonschema:"the conversation whose task waits"`
	Answer string `json:"answer" jsonschema:"the answer, or the label of one of the options"`
	Wait   *int   `json:"wait_seconds,omitempty" jsonschema:"how long to wait, 0 to 3600; 50 without it"`
}

func seconds(n *int) (time.Duration, error) {
	if n == nil {
		return usualWait, nil
	}
	d := time.Duration(*n) * time.Second
	if *n < 0 || *n > int(mostWait/time.Second) {
		return 0, fmt.Errorf("wait_seconds: want 0 to %d", int(mostWait/time.Second))
	}
	return d, nil
}

func (s *Server) ask(ctx context.Context, req *sdk.CallToolRequest, in beginning) (*sdk.CallToolResult, *task, error) {
	wait, err := seconds(in.Wait)
	if err != nil {
		return nil, nil, err
	}
	r, err := s.begin(ctx, in)
	if err != nil {
		return nil, nil, err
	}
	return s.outcome(ctx, req, r.Thread, r.ID, wait)
}

func (s *Server) start(ctx context.Context, _ *sdk.CallToolRequest, in beginning) (*sdk.CallToolResult, *task, error) {
	r, err := s.begin(ctx, in)
	if err != nil {
		return nil, nil, err
	}
	return s.told(ctx, r.Thread, r.ID)
}

func (s *Server) wait(ctx context.Context, req *sdk.CallToolRequest, in waiting) (*sdk.CallToolResult, *task, error) {
	wait, err := seconds(in.Wait)
	if err != nil {
		return nil, nil, err
	}
	r, _, err := s.find(ctx, in.Thread, in.Run)
	if err != nil {
		return nil, nil, err
	}
	return s.outcome(ctx, req, r.Thread, r.ID, wait)
}

func (s *Server) get(ctx context.Context, _ *sdk.CallToolRequest, in which) (*sdk.CallToolResult, *task, error) {
	return s.told(ctx, in.Thread, in.Run)
}

// told returns the current state of a task.
func (s *Server) told(ctx context.Context, thread, run string) (*sdk.CallToolResult, *task, error) {
	t, err := s.state(ctx, thread, run)
	if err != nil {
		return nil, nil, err
	}
	return t.result(), t, nil
}

// begin starts the run for a message. In a thread with an open question the message is the answer.
func (s *Server) begin(ctx context.Context, in beginning) (r runRow, err error) {
	if in.Message == "" {
		return r, errors.New("message: say what to do")
	}
	body := map[string]any{"multitask_strategy": "enqueue"}
	thread := in.Thread
	if thread == "" {
		thread = uuid.Must(uuid.NewV7()).String()
	} else {
		t, err := s.state(ctx, thread, "")
		switch {
		case errors.Is(err, errNoTask):
		case err != nil:
			return r, err
		case t.Status == waits && len(in.Files) == 0:
			body["command"] = map[string]any{"resume": in.Message}
		}
	}
	options := map[string]any{}
	for name, value := range map[string]string{"mode": in.Mode, "model_name": in.Model, "agent_name": in.Agent} {
		if value != "" {
			options[name] = value
		}
	}
	if len(in.Knowledge) > 0 {
		options["knowledge"] = in.Knowledge
	}
	body["context"] = options
	if body["command"] == nil {
		message := map[string]any{"type": "human", "content": in.Message}
		if len(in.Files) > 0 {
			files, err := s.upload(ctx, thread, in.Files)
			if err != nil {
				return r, err
			}
			message["additional_kwargs"] = map[string]any{"files": files}
		}
		body["input"] = map[string]any{"messages": []any{message}}
	}
	return r, s.api.Call(ctx, http.MethodPost, inproc.ThreadPath(thread, "runs"), body, &r)
}

// uploaded is a file as a message names it.
type uploaded struct {
	Name string `json:"filename"`
	Size int64  `json:"size"`
	Path string `json:"path"`
}

// upload stores files of a client in a thread.
func (s *Server) upload(ctx context.Context, thread string, files []given) ([]uploaded, error) {
	var body bytes.Buffer
	form := multipart.NewWriter(&body)
	for _, f := range files {
		data := []byte(f.Text)
		if f.Data != "" {
			if f.Text != "" {
				return nil, fmt.Errorf("file %q: give text or data, not both", f.Name)
			}
			var err error
			if data, err = base64.StdEncoding.DecodeString(f.Data); err != nil {
				return nil, fmt.Errorf("file %q: data is not base64: %w", f.Name, err)
			}
		}
		part, err := form.CreateFormFile("files", f.Name)
		if err != nil {
			return nil, err
		}
		if _, err := part.Write(data); err != nil {
			return nil, err
		}
	}
	if err := form.Close(); err != nil {
		return nil, err
	}
	var saved struct {
		Files []struct {
			Name string `json:"filename"`
			Size int64  `json:"size"`
			Path string `json:"virtual_path"`
		} `json:"files"`
		Skipped []string `json:"skipped_files"`
	}
	r, err := s.api.Request(ctx, http.MethodPost, inproc.ThreadPath(thread, "uploads"), form.FormDataContentType(), &body,
		inproc.MaxAnswer)
	if err != nil {
		return nil, err
	}
	if err := inproc.Decode(r, &saved); err != nil {
		return nil, err
	}
	if len(saved.Files) < len(files) {
		return nil, fmt.Errorf("these files were rejected: %q", saved.Skipped)
	}
	out := make([]uploaded, len(saved.Files))
	for i, f := range saved.Files {
		out[i] = uploaded(f)
	}
	return out, nil
}

func (s *Server) answer(ctx context.Context, req *sdk.CallToolRequest,
	in answering) (*sdk.CallToolResult, *task, error) {
	wait, err := seconds(in.Wait)
	if err != nil {
		return nil, nil, err
	}
	t, err := s.state(ctx, in.Thread, "")
	if err != nil {
		return nil, nil, err
	}
	if t.Status != waits {
		return nil, nil, fmt.Errorf("the task does not wait for an answer: it is %s", t.Status)
	}
	r := runRow{}
	err = s.api.Call(ctx, http.MethodPost, inproc.ThreadPath(in.Thread, "runs"), map[string]any{"multitask_strategy": "reject",
		"command": map[string]any{"resume": in.Answer}}, &r)
	if err != nil {
		return nil, nil, err
	}
	return s.outcome(ctx, req, r.Thread, r.ID, wait)
}

func (s *Server) cancel(ctx context.Context, _ *sdk.CallToolRequest, in which) (*sdk.CallToolResult, *task, error) {
	t, err := s.state(ctx, in.Thread, in.Run)
	if err != nil {
		return nil, nil, err
	}
	switch t.Status {
	case queued, working:
		err = s.api.Call(ctx, http.MethodPost, inproc.ThreadPath(t.Thread, "runs", t.Run, "cancel")+"?wait=true", nil, nil)
	case waits: // its thread has no next node
		err = s.api.Call(ctx, http.MethodPost, inproc.ThreadPath(t.Thread, "state"), map[string]any{"as_node": "__end__"}, nil)
	default:
		err = fmt.Errorf("the task has ended: it is %s", t.Status)
	}
	if err != nil {
		return nil, nil, err
	}
	return s.told(ctx, t.Thread, t.Run)
}

type listing struct {
	Limit  int `json:"limit,omitempty" jsonschema:"how many, 1 to 100; 20 without it"`
	Offset int `json:"offset,omitempty" jsonschema:"how many to leave out first"`
}

type threadList struct {
	Threads []threadLine `json:"threads"`
}

type threadLine struct {
	ID      string `json:"thread_id"`
	Title   string `json:"title"`
	Status  string `json:"status" jsonschema:"idle, busy, interrupted (it has a question) or error"`
	Updated string `json:"updated_at"`
}

func (s *Server) threads(ctx context.Context, _ *sdk.CallToolRequest,
	in listing) (*sdk.CallToolResult, *threadList, error) {
	if in.Limit == 0 {
		in.Limit = 20
	}
	if in.Limit < 1 || in.Limit > 100 || in.Offset < 0 {
		return nil, nil, errors.New("limit: want 1 to 100; offset: 0 or more")
	}
	var found []struct {
		threadLine
		Values struct {
			Title string `json:"title"`
		} `json:"values"`
	}
	err := s.api.Call(ctx, http.MethodPost, "/api/threads/search", map[string]any{"limit": in.Limit,
		"offset": in.Offset}, &found)
	out := &threadList{Threads: []threadLine{}}
	for _, f := range found {
		f.threadLine.Title = f.Values.Title
		out.Threads = append(out.Threads, f.threadLine)
	}
	return nil, out, err
}
