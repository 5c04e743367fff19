package agent

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
)

// maxParallelCalls limits the tools of one message which run at the same time.
const maxParallelCalls = 16

// toolStep runs all open calls of the last AI message concurrently, except calls that touch the same file, and stores
// their results in call order as one step.
func (l *loop) toolStep(ctx context.Context) (string, error) {
	t := l.turn
	caller, open := l.openCalls()
	if len(open) == 0 {
		return NodeModel, nil
	}
	done := make([]answer, len(open))
	var wg sync.WaitGroup
	slots := make(chan struct{}, maxParallelCalls)
	after := l.set.order(open)
	ended := make([]chan struct{}, len(open))
	for i := range ended {
		ended[i] = make(chan struct{})
	}
	for i, c := range open {
		wg.Go(func() {
			defer close(ended[i])
			for _, k := range after[i] {
				<-ended[k]
			}
			slots <- struct{}{}
			defer func() { <-slots }()
			done[i] = l.one(ctx, caller, c)
		})
	}
	wg.Wait()

	end, failed := false, error(nil)
	var patch State
	for _, d := range done {
		patch.Messages = append(patch.Messages, d.result.Message(d.message, d.call))
		end = end || d.result.End
		failed = errors.Join(failed, d.err)
	}
	if err := l.apply(patch); err != nil {
		return "", errors.Join(failed, err)
	}
	for _, d := range done {
		if err := l.apply(d.result.Patch); err != nil {
			t.Log.Warn("tool's state change rejected", "tool", d.call.Name, "err", err)
		}
	}
	next := Next(&t.State, NodeTools)
	if ctx.Err() != nil {
		next, failed = []string{NodeModel}, context.Cause(ctx)
	}
	to := NodeEnd
	if failed == nil {
		to = l.goOn(NodeTools, next, end)
	}
	if err := l.step(ctx, NodeTools, next, to == NodeEnd); err != nil {
		return "", errors.Join(failed, err)
	}
	if failed != nil {
		return "", failed
	}
	return to, nil
}

type answer struct {
	call    ToolCall
	message string // id of the tool message
	result  Result
	err     error // the run can't continue
}

// openCalls finds the newest AI message and its calls without a result; invalid calls are
// among them, with empty Args.
func (l *loop) openCalls() (*Message, []ToolCall) {
	msgs := l.turn.State.Messages
	i := len(msgs) - 1
	for i >= 0 && msgs[i].Type == TypeTool {
		i--
	}
	if i < 0 || msgs[i].Type != TypeAI {
		return nil, nil
	}
	m := msgs[i]
	missing := Unanswered(m, msgs[i+1:])
	var open []ToolCall
	for _, c := range m.ToolCalls {
		if slices.Contains(missing, c.ID) {
			open = append(open, c)
		}
	}
	for _, c := range m.Invalid {
		if slices.Contains(missing, c.ID) {
			open = append(open, ToolCall{ID: c.ID, Name: c.Name})
		}
	}
	return m, open
}

// one runs a single call. Its start is durable before the tool runs, and its result before the step continues, so a
// crash never repeats a finished call.
func (l *loop) one(ctx context.Context, caller *Message, c ToolCall) answer {
	t := l.turn
	a := answer{call: c, message: t.NewID()}
	r, ended := t.Results[c.ID]
	again := ended && r.Cut && l.set.resumes(c.Name)
	if ended && !again {
		a.result = r
		if r.MessageID != "" {
			a.message = r.MessageID
		}
		return a
	}
	if i := slices.IndexFunc(caller.Invalid, func(b InvalidCall) bool { return b.ID == c.ID }); i >= 0 &&
		len(c.Args) == 0 {
		a.result = ErrorResult(InvalidArguments(caller.Invalid[i]))
	} else if ctx.Err() != nil {
		a.result = ErrorResult(InterruptedResult)
	} else if err := l.begins(ctx, c, again); err != nil {
		a.result, a.err = ErrorResult(InterruptedResult), err
	} else if a.result, err = l.guarded(ctx, c); err != nil {
		a.result = ErrorResult(InterruptedResult)
		if ctx.Err() == nil {
			a.result = ErrorResult(fmt.Sprintf("Error: tool %q failed: %v", c.Name, err))
			a.err = fmt.Errorf("tool %s: %w", c.Name, err)
		}
	}
	if a.result.MessageID != "" {
		a.message = a.result.MessageID
	}
	recording, done := outlive(ctx)
	defer done()
	err := t.Sink.Record(recording, Event{Kind: EventToolResult, NS: t.NS, Message: a.message, Call: c,
		Result: a.result})
	a.err = errors.Join(a.err, err)
	return a
}

