package clienttool

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"time"

	"fawn/agent"
	"fawn/agent/clusterstate"
)

// Types of the events about calls.
const (
	TypeCall = "client_tool_call"
	TypeOver = "client_tool_over" // it has a result, or is no longer wanted
)

// MaxResult limits the text of a result, in bytes.
const MaxResult = 1 << 20

const (
	maxCalls = 32               // limit per thread
	patience = 10 * time.Minute // limit of waiting for a result
)

var (
	// ErrNoCall means that a call isn't open, or no longer open.
	ErrNoCall = errors.New("there is no such call")
	// ErrOver means that a call has a result already.
	ErrOver = errors.New("the call already has a result")
	// ErrLarge means that a result is too long.
	ErrLarge = fmt.Errorf("the result is longer than %d bytes", MaxResult)

	errMany = errors.New("too many calls are waiting for the client")
	errLate = errors.New("the client did not answer in time")
)

// Result is the client's result of a call.
type Result struct {
	Text    string `json:"content"`
	IsError bool   `json:"is_error,omitempty"`
}

// Board holds the open calls of all servers. It is safe for concurrent use.
type Board struct {
	exchange *clusterstate.Exchange
	announce func(thread string, event json.RawMessage) bool
	log      *slog.Logger
}

// New returns a Board of notes. announce publishes the events about calls to the readers of a thread.
func New(notes clusterstate.Notes, announce func(thread string, event json.RawMessage) bool, log *slog.Logger) *Board {
	return &Board{announce: announce, log: log, exchange: &clusterstate.Exchange{Notes: notes, Log: log,
		What: "a client tool call", Requests: "client/call/", Replies: "client/result/", Most: maxCalls,
		Many: errMany, None: ErrNoCall, Replied: ErrOver}}
}

// Tool converts a client's tool definition. Calls that name the same path keep their order.
func (b *Board) Tool(d agent.ClientTool) *agent.Tool {
	return &agent.Tool{Name: d.Name, Description: d.Description, Schema: d.Schema, Server: "client", Native: d.Name,
		Access: func(c agent.ToolCall) agent.Access {
			var args struct {
				Path string `json:"path"`
			}
			if json.Unmarshal(c.Args, &args) != nil || args.Path == "" {
				return agent.Access{}
			}
			return agent.Access{Writes: []string{"client:" + args.Path}}
		},
		Resumes: true, // the client identifies the call by its id
		Run: func(ctx context.Context, t *agent.Turn, c agent.ToolCall) (agent.Result, error) {
			r, err := b.call(ctx, t.ThreadID, c)
			switch {
			case err == nil && r.IsError:
				return agent.ErrorResult(r.Text), nil
			case err == nil:
				return agent.TextResult(r.Text), nil
			case ctx.Err() != nil:
				return agent.Result{}, context.Cause(ctx)
			case errors.Is(err, errMany), errors.Is(err, errLate):
				return agent.ErrorResult("Error: " + err.Error() + ". Go on without it, or say what you need."), nil
			}
			return agent.Result{}, fmt.Errorf("call the client's tool %s: %w", c.Name, err)
		}}
}

// note is a call as the servers share it.
type note struct {
	Node int64 `json:"node"` // the server that waits
}

// call shows a call and waits for its result.
func (b *Board) call(ctx context.Context, thread string, c agent.ToolCall) (Result, error) {
	args := c.Args
	if len(args) == 0 {
		args = json.RawMessage("{}")
	}
	id, until := rand.Text(), b.exchange.Notes.Now().Add(patience).UTC()
	event, err := agent.Encode(map[string]any{"type": TypeCall, "thread_id": thread, "id": id, "tool_call_id": c.ID,
		"name": c.Name, "args": args, "until": until})
	if err != nil {
		return Result{IsError: true, Text: "Error: the arguments are not a valid JSON object"}, nil
	}
	body, err := json.Marshal(note{b.exchange.Notes.Self()})
	if err != nil {
		return Result{}, err
	}
	shown := false
	reply, err := b.exchange.Ask(ctx, thread, id, body, until, func() {
		shown = true
		b.announce(thread, event)
	})
	if shown {
		if over, err := agent.Encode(map[string]any{"type": TypeOver, "thread_id": thread, "id": id, "tool_call_id": c.ID}); err == nil {
			b.announce(thread, over)
		}
	}
	if errors.Is(err, clusterstate.ErrLate) {
		err = errLate
	}
	if err != nil {
		return Result{}, err
	}
	var r Result
	if err := json.Unmarshal(reply, &r); err != nil {
		b.log.Error("couldn't read a client tool's result", "thread", thread, "err", err)
		r = Result{Text: "Error: the client's result can't be read", IsError: true}
	}
	return r, nil
}

// Answer delivers the result of a call, and the run continues on its server. Errors: ErrNoCall, ErrOver, ErrLarge.
func (b *Board) Answer(ctx context.Context, thread, id string, r Result) error {
	if len(r.Text) > MaxResult {
		return ErrLarge
	}
	called, _ := b.exchange.Names(thread, id)
	list, err := b.exchange.Notes.Notes(ctx, called)
	if err != nil {
		return err
	}
	if len(list) == 0 || list[0].Name != called {
		return b.exchange.Missing(ctx, thread, id)
	}
	var n note
	if err := json.Unmarshal(list[0].Body, &n); err != nil {
		return fmt.Errorf("read a call: %w", err)
	}
	here, err := b.exchange.Notes.Servers(ctx)
	if err != nil {
		return err
	}
	if !slices.Contains(here, n.Node) {
		return ErrNoCall // its server is gone, and the call with it
	}
	body, err := json.Marshal(r)
	if err != nil {
		return err
	}
	return b.exchange.Reply(ctx, thread, id, body, b.exchange.Notes.Now().Add(patience))
}
