package mcp

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"fawn/agent"
)

// Limits of calls.
const (
	quietTime     = 10 * time.Minute // silence allowed to a call without its own limit
	progressEvery = 250 * time.Millisecond
	progressBytes = 64 << 10 // shown of one call
)

var (
	errQuiet = errors.New("the server stopped responding")
	errSlow  = errors.New("the call took too long")
)

// runner calls a tool of a server, in the current session.
func (p *Pool) runner(name, tool string, renamed names, long bool) func(context.Context, *agent.Turn, agent.ToolCall) (agent.Result, error) {
	return func(ctx context.Context, t *agent.Turn, c agent.ToolCall) (agent.Result, error) {
		if long {
			if cut, ok := t.Results[c.ID]; ok && cut.Cut { // the run resumes it
				if r, ok, err := p.again(ctx, t, c); ok || err != nil {
					return r, err
				}
				return cut, nil
			}
		}
		p.mu.Lock()
		s := p.servers[name]
		p.mu.Unlock()
		if s == nil {
			return agent.ErrorResult(fmt.Sprintf("Error: the MCP server %q has been switched off or removed.",
				name)), nil
		}
		c.Args = renamed.restored(c.Args)
		return s.call(ctx, t, c, tool, long)
	}
}

var callNumber atomic.Uint64

// call makes one call. A failing server becomes a result that tells the model about it.
func (s *server) call(ctx context.Context, t *agent.Turn, c agent.ToolCall, tool string, long bool) (agent.Result, error) {
	failed := func(format string, args ...any) (agent.Result, error) {
		return agent.ErrorResult("Error: " + s.veil.over(fmt.Sprintf(format, args...))), nil
	}
	s.mu.Lock()
	conf := s.conf
	s.mu.Unlock()
	folder := ""
	args := c.Args
	if conf.Type == Stdio && !conf.Sandboxed {
		var err error
		if folder, err = s.pool.folder(t.ThreadID); err != nil {
			return agent.Result{}, fmt.Errorf("open files of thread: %w", err)
		}
		if args, err = hostPaths(args, folder); err != nil {
			return failed("the arguments are not a JSON object")
		}
	}
	e, err := s.session(ctx, t.ThreadID)
	if err != nil {
		if ctx.Err() != nil {
			return agent.Result{}, context.Cause(ctx)
		}
		s.outside()
		return failed("the MCP server %q can't be used now: %v. Continue without it, or try later.", s.name, err)
	}
	defer e.end()
	calling, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	limit, why := conf.CallTimeout, errSlow
	if limit == 0 {
		limit, why = quietTime, errQuiet
	}
	var unlimited atomic.Bool // tasks have no time limit
	timer := time.AfterFunc(limit, func() { cancel(why) })
	defer timer.Stop()
	report := &reporter{turn: t, call: c, veil: s.veil}
	token := "fawn-" + strconv.FormatUint(callNumber.Add(1), 10)
	stop := e.follow(token, watcher{tell: func(p *sdk.ProgressNotificationParams) {
		if why == errQuiet && !unlimited.Load() && calling.Err() == nil && !e.paused() {
			timer.Reset(limit)
		}
		report.report(p)
	}, pause: func(on bool) {
		if timer.Stop(); !on && !unlimited.Load() {
			timer.Reset(limit)
		}
	}, ctx: calling, sample: samplerOf(ctx)})
	defer func() {
		stop()
		e.settle()
	}()
	params := &sdk.CallToolParams{Name: tool, Arguments: args, Meta: sdk.Meta{}}
	params.SetProgressToken(token)
	began := time.Now()
	asking := calling
	if long {
		asking = mayBeLong(calling)
	}
	r, err := e.client.CallTool(asking, params)
	if err == nil && long {
		if state := made(r); state != nil {
			unlimited.Store(true)
			timer.Stop()
			defer report.end()
			return s.begun(ctx, t, c, tool, state)
		}
	}
	report.end()
	var answer *jsonrpc.Error
	switch {
	case err == nil:
		return s.result(ctx, t, c, tool, r, folder, e.tmp)
	case ctx.Err() != nil:
		return agent.Result{}, context.Cause(ctx)
	case errors.Is(context.Cause(calling), errQuiet), errors.Is(context.Cause(calling), errSlow):
		return failed("the MCP server %q did not answer within %v.", s.name, limit)
	case errors.As(err, &answer) && e.alive() && !s.unknown.Load():
		return failed("the MCP server %q refused the call: %s", s.name, agent.Clip(answer.Message, 2000))
	}
	if unread(err) && e.alive() {
		return failed("the MCP server %q answered with something that can't be read, and the call may have had effects: %s", s.name,
			agent.Clip(err.Error(), 500))
	}
	if e.proc != nil && errors.Is(err, io.EOF) {
		e.proc.LastWords()
	}
	err = s.explain(err, began)
	e.close() // its next call gets another session
	if s.outside() {
		return failed("the MCP server %q did nothing: %v. Continue without it, or try later.", s.name, err)
	}
	return failed("the MCP server %q stopped during the call, which may have had effects: %v", s.name, err)
}

