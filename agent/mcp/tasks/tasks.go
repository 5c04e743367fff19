// Package tasks stores the tasks of MCP servers: calls that continue on the server after its response. They belong to
// threads and are deleted with them.
package tasks

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"fawn/store"
)

// Keys of tasks, by thread, space and id: their state, the unfinished ones, and requested cancellations. The names
// cause deletion with the thread.
const (
	space     = "thread_mcp_task"
	openSpace = "thread_mcp_task_open"
	wishSpace = "thread_mcp_task_cancel"
)

// States of tasks.
const (
	Working   = "working"
	Input     = "input_required"
	Completed = "completed"
	Failed    = "failed"
	Cancelled = "cancelled"
)

// MaxPreview limits the part of a result stored with its task, in bytes.
const MaxPreview = 4 << 10

// ErrNotFound means that a thread lacks the task.
var ErrNotFound = errors.New("there is no such task")

// Task is a task of a server.
type Task struct {
	ID      string `json:"id"`
	Thread  string `json:"thread"`
	Run     string `json:"run"`
	Call    string `json:"call"`
	Server  string `json:"server"`
	Tool    string `json:"tool"`   // as the server calls it
	Remote  string `json:"remote"` // the server's id of it
	Status  string `json:"status"`
	Message string `json:"message,omitempty"` // the server's status message

	Created time.Time     `json:"created"`
	Updated time.Time     `json:"updated"`
	Every   time.Duration `json:"every,omitempty"` // polling interval wanted by the server; 0 is unspecified

	Polled    time.Time `json:"polled,omitzero"`
	PollError string    `json:"poll_error,omitempty"`
	Misses    int       `json:"misses,omitempty"` // consecutive unanswered polls

	Cancelled   time.Time `json:"cancelled,omitzero"` // time of the cancellation request
	CancelTries int       `json:"cancel_tries,omitempty"`
	CancelError string    `json:"cancel_error,omitempty"`

	Error     string          `json:"error,omitempty"`
	Preview   string          `json:"preview,omitempty"` // preview of the result, MaxPreview at most
	Truncated bool            `json:"truncated,omitempty"`
	Data      json.RawMessage `json:"data,omitempty"` // the structured result
	File      string          `json:"file,omitempty"` // file with the whole result
}

// Over reports whether the server no longer works on it.
func (t Task) Over() bool { return Over(t.Status) }

// Over reports whether a status is final.
func Over(status string) bool {
	return status == Completed || status == Failed || status == Cancelled
}

// Book stores the tasks of all threads.
type Book struct {
	DB *store.DB
	// Bad is called with each unreadable row that is skipped; nil for none.
	Bad func(thread, id string, err error)
}

// errBad means that a row can't be read.
var errBad = errors.New("the row can't be read")

// NewID returns the id of a task. Ids are ordered by time.
func NewID(now time.Time) string { return fmt.Sprintf("t%012x%s", now.UnixMilli(), rand.Text()) }

func key(thread, id string) string { return thread + " " + id }

// Put writes a task.
func (b Book) Put(ctx context.Context, t Task) error {
	body, err := json.Marshal(t)
	if err != nil {
		return fmt.Errorf("encode a task of an MCP server: %w", err)
	}
	open := store.KV{Owner: store.Global, Space: openSpace, Key: key(t.Thread, t.ID), Body: []byte("{}")}
	list := []store.KV{{Owner: store.Global, Space: space, Key: key(t.Thread, t.ID), Body: body}, open}
	if t.Over() {
		list[1].Body = nil
		list = append(list, store.KV{Owner: store.Global, Space: wishSpace, Key: key(t.Thread, t.ID)})
	}
	if err := b.DB.Commit(ctx, store.Batch{KV: list}); err != nil {
		return fmt.Errorf("store a task of an MCP server: %w", err)
	}
	return nil
}

// Get reads a task of a thread.
func (b Book) Get(ctx context.Context, thread, id string) (t Task, err error) {
	if id == "" || strings.ContainsAny(id, " \x00") {
		return Task{}, ErrNotFound
	}
	body, err := b.DB.KV(ctx, store.Global, space, key(thread, id))
	if errors.Is(err, store.ErrNotFound) {
		return Task{}, ErrNotFound
	}
	if err == nil {
		t, err = read(body)
	}
	if err != nil {
		return Task{}, fmt.Errorf("read a task of an MCP server: %w", err)
	}
	return b.wished(ctx, t)
}

func read(body []byte) (t Task, err error) {
	if err = json.Unmarshal(body, &t); err != nil {
		err = fmt.Errorf("%w: %w", errBad, err)
	}
	return t, err
}

