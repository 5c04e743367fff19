package request

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"fawn/agent"
)

// Request is a client's request for a run. The JSON names are those of the LangGraph run-create body; unknown fields are
// ignored, null counts as absent. It is stored with the run, so that a queued run can start after a restart.
type Request struct {
	AssistantID     string          `json:"assistant_id,omitempty"`
	Input           json.RawMessage `json:"input,omitempty"`
	Command         json.RawMessage `json:"command,omitempty"`
	Metadata        json.RawMessage `json:"metadata,omitempty"`
	Config          json.RawMessage `json:"config,omitempty"`
	Context         json.RawMessage `json:"context,omitempty"`
	CheckpointID    string          `json:"checkpoint_id,omitempty"`
	Checkpoint      json.RawMessage `json:"checkpoint,omitempty"`
	StreamMode      Strings         `json:"stream_mode,omitempty"`
	StreamSubgraphs bool            `json:"stream_subgraphs,omitempty"`
	Multitask       string          `json:"multitask_strategy,omitempty"` // reject, enqueue, interrupt, rollback
	OnDisconnect    string          `json:"on_disconnect,omitempty"`      // continue, cancel
	IfNotExists     string          `json:"if_not_exists,omitempty"`      // create, reject
	Webhook         string          `json:"webhook,omitempty"`            // notified of the run's end
	AfterSeconds    float64         `json:"after_seconds,omitempty"`      // delay of the run's start after its creation
	Durability      string          `json:"durability,omitempty"`         // sync, async, exit: one checkpoint is left of the run
	During          *bool           `json:"checkpoint_during,omitempty"`  // the old name: false is exit
	InterruptBefore Strings         `json:"interrupt_before,omitempty"`   // nodes, or "*": the run stops before them
	InterruptAfter  Strings         `json:"interrupt_after,omitempty"`    // nodes, or "*": the run stops after them

	Project     string `json:"project_id,omitempty"`   // project for a new thread
	Hold        bool   `json:"hold,omitempty"`         // while the thread is busy, the run waits for a successful end
	ID          string `json:"-"`                      // id of the run; "" creates one
	Thread      string `json:"-"`                      // "" creates a new thread
	Owner       string `json:"-"`                      // "" is the default owner
	HeaderModel string `json:"header_model,omitempty"` // the X-Model header
	Origin      string `json:"origin,omitempty"`       // "api" or "ui", for the log, or OriginCron

	Trace string `json:"traceparent,omitempty"` // W3C trace context of the caller

	Secrets     agent.Secrets `json:"-"`                      // set by TakeSecrets; lost in a restart
	SecretNames []string      `json:"secret_names,omitempty"` // names in Secrets when the run was created
}

// ErrInput wraps errors in a request.
var ErrInput = errors.New("invalid input")

// OriginCron is the origin of unattended runs, which may not ask questions.
const OriginCron = "cron"

// Strings reads a JSON string or a list of strings.
type Strings []string

// UnmarshalJSON implements json.Unmarshaler.
func (s *Strings) UnmarshalJSON(b []byte) error {
	b = bytes.TrimSpace(b)
	if len(b) > 0 && b[0] == '"' {
		var one string
		if err := json.Unmarshal(b, &one); err != nil {
			return err
		}
		*s = Strings{one}
		return nil
	}
	return json.Unmarshal(b, (*[]string)(s))
}

// Input is a parsed [Request.Input].
type Input struct {
	Patch agent.State
	Given bool // false: continue from the checkpoint as it is
}

// parseInput reads the run's input. Messages get no ids yet.
func parseInput(raw json.RawMessage) (Input, error) {
	raw = bytes.TrimSpace(raw)
	if len(raw) == 0 || string(raw) == "null" {
		return Input{}, nil
	}
	if raw[0] != '{' { // a bare message or list of messages
		msgs, err := agent.ParseMessages(raw)
		if err != nil {
			return Input{}, fmt.Errorf("%w: input.%v", ErrInput, err)
		}
		for _, m := range msgs {
			agent.StripServerKwargs(m)
		}
		return Input{Patch: agent.State{Messages: msgs}, Given: true}, nil
	}
	p, _, err := agent.ParsePatch(raw)
	if err != nil {
		return Input{}, fmt.Errorf("%w: %s", ErrInput, strings.Replace(err.Error(), "messages", "input.messages", 1))
	}
	p.Sandbox, p.ThreadData = nil, nil // only the server sets them
	for _, m := range p.Messages {
		agent.StripServerKwargs(m)
	}
	return Input{Patch: p, Given: true}, nil
}

// LeavesOne reports whether the run keeps only one checkpoint.
func (r *Request) LeavesOne() bool {
	return r.Durability == "exit" || r.Durability == "" && r.During != nil && !*r.During
}

// Base returns the checkpoint the run starts from; "" is the head.
func (r *Request) Base() (string, error) {
	if r.CheckpointID != "" {
		return r.CheckpointID, nil
	}
	if len(r.Checkpoint) > 0 && string(r.Checkpoint) != "null" {
		var c struct {
			ID     string `json:"checkpoint_id"`
			Thread string `json:"thread_id"`
		}
		if err := json.Unmarshal(r.Checkpoint, &c); err != nil {
			return "", fmt.Errorf("%w: checkpoint: %v", ErrInput, err)
		}
		if c.Thread != "" && c.Thread != r.Thread {
			return "", fmt.Errorf("%w: checkpoint.thread_id is another thread's", ErrInput)
		}
		return c.ID, nil
	}
	c, err := r.Choices()
	return c.checkpoint, err
}

// MaxDelay limits how long a run may be delayed.
const MaxDelay = 366 * 24 * time.Hour

// Delay returns the delay of the run's start after its creation.
func (r *Request) Delay() (time.Duration, error) {
	if r.AfterSeconds < 0 || r.AfterSeconds > MaxDelay.Seconds() {
		return 0, fmt.Errorf("%w: after_seconds: want 0 to %.0f, got %v", ErrInput, MaxDelay.Seconds(), r.AfterSeconds)
	}
	return time.Duration(r.AfterSeconds * float64(time.Second)), nil
}
