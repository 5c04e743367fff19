package client

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"path"
	"strings"
	"time"
)

// modes are the options of a run that make a mode.
var modes = map[string]map[string]any{
	"flash":    {"thinking_enabled": false, "is_plan_mode": false, "subagent_enabled": false},
	"thinking": {"thinking_enabled": true, "is_plan_mode": false, "subagent_enabled": false, "reasoning_effort": "low"},
	"pro":      {"thinking_enabled": true, "is_plan_mode": true, "subagent_enabled": false, "reasoning_effort": "medium"},
	"ultra":    {"thinking_enabled": true, "is_plan_mode": true, "subagent_enabled": true, "reasoning_effort": "high"},
}

// stopLength is the stop reason of a run whose answer reached the model's limit.
const stopLength = "model_length_capped"

// leaveTime limits the wait for a stopped run to end.
const leaveTime = 15 * time.Second

// state is the part of a thread's state that is read here.
type state struct {
	Values struct {
		Messages  []message `json:"messages"`
		Artifacts []string  `json:"artifacts"`
	} `json:"values"`
	Next  []string `json:"next"`
	Tasks []struct {
		Interrupts []struct {
			Value json.RawMessage `json:"value"`
		} `json:"interrupts"`
	} `json:"tasks"`
}

type message struct {
	ID        string          `json:"id"`
	Type      string          `json:"type"`
	Name      string          `json:"name"`
	Content   json.RawMessage `json:"content"`
	Status    string          `json:"status"`
	ToolCalls []struct {
		Name string         `json:"name"`
		Args map[string]any `json:"args"`
	} `json:"tool_calls"`
}

// text returns the text of a message, without images and reasoning.
func (m message) text() string {
	var s string
	if json.Unmarshal(m.Content, &s) == nil {
		return s
	}
	var parts []struct{ Type, Text string }
	if json.Unmarshal(m.Content, &parts) != nil {
		return ""
	}
	var b strings.Builder
	for _, p := range parts {
		if p.Type == "text" {
			b.WriteString(p.Text)
		}
	}
	return b.String()
}

// Run carries out a task. An error means that it couldn't start; the outcome of a run is in the result, which was
// already shown.
func Run(ctx context.Context, s Server, t Task, screen Screen) (r Result, err error) {
	began := time.Now()
	limited, stop := context.WithCancel(ctx)
	if t.Timeout > 0 {
		limited, stop = context.WithTimeout(ctx, t.Timeout)
	}
	defer stop()
	r = Result{ThreadID: t.Thread, Artifacts: []Artifact{}}
	if err := s.check(limited, t); err != nil {
		return r, err
	}
	var before state
	if t.Thread == "" {
		var made struct {
			ID string `json:"thread_id"`
		}
		body := map[string]any{}
		if t.Project != "" {
			id, err := s.project(limited, t.Project)
			if err != nil {
				return r, err
			}
			body["project_id"] = id
		}
		if err := s.Call(limited, http.MethodPost, "/threads", body, &made); err != nil {
			return r, fmt.Errorf("begin a chat: %w", err)
		}
		r.ThreadID = made.ID
	} else {
		err := s.Call(limited, http.MethodGet, "/threads/"+url.PathEscape(t.Thread)+"/state", nil, &before)
		if err != nil {
			return r, fmt.Errorf("continue the chat %s: %w", t.Thread, err)
		}
	}
	files, err := s.Upload(limited, r.ThreadID, t.Files)
	if err != nil {
		return r, err
	}
	show := &show{Screen: screen}
	failure, err := s.Follow(limited, r.ThreadID, body(t, files), Listener{Begun: func(run string) { r.RunID = run },
		Away: show.note, Event: func(event string, data []byte) {
			if t.Watch != nil {
				t.Watch(event, data)
			}
			switch event {
			case "messages":
				show.delta(data)
			case "updates":
				show.step(data)
			}
		}})
	r.Seconds = time.Since(began).Seconds()
	if limited.Err() != nil {
		r.Status = TimedOut
		if ctx.Err() != nil {
			r.Status = Cancelled
		}
		after, done := context.WithTimeout(context.WithoutCancel(ctx), leaveTime)
		defer done()
		return r, errors.Join(s.Cancel(after, r.ThreadID, r.RunID), s.finish(after, &r, before, t, show))
	}
	var no *Refusal
	if errors.As(err, &no) && no.Status == http.StatusUnprocessableEntity {
		err = &Mistake{no.Why}
	}
	if err != nil {
		return r, err
	}
	if failure != "" {
		r.Status, r.Error = Failed, failure
	}
	return r, s.finish(ctx, &r, before, t, show)
}

