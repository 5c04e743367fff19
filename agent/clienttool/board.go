package clienttool

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
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
	maxCalls  = 32               // limit per thread
	patience  = 10 * time.Minute // limit of waiting for a result
	lookEvery = time.Second      // polling interval for results with a lost wake-up
	noteTime  = 5 * time.Second  // limit of storing a call or result
	told      = 10 * time.Minute // how long repeated results are answered with the first one
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
	notes    clusterstate.Notes
	announce func(thread string, event json.RawMessage) bool
	log      *slog.Logger

	mu   sync.Mutex
	open map[string]int // calls of this server, by thread
}

// retried later
func New(notes clusterstate.Notes, announce func(thread string, event json.RawMessage) bool, log *slog.Logger) *Board {
	return &Board{notes: notes, announce: announce, log: log, open: map[string]int{}}
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

// names returns the notes' names of a call and its result. Clients choose thread ids freely.
func names(thread, id string) (call, result string) {
	sum := sha256.Sum256([]byte(thread))
	at := hex.EncodeToString(sum[:16]) + "/" + id
	return "client/call/" + at, "client/result/" + at
}

// note is a call as the servers share it.
type note struct {
	Node int64 `json:"node"` // the server that waits
}

// call shows a call and waits for its result.
func (b *Board) call(ctx context.Context, thread string, c agent.ToolCall) (Result, error) {
	if !b.enter(thread) {
		return Result{}, errMany
	}
	defer b.leave(thread)
	args := c.Args
	if len(args) == 0 {
		args = json.RawMessage("{}")
	}
	id, until := rand.Text(), b.notes.Now().Add(patience).UTC()
	event, err := agent.Encode(map[string]any{"type": TypeCall, "thread_id": thread, "id": id, "tool_call_id": c.ID,
		"name": c.Name, "args": args, "until": until})
	if err != nil {
		return Result{IsError: true, Text: "Error: the arguments are not a valid JSON object"}, nil
	}
	hint := make(chan struct{}, 1)
	defer b.notes.HearNotes(func() {
		select {
		case hint <- struct{}{}:
		default:
		}
	})()
	body, err := json.Marshal(note{b.notes.Self()})
	if err != nil {
		return Result{}, err
	}
	called, _ := names(thread, id)
	if err := b.notes.Swap(ctx, nil, clusterstate.Note{Name: called, Body: body, Until: until.Add(noteTime)}); err != nil {
		b.withdraw(ctx, thread, id)
		return Result{}, fmt.Errorf("leave a call: %w", err)
	}
	b.announce(thread, event)
	r, err := b.wait(ctx, thread, id, until, hint)
	if over, err := agent.Encode(map[string]any{"type": TypeOver, "thread_id": thread, "id": id,
		"tool_call_id": c.ID}); err == nil {
		b.announce(thread, over)
	}
	return r, err
}

// wait waits for the result, or withdraws the call.
func (b *Board) wait(ctx context.Context, thread, id string, until time.Time, hint <-chan struct{}) (Result, error) {
	timer := time.NewTimer(until.Sub(b.notes.Now()))
	defer timer.Stop()
	look := time.NewTicker(lookEvery)
	defer look.Stop()
	for {
		var over error
		select {
		case <-hint:
		case <-look.C:
		case <-timer.C:
			over = errLate
		case <-ctx.Done():
			over = context.Cause(ctx)
		}
		if over != nil {
			if r, ok := b.withdraw(ctx, thread, id); ok {
				return r, nil
			}
			return Result{}, over
		}
		if r, ok := b.take(ctx, thread, id); ok {
			return r, nil
		}
	}
}

func (b *Board) enter(thread string) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.open[thread] >= maxCalls {
		return false
	}
	b.open[thread]++
	return true
}

func (b *Board) leave(thread string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.open[thread]--; b.open[thread] == 0 {
		delete(b.open, thread)
	}
}

// take removes the result, if there is one, and returns it. That it was taken is remembered for a while.
func (b *Board) take(ctx context.Context, thread, id string) (r Result, ok bool) {
	_, result := names(thread, id)
	list, err := b.notes.Notes(ctx, result)
	if err != nil || len(list) == 0 { // checked again later
		return r, false
	}
	if err := json.Unmarshal(list[0].Body, &r); err != nil {
		b.log.Error("couldn't read a client tool's result", "thread", thread, "err", err)
		r = Result{Text: "Error: the client's result can't be read", IsError: true}
	}
	err = b.notes.Swap(ctx, nil, clusterstate.Note{Name: result, Body: []byte("null"), Until: list[0].Until, Over: true})
	if err != nil && ctx.Err() == nil {
		b.log.Warn("couldn't delete a client tool's result", "thread", thread, "err", err)
	}
	return r, true
}

// withdraw removes a call, unless its result has just arrived.
func (b *Board) withdraw(ctx context.Context, thread, id string) (Result, bool) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), noteTime)
	defer cancel()
	called, _ := names(thread, id)
	err := b.notes.Swap(ctx, []string{called})
	if errors.Is(err, clusterstate.ErrChanged) {
		return b.take(ctx, thread, id)
	}
	if err != nil {
		b.log.Warn("couldn't withdraw a client tool call", "thread", thread, "err", err)
	}
	return Result{}, false
}

// Answer delivers the result of a call, and the run continues on its server. Errors: ErrNoCall, ErrOver, ErrLarge.
func (b *Board) Answer(ctx context.Context, thread, id string, r Result) error {
	if len(r.Text) > MaxResult {
		return ErrLarge
	}
	called, result := names(thread, id)
	list, err := b.notes.Notes(ctx, called)
	if err != nil {
		return err
	}
	if len(list) == 0 || list[0].Name != called {
		return b.over(ctx, result)
	}
	var n note
	if err := json.Unmarshal(list[0].Body, &n); err != nil {
		return fmt.Errorf("read a call: %w", err)
	}
	here, err := b.notes.Servers(ctx)
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
	err = b.notes.Swap(ctx, []string{called}, clusterstate.Note{Name: result, Body: body, Until: b.notes.Now().Add(patience + told)})
	if errors.Is(err, clusterstate.ErrChanged) {
		return b.over(ctx, result)
	}
	return err
}

// over returns the reason why a call can't get a result.
func (b *Board) over(ctx context.Context, result string) error {
	list, err := b.notes.Notes(ctx, result)
	if err != nil {
		return err
	}
	if slices.ContainsFunc(list, func(n clusterstate.Note) bool { return n.Name == result }) {
		return ErrOver
	}
	return ErrNoCall
}
