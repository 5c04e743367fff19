package middleware

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"slices"
	"sync"

	"fawn/agent"
	"fawn/sandbox/files"
)

// readMark is the key in a tool message's kwargs for the version of the file that its call read.
const readMark = "deerflow_read_mark"

// maxHashed limits the size of files with a known version, in bytes.
const maxHashed = 64 << 20

// Lock acquires a thread's path and returns its release, or the context's error.
type Lock func(ctx context.Context, thread, path string) (unlock func(), err error)

// ReadGate lets a model change a file only after it read the current version and while that is still in its context.
// New and unreadable files pass: their tools report errors. lock is shared by all runs and differs from the tools' own
// lock.
func ReadGate(open Files, lock Lock) agent.Middleware {
	g := readGate{open, lock, &ownChanges{last: map[string]ownChange{}}}
	return agent.Middleware{
		Name: "read_gate",
		WrapTool: func(next agent.ToolFunc) agent.ToolFunc {
			return func(ctx context.Context, t *agent.Turn, c agent.ToolCall) (agent.Result, error) {
				switch c.Name {
				case "read_file":
					return g.read(ctx, t, c, next)
				case "write_file", "str_replace":
					return g.write(ctx, t, c, next)
				}
				return next(ctx, t, c)
			}
		},
	}
}

type readGate struct {
	open Files
	lock Lock
	own  *ownChanges
}

// ownChanges are the file versions created by calls of the newest answers: further calls of the same answer were
// written before reading again was possible, and build on the same version.
type ownChanges struct {
	mu   sync.Mutex
	last map[string]ownChange // by thread and path
}

type ownChange struct{ answer, hash string }

// maxOwnChanges limits the tracked files; a forgotten one must be read again before the next change.
const maxOwnChanges = 4096

func (o *ownChanges) made(thread, path string, by ownChange) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return by.answer != "" && o.last[thread+"\x00"+path] == by
}

func (o *ownChanges) note(thread, path string, by ownChange) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if len(o.last) >= maxOwnChanges {
		clear(o.last)
	}
	o.last[thread+"\x00"+path] = by
}

// answerOf returns the model's message that makes a call, or "".
func answerOf(t *agent.Turn, c agent.ToolCall) string {
	for _, m := range slices.Backward(t.State.Messages) {
		if slices.ContainsFunc(m.ToolCalls, func(one agent.ToolCall) bool { return one.ID == c.ID }) {
			return m.ID
		}
	}
	return ""
}

// keeps reports whether a call preserves the content it doesn't name: such calls of one answer don't undo each other.
func keeps(c agent.ToolCall) bool {
	var args struct {
		Append bool `json:"append"`
	}
	return c.Name == "str_replace" || json.Unmarshal(c.Args, &args) == nil && args.Append
}

// read marks the result with the version from before the call, so a change in between requires another read.
func (g readGate) read(ctx context.Context, t *agent.Turn, c agent.ToolCall,
	next agent.ToolFunc) (agent.Result, error) {
	path := pathOf(c)
	if path == "" {
		return next(ctx, t, c)
	}
	unlock, err := g.lock(ctx, t.ThreadID, path)
	if err != nil {
		return agent.Result{}, err
	}
	defer unlock()
	hash, err := g.hash(ctx, t.ThreadID, path)
	if ctx.Err() != nil {
		return agent.Result{}, context.Cause(ctx)
	}
	r, failed := next(ctx, t, c)
	if failed != nil || r.IsError || err != nil {
		return r, failed
	}
	r.Kwargs = maps.Clone(r.Kwargs)
	if r.Kwargs == nil {
		r.Kwargs = map[string]any{}
	}
	r.Kwargs[readMark] = map[string]any{"path": path, "hash": hash}
	return r, nil
}

func (g readGate) write(ctx context.Context, t *agent.Turn, c agent.ToolCall,
	next agent.ToolFunc) (agent.Result, error) {
	path := pathOf(c)
	if path == "" {
		return next(ctx, t, c)
	}
	unlock, err := g.lock(ctx, t.ThreadID, path)
	if err != nil {
		return agent.Result{}, err
	}
	defer unlock()
	answer := answerOf(t, c)
	switch now, err := g.hash(ctx, t.ThreadID, path); {
	case ctx.Err() != nil:
		return agent.Result{}, context.Cause(ctx)
	case err != nil:
		if !errors.Is(err, fs.ErrNotExist) {
			t.Log.Debug("file version unknown; skipping the read check", "tool", c.Name, "err", err)
		}
	default:
		switch seen := lastRead(&t.State, path); {
		case seen == "":
			return refuse(c, path, "exists and is not among what you have read in this conversation")
		case seen != now && !(keeps(c) && g.own.made(t.ThreadID, path, ownChange{answer, now})):
			return refuse(c, path, "has changed since you read it")
		}
	}
	r, err := next(ctx, t, c)
	if err == nil && !r.IsError && answer != "" {
		if now, err := g.hash(ctx, t.ThreadID, path); err == nil {
			g.own.note(t.ThreadID, path, ownChange{answer, now})
		}
	}
	return r, err
}

func refuse(c agent.ToolCall, path, why string) (agent.Result, error) {
	return agent.ErrorResult(fmt.Sprintf(
		"Error: %s blocked — %s %s. Nothing was written. Call read_file on it first (a range with the lines in question is enough), then try again.",
		c.Name, agent.Escape(path), why)), nil
}

// pathOf returns the clean path a call names, empty when the tool will refuse it anyway.
func pathOf(c agent.ToolCall) string {
	var args struct {
		Path string `json:"path"`
	}
	if json.Unmarshal(c.Args, &args) != nil {
		return ""
	}
	clean, err := files.Clean(args.Path)
	if err != nil {
		return ""
	}
	return clean
}

// lastRead returns the version that the newest visible read of a path saw, empty without one.
func lastRead(s *agent.State, path string) string {
	msgs, cut := s.Messages, []string(nil)
	if v := s.View; v != nil {
		cut = v.Cut
		if i := slices.IndexFunc(msgs, func(m *agent.Message) bool { return v.From != "" && m.ID == v.From }); i > 0 {
			msgs = msgs[i:]
		}
	}
	for _, m := range slices.Backward(msgs) {
		if m.Type != agent.TypeTool || m.Kwargs == nil {
			continue
		}
		mark, _ := m.Kwargs[readMark].(map[string]any)
		if mark["path"] != path {
			continue
		}
		if slices.Contains(cut, m.ID) {
			return ""
		}
		hash, _ := mark["hash"].(string)
		return hash
	}
	return ""
}

// hash returns the hex SHA-256 of a whole file.
func (g readGate) hash(ctx context.Context, thread, path string) (string, error) {
	f, err := g.open(thread)
	if err != nil {
		return "", err
	}
	defer f.Close()
	file, _, err := f.Open(path)
	if err != nil {
		return "", err
	}
	defer file.Close()
	h := sha256.New()
	n, err := io.Copy(h, io.LimitReader(stopping{ctx, file}, maxHashed+1))
	if err != nil {
		return "", fmt.Errorf("read %s: %w", path, err)
	}
	if n > maxHashed {
		return "", files.ErrTooLarge
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}

// stopping is a reader that ends with its context.
type stopping struct {
	ctx context.Context
	io.Reader
}

// Read implements io.Reader.
func (s stopping) Read(p []byte) (int, error) {
	if err := context.Cause(s.ctx); err != nil {
		return 0, err
	}
	return s.Reader.Read(p)
}
