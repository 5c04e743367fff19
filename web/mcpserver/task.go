package mcpserver

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"slices"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"fawn/agent"
	"fawn/agent/runs"

	"fawn/web/inproc"
)

// Statuses of a task.
const (
	queued    = "queued"
	working   = "working"
	waits     = "input_required"
	completed = "completed"
	failed    = "failed"
	canceled  = "canceled"
)

// task is a client's view of a run.
type task struct {
	Thread    string     `json:"thread_id" jsonschema:"the conversation, which later calls name"`
	Run       string     `json:"run_id" jsonschema:"this task in it"`
	Title     string     `json:"title,omitempty"`
	Status    string     `json:"status" jsonschema:"queued, working, input_required, completed, failed or canceled"`
	Answer    string     `json:"answer,omitempty" jsonschema:"what Fawn said at the end, as Markdown"`
	Question  *question  `json:"question,omitempty" jsonschema:"what it waits for, with the status input_required"`
	Error     string     `json:"error,omitempty" jsonschema:"why it failed"`
	Artifacts []artifact `json:"artifacts,omitempty" jsonschema:"the files presented in this conversation"`
	URL       string     `json:"url,omitempty" jsonschema:"the page with the conversation, for people"`
}

type question struct {
	Text    string   `json:"text"`
	Context string   `json:"context,omitempty"`
	Options []string `json:"options,omitempty" jsonschema:"answers to choose from; other text is an answer, too"`
}

// runRow is a run in the API's format.
type runRow struct {
	ID     string  `json:"run_id"`
	Thread string  `json:"thread_id"`
	Status string  `json:"status"`
	Reason *string `json:"stop_reason"`
}

func (r runRow) stopped(reason string) bool { return r.Reason != nil && *r.Reason == reason }

// values are the parts of a thread's state that a task shows.
type values struct {
	Messages   json.RawMessage   `json:"messages"`
	Title      string            `json:"title"`
	Artifacts  []string          `json:"artifacts"`
	Interrupts inproc.Interrupts `json:"__interrupt__"`
	Error      string            `json:"error"` // error of a run that failed
	Failed     *struct {
		Message string `json:"message"`
	} `json:"__error__"`
}

// errNoTask means that a thread has no task.
var errNoTask = errors.New("this conversation has no task yet: begin one with ask or start_task")

// newest returns the newest runs of a thread.
func (s *Server) newest(ctx context.Context, thread string) ([]runRow, error) {
	var list []runRow
	return list, s.api.Call(ctx, http.MethodGet, inproc.ThreadPath(thread, "runs")+"?limit=1", nil, &list)
}

// find returns the named run of a thread, or the newest without a name; last reports whether it is the newest.
func (s *Server) find(ctx context.Context, thread, run string) (r runRow, last bool, err error) {
	list, err := s.newest(ctx, thread)
	switch {
	case err != nil:
		return r, false, err
	case len(list) == 0:
		return r, false, errNoTask
	case run == "" || run == list[0].ID:
		return list[0], true, nil
	}
	return r, false, s.api.Call(ctx, http.MethodGet, inproc.ThreadPath(thread, "runs", run), nil, &r)
}

// state reads the state of a run.
func (s *Server) state(ctx context.Context, thread, run string) (*task, error) {
	r, last, err := s.find(ctx, thread, run)
	if err != nil {
		return nil, err
	}
	t := &task{Thread: r.Thread, Run: r.ID, URL: s.URL() + "/workspace/chats/" + r.Thread}
	var v values
	if runs.Done(r.Status) {
		err = s.api.Call(ctx, http.MethodGet, inproc.ThreadPath(thread, "runs", r.ID, "join"), nil, &v)
	} else {
		var state struct {
			Values values `json:"values"`
		}
		err = s.api.Call(ctx, http.MethodGet, inproc.ThreadPath(thread, "state"), nil, &state)
		v = state.Values
	}
	if err != nil {
		return nil, err
	}
	t.Title = v.Title
	if t.Status, err = s.standing(ctx, r, last, len(v.Interrupts) > 0); err != nil {
		return nil, err
	}
	switch t.Status {
	case completed:
		t.Answer = answerOf(v.Messages)
	case waits:
		t.Question = asked(v)
	case failed:
		if t.Error = v.Error; t.Error == "" && v.Failed != nil {
			t.Error = v.Failed.Message
		}
	}
	if t.Artifacts, err = s.described(ctx, thread, v.Artifacts); err != nil {
		return nil, err
	}
	return t, nil
}

// standing returns the status of a task whose run is r. A question is open while the run is the thread's last one and
// the thread waits.
func (s *Server) standing(ctx context.Context, r runRow, last, asks bool) (string, error) {
	switch r.Status {
	case runs.Pending:
		return queued, nil
	case runs.Running:
		return working, nil
	case runs.Failed, runs.Timeout:
		return failed, nil
	case runs.Interrupted:
		if !r.stopped(agent.StopBreakpoint) {
			return canceled, nil
		}
	}
	if !asks && !r.stopped(agent.StopBreakpoint) || !last {
		return completed, nil
	}
	var thread struct {
		Status string `json:"status"`
	}
	if err := s.api.Call(ctx, http.MethodGet, inproc.ThreadPath(r.Thread), nil, &thread); err != nil {
		return "", err
	}
	if thread.Status != runs.ThreadInterrupted {
		return canceled, nil
	}
	return waits, nil
}

// asked returns the question of a state. A breakpoint has none: any answer lets the run continue.
func asked(v values) *question {
	q := &question{}
	for _, i := range v.Interrupts {
		q.Text, q.Context = i.Value.Question, i.Value.Context
		for _, o := range i.Value.Options {
			q.Options = append(q.Options, o.Text())
		}
	}
	return q
}

// answerOf returns the agent's last text since the last message of a person.
func answerOf(raw json.RawMessage) string {
	messages, err := agent.ParseMessages(raw)
	if err != nil {
		return ""
	}
	for _, m := range slices.Backward(messages) {
		if m.Genuine() {
			break
		}
		if text := m.Content.String(); m.Type == agent.TypeAI && text != "" {
			return text
		}
	}
	return ""
}

// result returns a task as a result of a tool: its answer as text, its files as links.
func (t *task) result() *sdk.CallToolResult {
	text := t.Answer
	switch t.Status {
	case waits:
		text = "Fawn asks: " + t.Question.Text
		if t.Question.Context != "" {
			text += "\n\n" + t.Question.Context
		}
		for _, o := range t.Question.Options {
			text += "\n- " + o
		}
		text += "\n\nAnswer with answer_question and the thread_id " + t.Thread + "."
	case failed:
		text = "The task failed: " + t.Error
	case canceled:
		text = "The task was canceled."
	case queued, working:
		text = "The task is " + t.Status + ". Wait for it with wait_task and the thread_id " + t.Thread + "."
	}
	out := &sdk.CallToolResult{Content: []sdk.Content{&sdk.TextContent{Text: text}}, IsError: t.Status == failed}
	for _, a := range t.Artifacts {
		out.Content = append(out.Content, a.link())
	}
	return out
}