// unread reports whether an answer was malformed. The session continues.
func unread(err error) bool {
	var kind *json.UnmarshalTypeError
	var form *json.SyntaxError
	return errors.As(err, &kind) || errors.As(err, &form) || strings.Contains(err.Error(), "unmarshal")
}

// outside records that the server requires a login, if it does.
func (s *server) outside() bool {
	if !s.unknown.Load() {
		return false
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.state, s.err, s.next = StateLogin, errLogin.Error(), time.Time{}
	return true
}

// hostPaths replaces paths of the thread's files in arguments by the paths that the server sees.
func hostPaths(args json.RawMessage, folder string) (json.RawMessage, error) {
	if len(bytes.TrimSpace(args)) == 0 {
		return json.RawMessage("{}"), nil
	}
	if !bytes.Contains(args, []byte(userData)) && !bytes.Contains(args, []byte(`\/`)) {
		return args, nil
	}
	d := json.NewDecoder(bytes.NewReader(args))
	d.UseNumber()
	var v any
	if err := d.Decode(&v); err != nil {
		return nil, err
	}
	return json.Marshal(mapTexts(v, func(s string) string { return toHost(s, folder) }))
}

// mapTexts returns a JSON value with other texts.
func mapTexts(v any, f func(string) string) any {
	switch v := v.(type) {
	case string:
		return f(v)
	case []any:
		for i := range v {
			v[i] = mapTexts(v[i], f)
		}
	case map[string]any:
		for k := range v {
			v[k] = mapTexts(v[k], f)
		}
	}
	return v
}

// reporter shows the progress of one call.
type reporter struct {
	turn *agent.Turn
	call agent.ToolCall
	veil *veil

	mu    sync.Mutex
	last  time.Time
	shown int
	ended bool
}

// report shows progress at most once per interval.
func (r *reporter) report(p *sdk.ProgressNotificationParams) {
	r.mu.Lock()
	defer r.mu.Unlock()
	now := time.Now()
	if r.ended || now.Sub(r.last) < progressEvery || r.turn.Sink == nil {
		return
	}
	text := strconv.FormatFloat(p.Progress, 'g', -1, 64)
	if p.Total > 0 {
		text += "/" + strconv.FormatFloat(p.Total, 'g', -1, 64)
	}
	if p.Message != "" {
		text += " " + p.Message
	}
	text = strings.ReplaceAll(agent.Visible(agent.Clip(r.veil.over(text), 500)), "\n", " ") + "\n"
	if r.shown += len(text); r.shown > progressBytes {
		return
	}
	data, err := agent.Encode(text)
	if err != nil { // a string always encodes
		return
	}
	r.last = now
	r.turn.Sink.Emit(agent.Event{Kind: agent.EventToolOutput, NS: r.turn.NS, Call: r.call, Data: data})
}

// end suppresses later progress, which may arrive after the result.
func (r *reporter) end() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.ended = true
}