// begins records that a tool begins, unless an attempt before this one has.
func (l *loop) begins(ctx context.Context, c ToolCall, again bool) error {
	if again {
		return nil
	}
	return l.turn.Sink.Record(ctx, Event{Kind: EventToolStart, NS: l.turn.NS, Call: c})
}

// guarded calls the tool through all stages. A panic of a stage becomes an error, as it
// would end the whole process here.
func (l *loop) guarded(ctx context.Context, c ToolCall) (r Result, err error) {
	defer recovered(l.turn, "stage around tool", c.Name, &err)
	return l.callTool(ctx, l.turn, c)
}

// recovered turns a panic into an error, as a deferred call.
func recovered(t *Turn, what, name string, err *error) {
	if p := recover(); p != nil {
		t.Log.Error(what+" panicked", "name", name, "panic", p, "stack", string(debug.Stack()))
		*err = fmt.Errorf("panic: %v", p)
	}
}

// call returns the innermost ToolFunc. A panic of a tool becomes an error, which stages see.
func (l *loop) call(ctx context.Context, t *Turn, c ToolCall) (r Result, err error) {
	tool := l.set.tool(c.Name)
	if tool == nil {
		return ErrorResult(fmt.Sprintf("Error: there is no tool named %q. Tools: %s.", c.Name, l.set.names())), nil
	}
	defer recovered(t, "tool", c.Name, &err)
	return tool.Run(ctx, t, c)
}

func (s *Toolset) tool(name string) *Tool {
	for _, t := range s.Tools {
		if t.Name == name {
			return t
		}
	}
	return nil
}

func (s *Toolset) resumes(name string) bool {
	tool := s.tool(name)
	return tool != nil && tool.Resumes
}

func (s *Toolset) names() string {
	names := make([]string, len(s.Tools))
	for i, t := range s.Tools {
		names[i] = t.Name
	}
	return strings.Join(names, ", ")
}

// Access are the files used by a call, by absolute paths; a folder includes its content. Calls of one answer that touch
// the same file run in the answer's order, unless all of them only read it.
type Access struct {
	Reads, Writes []string
	// Perhaps are paths that a command mentions. Its effect on them is unknown, so it keeps its order relative to other
	// calls, but not to other commands.
	Perhaps []string
}

// meets reports whether two calls must keep their order.
func (a Access) meets(b Access) bool {
	return overlap(a.Writes, b.Writes) || overlap(a.Writes, b.Reads) || overlap(a.Reads, b.Writes) ||
		overlap(a.Writes, b.Perhaps) || overlap(a.Perhaps, b.Writes) ||
		overlap(a.Reads, b.Perhaps) || overlap(a.Perhaps, b.Reads)
}

// overlap reports whether a path of a is a path of b, or in it, or around it.
func overlap(a, b []string) bool {
	return slices.ContainsFunc(a, func(p string) bool {
		return slices.ContainsFunc(b, func(q string) bool {
			return p == q || strings.HasPrefix(p, q+"/") || strings.HasPrefix(q, p+"/")
		})
	})
}

// order returns for each call the earlier ones it must wait for.
func (s *Toolset) order(calls []ToolCall) [][]int {
	touched := make([]Access, len(calls))
	after := make([][]int, len(calls))
	for i, c := range calls {
		tool := s.tool(c.Name)
		if tool == nil || tool.Access == nil {
			continue
		}
		touched[i] = tool.Access(c)
		for k := range i {
			if touched[k].meets(touched[i]) {
				after[i] = append(after[i], k)
			}
		}
	}
	return after
}