// body returns the request of the run.
func body(t Task, files []Uploaded) map[string]any {
	options := map[string]any{}
	for k, v := range modes[t.Mode] {
		options[k] = v
	}
	for k, v := range map[string]string{"mode": t.Mode, "model_name": t.Model, "agent_name": t.Agent} {
		if v != "" {
			options[k] = v
		}
	}
	if len(t.Knowledge) > 0 {
		options["knowledge"] = t.Knowledge
	}
	m := map[string]any{"type": "human", "content": t.Text}
	if len(files) > 0 {
		list := make([]map[string]any, len(files))
		for i, f := range files {
			list[i] = map[string]any{"filename": f.Filename, "size": f.Size, "path": f.Path, "status": "uploaded"}
		}
		m["additional_kwargs"] = map[string]any{"files": list}
	}
	out := map[string]any{"assistant_id": "lead_agent", "input": map[string]any{"messages": []any{m}},
		"context": options, "stream_mode": []string{"messages-tuple", "updates"}, "on_disconnect": "continue",
		"if_not_exists": "create", "multitask_strategy": "reject"}
	if t.Watch != nil {
		out["stream_subgraphs"] = true
	}
	return out
}

// Cancel ends a run, if there is one, and waits for its end; its output so far is kept.
func (s Server) Cancel(ctx context.Context, thread, run string) error {
	if run == "" {
		return nil
	}
	at := "/threads/" + url.PathEscape(thread) + "/runs/" + url.PathEscape(run)
	return s.Call(ctx, http.MethodPost, at+"/cancel?wait=true", nil, nil)
}

// finish reads the run's result, copies its files and shows the answer.
func (s Server) finish(ctx context.Context, r *Result, before state, t Task, show *show) error {
	var now state
	at := "/threads/" + url.PathEscape(r.ThreadID)
	if err := s.Call(ctx, http.MethodGet, at+"/state", nil, &now); err != nil {
		return err
	}
	if r.RunID != "" {
		var run struct {
			Status string  `json:"status"`
			Error  *string `json:"error"`
			Reason *string `json:"stop_reason"`
			Meta   struct {
				Warning string `json:"model_warning"` // another model answered than the chat's
			} `json:"metadata"`
			Input  int `json:"total_input_tokens"`
			Output int `json:"total_output_tokens"`
			Total  int `json:"total_tokens"`
			Calls  int `json:"llm_call_count"`
		}
		if err := s.Call(ctx, http.MethodGet, at+"/runs/"+url.PathEscape(r.RunID), nil, &run); err != nil {
			return err
		}
		if run.Meta.Warning != "" {
			show.note(run.Meta.Warning)
		}
		r.Usage = Usage{run.Input, run.Output, run.Total, run.Calls}
		if run.Reason != nil {
			r.Reason = *run.Reason
		}
		if r.Status == "" {
			r.Status = Success
			if r.Reason == stopLength {
				r.Status = CutOff
			}
			if run.Status != "success" && run.Status != "interrupted" {
				r.Status, r.Error = Failed, run.Status
				if run.Error != nil {
					r.Error = *run.Error
				}
			}
		}
	}
	fresh := now.Values.Messages[min(len(before.Values.Messages), len(now.Values.Messages)):]
	for i := len(fresh) - 1; i >= 0 && r.Answer == ""; i-- {
		if fresh[i].Type == "ai" {
			r.Answer = fresh[i].text()
		}
	}
	if r.Status == Success && len(now.Next) > 0 {
		r.Status = Waiting
	}
	for _, task := range now.Tasks {
		for _, in := range task.Interrupts {
			r.Questions = append(r.Questions, question(in.Value))
		}
	}
	var err error
	r.Artifacts, err = s.artifacts(ctx, r.ThreadID, before.Values.Artifacts, now.Values.Artifacts, t.Out)
	if err != nil {
		err = fmt.Errorf("copy files: %w", err)
	}
	return errors.Join(err, show.end(*r))
}

// question returns the text of a run's question.
func question(value json.RawMessage) string {
	var s string
	if json.Unmarshal(value, &s) == nil {
		return s
	}
	var q struct {
		Question string   `json:"question"`
		Text     string   `json:"text"`
		Options  []string `json:"options"`
	}
	if json.Unmarshal(value, &q) == nil && q.Question+q.Text != "" {
		text := q.Question
		if text == "" {
			text = q.Text
		}
		for _, o := range q.Options {
			text += "\n- " + o
		}
		return text
	}
	return string(value)
}

// escaped returns a virtual path as part of an address.
func escaped(p string) string {
	parts := strings.Split(strings.TrimPrefix(path.Clean("/"+p), "/"), "/")
	for i, s := range parts {
		parts[i] = url.PathEscape(s)
	}
	return strings.Join(parts, "/")
}