// bad reports a skipped row.
func (b Book) bad(key string, err error) {
	if b.Bad != nil {
		thread, id, _ := strings.Cut(key, " ")
		b.Bad(thread, id, err)
	}
}

// wished adds the cancellation request, if there is one.
func (b Book) wished(ctx context.Context, t Task) (Task, error) {
	if t.Over() || !t.Cancelled.IsZero() {
		return t, nil
	}
	at, err := b.Wish(ctx, t.Thread, t.ID)
	if err != nil || !at.IsZero() {
		t.Cancelled = at
		return t, err
	}
	// A wish goes when its task ends, which may have happened since the task was read.
	body, err := b.DB.KV(ctx, store.Global, space, key(t.Thread, t.ID))
	if errors.Is(err, store.ErrNotFound) {
		return t, nil
	}
	if err != nil {
		return t, fmt.Errorf("read a task of an MCP server again: %w", err)
	}
	return read(body)
}

// pageRows is the number of rows read at a time.
const pageRows = 50

// each calls visit with the tasks of a thread, the newest first, until it returns false.
func (b Book) each(ctx context.Context, thread string, visit func(Task) bool) error {
	for before := ""; ; {
		list, err := b.DB.LastKVs(ctx, store.Global, space, thread+" ", before, pageRows)
		if err != nil {
			return fmt.Errorf("list the tasks of MCP servers: %w", err)
		}
		for _, kv := range list {
			before = kv.Key
			if t, err := read(kv.Body); err != nil {
				b.bad(kv.Key, err)
			} else if !visit(t) {
				return nil
			}
		}
		if len(list) < pageRows {
			return nil
		}
	}
}

// List reads the tasks of a thread, the newest first, limit of them at most.
func (b Book) List(ctx context.Context, thread string, limit int) ([]Task, error) {
	out := []Task{}
	err := b.each(ctx, thread, func(t Task) bool {
		out = append(out, t)
		return len(out) < limit
	})
	if err != nil {
		return nil, err
	}
	for i, t := range out {
		wished, err := b.wished(ctx, t)
		switch {
		case errors.Is(err, errBad):
			b.bad(key(t.Thread, t.ID), err)
		case err != nil:
			return nil, err
		default:
			out[i] = wished
		}
	}
	return out, nil
}

// OfCall returns the newest task of a run's call, or ErrNotFound.
func (b Book) OfCall(ctx context.Context, thread, run, call string) (found Task, err error) {
	err = ErrNotFound
	if failed := b.each(ctx, thread, func(t Task) bool {
		if t.Run == run && t.Call == call {
			found, err = t, nil
		}
		return err != nil
	}); failed != nil {
		return Task{}, failed
	}
	if err != nil {
		return Task{}, err
	}
	return b.wished(ctx, found)
}

// Open returns the unfinished tasks of all threads.
func (b Book) Open(ctx context.Context) ([]Task, error) {
	keys, err := b.DB.Keys(ctx, store.Global, openSpace)
	if err != nil {
		return nil, fmt.Errorf("list the open tasks of MCP servers: %w", err)
	}
	var out []Task
	for _, key := range keys {
		thread, id, _ := strings.Cut(key, " ")
		t, err := b.Get(ctx, thread, id)
		switch {
		case errors.Is(err, ErrNotFound): // it has been deleted since
		case errors.Is(err, errBad):
			b.bad(key, err)
		case err != nil:
			return nil, err
		default:
			out = append(out, t)
		}
	}
	return out, nil
}

// Cancel records a cancellation request. The server following the task carries it out.
func (b Book) Cancel(ctx context.Context, thread, id string, now time.Time) error {
	t, err := b.Get(ctx, thread, id)
	if err != nil || t.Over() || !t.Cancelled.IsZero() {
		return err
	}
	body, err := now.UTC().MarshalText()
	if err == nil {
		err = b.DB.Commit(ctx, store.Batch{KV: []store.KV{{Owner: store.Global, Space: wishSpace, Key: key(thread, id),
			Body: body}}})
	}
	if err != nil {
		return fmt.Errorf("request cancellation of an MCP server's task: %w", err)
	}
	return nil
}

// Wish returns the time of the first cancellation request; zero without one.
func (b Book) Wish(ctx context.Context, thread, id string) (at time.Time, err error) {
	body, err := b.DB.KV(ctx, store.Global, wishSpace, key(thread, id))
	if errors.Is(err, store.ErrNotFound) {
		return time.Time{}, nil
	}
	if err == nil {
		if err = at.UnmarshalText(body); err != nil {
			err = fmt.Errorf("%w: %w", errBad, err)
		}
	}
	if err != nil {
		return time.Time{}, fmt.Errorf("check for cancellation of an MCP server's task: %w", err)
	}
	return at, nil
}
