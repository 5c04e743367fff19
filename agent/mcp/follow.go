package mcp

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"fawn/agent"
	"fawn/agent/mcp/tasks"
)

// Times of following.
const (
	leastEvery  = 500 * time.Millisecond // least time between two status requests for a task
	mostEvery   = time.Minute
	answerTime  = 30 * time.Second // limit of one response about a task
	resultTime  = time.Minute      // limit of the result of an ended task
	cancelTime  = 10 * time.Second // limit of a cancel request
	wishEvery   = time.Second      // interval of checking for a cancellation request while a status request is open
	noteEvery   = 30 * time.Second // interval of storing the time of the last answer
	refusedMost = 3                // answers without a task in a row, after which it is lost
)

// TypeTask is the type of the custom event about a task.
const TypeTask = "mcp_task"

// Following configures how tasks of servers are followed.
type Following struct {
	Book  tasks.Book
	Every time.Duration // default interval of status requests; 0 = five seconds
	Most  int           // questions to one server at the same time; 0 = eight
	// Leaves reports whether a call ends because another will resume it later; its task is kept then.
	Leaves func(cause error) bool
	// Ended reports whether a run has ended, which leaves its tasks unattended.
	Ended func(ctx context.Context, run string) (bool, error)
	Now   func() time.Time // nil = time.Now
}

// follows are the tasks followed here.
type follows struct {
	Following

	mu     sync.Mutex
	places map[string]chan struct{} // one slot per concurrent request, by server
	wake   map[string]chan struct{} // by the id of the task: cancellation is requested
}

func newFollows(f *Following) *follows {
	if f == nil {
		return nil
	}
	out := &follows{Following: *f, places: map[string]chan struct{}{}, wake: map[string]chan struct{}{}}
	out.Every, out.Most = cmp.Or(out.Every, 5*time.Second), cmp.Or(out.Most, 8)
	if out.Now == nil {
		out.Now = time.Now
	}
	return out
}

// placesOf returns a server's slots for status requests, so that an unresponsive server delays its own tasks only.
func (f *follows) placesOf(server string) chan struct{} {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.places[server] == nil {
		f.places[server] = make(chan struct{}, f.Most)
	}
	return f.places[server]
}

// CancelTask requests the cancellation of a thread's task, on whichever server follows it. Errors: tasks.ErrNotFound.
func (p *Pool) CancelTask(ctx context.Context, thread, id string) error {
	if p.follows == nil {
		return tasks.ErrNotFound
	}
	if err := p.follows.Book.Cancel(ctx, thread, id, p.follows.Now()); err != nil {
		return err
	}
	p.follows.mu.Lock()
	defer p.follows.mu.Unlock()
	if wake := p.follows.wake[id]; wake != nil {
		select {
		case wake <- struct{}{}:
		default:
		}
	}
	return nil
}

// Tasks returns a thread's tasks, newest first.
func (p *Pool) Tasks(ctx context.Context, thread string, limit int) ([]tasks.Task, error) {
	if p.follows == nil {
		return nil, nil
	}
	return p.follows.Book.List(ctx, thread, limit)
}

// Task returns a task of a thread. Errors: tasks.ErrNotFound.
func (p *Pool) Task(ctx context.Context, thread, id string) (tasks.Task, error) {
	if p.follows == nil {
		return tasks.Task{}, tasks.ErrNotFound
	}
	return p.follows.Book.Get(ctx, thread, id)
}

// FollowsTasks reports whether calls may become tasks.
func (p *Pool) FollowsTasks() bool { return p.follows != nil }

// follower follows one task for one call.
type follower struct {
	*follows
	pool *Pool
	turn *agent.Turn
	call agent.ToolCall
	task tasks.Task
	wake chan struct{}
	show *reporter

	heard  time.Time // time of the last answer
	stored time.Time
	over   bool // the server reports completion; the result may not have arrived

	told       int // bytes of messages shown in the step
	toldStatus string
}

// begun follows the task created for a call.
func (s *server) begun(ctx context.Context, t *agent.Turn, c agent.ToolCall, tool string, state *taskState) (agent.Result, error) {
	f := s.pool.follows
	now := f.Now().UTC()
	task := tasks.Task{ID: tasks.NewID(now), Thread: t.ThreadID, Run: t.RunID, Call: c.ID, Server: s.name, Tool: tool,
		Remote: state.ID, Status: statusOf(state.Status), Created: now, Updated: now, Every: state.every(),
		Message: s.quoted(state.Message)}
	return s.pool.follow(ctx, t, c, task, true)
}

// again resumes an interrupted call; false if it had no task.
func (p *Pool) again(ctx context.Context, t *agent.Turn, c agent.ToolCall) (r agent.Result, ok bool, err error) {
	task, err := p.follows.Book.OfCall(ctx, t.ThreadID, t.RunID, c.ID)
	if errors.Is(err, tasks.ErrNotFound) {
		return agent.Result{}, false, nil
	}
	if err != nil {
		return agent.Result{}, false, err
	}
	if task.Status == tasks.Cancelled {
		return agent.ErrorResult(cancelledText), true, nil
	}
	r, err = p.follow(ctx, t, c, task, false)
	return r, true, err
}

// quoted returns a server's status message, cleaned for display.
func (s *server) quoted(text string) string { return agent.Visible(agent.Clip(s.veil.over(text), 500)) }

const cancelledText = "The task was cancelled before it had a result. Don't start it again unless you are asked to."

// follow polls a task until it ends, in as many sessions as needed, and returns its result.
func (p *Pool) follow(ctx context.Context, t *agent.Turn, c agent.ToolCall, task tasks.Task, fresh bool) (agent.Result, error) {
	f := &follower{follows: p.follows, pool: p, turn: t, call: c, task: task, wake: make(chan struct{}, 1), heard: time.Now()}
	if fresh {
		f.note(ctx)
	}
	f.mu.Lock()
	f.follows.wake[task.ID] = f.wake
	f.mu.Unlock()
	defer func() {
		f.mu.Lock()
		delete(f.follows.wake, task.ID)
		f.mu.Unlock()
	}()
	delay := leastEvery
	for {
		s, err := p.find(task.Server)
		if err != nil {
			return f.fails(ctx, fmt.Sprintf("the MCP server %q has been switched off or removed", task.Server))
		}
		f.show = &reporter{turn: t, call: c, veil: s.veil}
		e, err := s.session(ctx, t.ThreadID)
		if err == nil {
			var r agent.Result
			began := f.heard
			r, err = f.in(ctx, s, e)
			e.end()
			f.show.end()
			if !errors.Is(err, errLost) {
				return r, err
			}
			if f.heard.After(began) {
				delay = leastEvery
			}
		}
		if ctx.Err() != nil {
			return f.stopped(ctx)
		}
		f.missed(ctx, s, err)
		if time.Since(f.heard) > quietTime {
			return f.fails(ctx, fmt.Sprintf("the MCP server %q could not be asked about it for %v: %s", task.Server, quietTime,
				s.quoted(err.Error())))
		}
		select {
		case <-time.After(delay):
			delay = min(2*delay, 30*time.Second)
		case <-f.wake:
			return f.ends(ctx, tasks.Cancelled, "", agent.ErrorResult(cancelledText))
		case <-ctx.Done():
			return f.stopped(ctx)
		}
	}
}

// errLost means that a new session is needed.
var errLost = errors.New("the connection was lost")

// in follows the task in one session.
func (f *follower) in(ctx context.Context, s *server, e *session) (agent.Result, error) {
	token := "fawn-" + strconv.FormatUint(callNumber.Add(1), 10)
	stop := e.follow(token, watcher{tell: f.show.report, pause: func(bool) {}, ctx: ctx, sample: samplerOf(ctx)})
	defer func() {
		stop()
		e.settle()
	}()
	asking, cancel := context.WithCancel(ctx)
	var work sync.WaitGroup
	defer work.Wait()
	defer cancel()
	type answer struct {
		r   *sdk.CallToolResult
		err error
	}
	results, waits := make(chan answer, 1), false
	ask := func() {
		waits = true
		work.Go(func() {
			r, err := sdk.CallCustomMethod[*ofTask, *sdk.CallToolResult](asking, e.client, taskResult, &ofTask{ID: f.task.Remote})
			results <- answer{r, err}
		})
	}
	ask()
	f.report()
	timer := time.NewTimer(f.every())
	defer timer.Stop()
	refused := 0
	var over time.Time // when it ended without a result
	for {
		select {
		case a := <-results:
			waits = false
			if a.err == nil && made(a.r) == nil {
				return f.result(ctx, s, e, a.r)
			}
			if ctx.Err() != nil {
				return f.stopped(ctx)
			}
			if a.err != nil && !answered(a.err) && !e.alive() {
				return agent.Result{}, errLost
			}
			r, ended, err := f.query(ctx, s, e, &refused, a.err)
			if ended || err != nil {
				return r, err
			}
		case <-timer.C:
			at, err := f.Book.Wish(ctx, f.task.Thread, f.task.ID)
			if err == nil && !at.IsZero() {
				return f.cancel(ctx, s, e)
			}
			r, ended, err := f.query(ctx, s, e, &refused, nil)
			if ended || err != nil {
				return r, err
			}
			if !waits {
				ask()
			}
			timer.Reset(f.every())
		case <-f.wake:
			return f.cancel(ctx, s, e)
		case <-e.done:
			return agent.Result{}, errLost
		case <-ctx.Done():
			return f.stopped(ctx)
		}
		if time.Since(f.heard) > quietTime {
			return f.fails(ctx, fmt.Sprintf("the MCP server %q has not answered for %v", s.name, quietTime))
		}
		if !f.over {
			over = time.Time{}
		} else if over.IsZero() {
			over = time.Now()
			timer.Reset(leastEvery)
		} else if time.Since(over) > resultTime {
			return f.fails(ctx, fmt.Sprintf("the MCP server %q does not hand over its result", s.name))
		}
	}
}

// query requests the task's state. A refused result of an ended task ends it.
func (f *follower) query(ctx context.Context, s *server, e *session, refused *int, why error) (r agent.Result, ended bool, err error) {
	var state *taskState
	places := f.placesOf(s.name)
	if f.unlessCancelled(ctx, func(ctx context.Context) {
		select {
		case places <- struct{}{}:
			defer func() { <-places }()
		case <-ctx.Done():
			err = ctx.Err()
			return
		}
		ctx, cancel := context.WithTimeout(ctx, answerTime)
		defer cancel()
		state, err = sdk.CallCustomMethod[*ofTask, *taskState](ctx, e.client, getTask, &ofTask{ID: f.task.Remote})
	}) {
		r, err = f.cancel(ctx, s, e)
		return r, true, err
	}
	switch {
	case ctx.Err() != nil:
		r, err = f.stopped(ctx)
		return r, true, err
	case err != nil && answered(err):
		if *refused++; *refused >= refusedMost {
			r, err = f.fails(ctx, fmt.Sprintf("the MCP server %q knows nothing of it any more: %s", s.name, s.quoted(err.Error())))
			return r, true, err
		}
		f.missed(ctx, s, err)
		return r, false, nil
	case err != nil:
		f.missed(ctx, s, err)
		if !e.alive() {
			err = errLost
		} else {
			err = nil
		}
		return r, false, err
	}
	*refused, f.heard = 0, time.Now()
	before := f.task
	f.task.Polled, f.task.PollError, f.task.Misses = f.Now().UTC(), "", 0
	f.task.Message, f.task.Every = s.quoted(state.Message), cmp.Or(state.every(), f.task.Every)
	status := statusOf(state.Status)
	switch {
	case status == tasks.Cancelled:
		r, err = f.ends(ctx, tasks.Cancelled, f.task.Message, agent.ErrorResult("Error: the server has cancelled the task. "+f.task.Message))
		return r, true, err
	case tasks.Over(status) && why != nil && answered(why):
		r, err = f.fails(ctx, cmp.Or(f.task.Message, s.quoted(why.Error())))
		return r, true, err
	}
	f.over = tasks.Over(status)
	if !f.over { // its last status is stored with its result
		f.task.Status = status
	}
	if f.task.Status != before.Status || f.task.Message != before.Message || before.Misses > 0 || time.Since(f.stored) > noteEvery {
		f.task.Updated = f.Now().UTC()
		f.note(ctx)
	}
	if f.task.Status != before.Status || f.task.Message != before.Message {
		f.report()
	}
	return r, false, nil
}

// unlessCancelled makes a status request, which a cancellation request interrupts, and reports whether that happened.
func (f *follower) unlessCancelled(ctx context.Context, ask func(ctx context.Context)) bool {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	done := make(chan struct{})
	go func() {
		defer close(done)
		ask(ctx)
	}()
	stop := func() bool {
		cancel()
		<-done
		return true
	}
	tick := time.NewTicker(wishEvery)
	defer tick.Stop()
	for {
		select {
		case <-done:
			return false
		case <-f.wake:
			return stop()
		case <-tick.C: // it may be requested on another server
			if at, err := f.Book.Wish(ctx, f.task.Thread, f.task.ID); err == nil && !at.IsZero() {
				return stop()
			}
		}
	}
}

// every returns the delay before the next poll.
func (f *follower) every() time.Duration {
	return max(leastEvery, min(cmp.Or(f.task.Every, f.Every), mostEvery))
}

// report reports the state of the task to its step and to clients.
func (f *follower) report() {
	if f.told += len(f.task.Message); f.told > progressBytes && f.toldStatus == f.task.Status {
		return // its row has the message
	}
	f.toldStatus = f.task.Status
	text := f.task.Status
	if f.task.Message != "" {
		text += ": " + f.task.Message
	}
	if data, err := agent.Encode(text + "\n"); err == nil && f.turn.Sink != nil { // a string always encodes
		f.turn.Sink.Emit(agent.Event{Kind: agent.EventToolOutput, NS: f.turn.NS, Call: f.call, Data: data})
	}
	f.announce()
}

func (f *follower) announce() {
	f.pool.announce(f.task.Thread, map[string]any{"type": TypeTask, "thread_id": f.task.Thread, "task_id": f.task.ID,
		"tool_call_id": f.task.Call, "task_name": f.task.Tool, "status": f.task.Status, "message": f.task.Message})
}

// result ends a task with its result.
func (f *follower) result(ctx context.Context, s *server, e *session, got *sdk.CallToolResult) (agent.Result, error) {
	folder := ""
	s.mu.Lock()
	conf := s.conf
	s.mu.Unlock()
	if conf.Type == Stdio && !conf.Sandboxed {
		var err error
		if folder, err = s.pool.folder(f.turn.ThreadID); err != nil {
			return agent.Result{}, fmt.Errorf("open files of thread: %w", err)
		}
	}
	r, err := s.result(ctx, f.turn, f.call, f.task.Tool, got, folder, e.tmp)
	if err != nil {
		return r, err
	}
	status := tasks.Completed
	if r.IsError {
		status = tasks.Failed
	}
	text := r.Content.String()
	f.task.Preview = agent.Clip(text, tasks.MaxPreview)
	f.task.Truncated = len(f.task.Preview) < len(text) || r.Whole != nil
	if r.Whole != nil {
		f.task.File = r.Whole.Path
	}
	var artifact struct {
		Data json.RawMessage `json:"structured_content"`
	}
	if len(r.Artifact) > 0 && json.Unmarshal(r.Artifact, &artifact) == nil {
		f.task.Data = artifact.Data
	}
	why := ""
	if r.IsError {
		why = agent.Clip(text, 500)
	}
	return f.ends(ctx, status, why, r)
}

// fails ends a task that has no result.
func (f *follower) fails(ctx context.Context, why string) (agent.Result, error) {
	return f.ends(ctx, tasks.Failed, why, agent.ErrorResult("Error: the task failed: "+why))
}

// ends stores the last status of a task.
func (f *follower) ends(ctx context.Context, status, why string, r agent.Result) (agent.Result, error) {
	f.task.Status, f.task.Error, f.task.Updated = status, why, f.Now().UTC()
	f.note(ctx)
	f.announce()
	return r, nil
}

// cancel ends a task at a user's request, whatever its server responds.
func (f *follower) cancel(ctx context.Context, s *server, e *session) (agent.Result, error) {
	f.tellServer(s, e)
	if at, err := f.Book.Wish(ctx, f.task.Thread, f.task.ID); err == nil {
		f.task.Cancelled = at
	}
	return f.ends(ctx, tasks.Cancelled, "", agent.ErrorResult(cancelledText))
}

// tellServer asks the server to end its work.
func (f *follower) tellServer(s *server, e *session) {
	ctx, cancel := context.WithTimeout(context.Background(), cancelTime)
	defer cancel()
	f.task.CancelTries++
	_, err := sdk.CallCustomMethod[*ofTask, *taskState](ctx, e.client, cancelTask, &ofTask{ID: f.task.Remote})
	if f.task.CancelError = ""; err != nil {
		f.task.CancelError = s.quoted(err.Error())
	}
}

// stopped handles the end of the call: its task is cancelled, or left to the call that resumes it.
func (f *follower) stopped(ctx context.Context) (agent.Result, error) {
	cause := context.Cause(ctx)
	if f.Leaves != nil && f.Leaves(cause) {
		return agent.Result{}, cause
	}
	f.pool.endTask(ctx, f.task, "")
	return agent.Result{}, cause
}

// endTask cancels a task without a follower.
func (p *Pool) endTask(ctx context.Context, task tasks.Task, why string) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 2*cancelTime)
	defer cancel()
	f := &follower{follows: p.follows, pool: p, task: task}
	f.task.Cancelled = f.Now().UTC()
	s, err := p.find(task.Server)
	if err == nil {
		var e *session
		if e, err = s.session(ctx, task.Thread); err == nil {
			f.tellServer(s, e)
			e.end()
		}
	}
	if err != nil {
		f.task.CancelTries++
		f.task.CancelError = "the server could not be reached"
	}
	_, _ = f.ends(ctx, tasks.Cancelled, why, agent.Result{}) // it logs failures
}

// missed records an unanswered status request.
func (f *follower) missed(ctx context.Context, s *server, err error) {
	f.task.Misses++
	if f.task.PollError = "no answer"; err != nil {
		f.task.PollError = s.quoted(err.Error())
	}
	if f.task.Misses == 1 || f.task.Misses == 3 {
		f.note(ctx)
	}
}

// note stores the task. Failures don't end the call: its result matters more.
func (f *follower) note(ctx context.Context) {
	if err := f.store(ctx); err != nil {
		f.pool.o.Log.Error("couldn't store the state of a task of an MCP server", "server", f.task.Server, "thread", f.task.Thread,
			"err", err)
	}
}

func (f *follower) store(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), rowTime)
	defer cancel()
	f.stored = time.Now()
	return f.Book.Put(ctx, f.task)
}

// answered reports whether an error is a server's response rather than the lack of one.
func answered(err error) bool {
	var wire *jsonrpc.Error
	return errors.As(err, &wire)
}

// Intervals of searching for unattended tasks.
const (
	firstTidy = 2 * time.Second
	tidyEvery = time.Minute
)

// tidy cancels unattended tasks of ended runs, for instance those of a killed server.
func (p *Pool) tidy() {
	timer := time.NewTimer(firstTidy)
	defer timer.Stop()
	for {
		select {
		case <-p.ctx.Done():
			return
		case <-timer.C:
		}
		if err := p.tidyOnce(p.ctx); err != nil && p.ctx.Err() == nil {
			p.o.Log.Error("couldn't list unattended tasks of MCP servers", "err", err)
		}
		timer.Reset(tidyEvery)
	}
}

func (p *Pool) tidyOnce(ctx context.Context) error {
	list, err := p.follows.Book.Open(ctx)
	if err != nil {
		return err
	}
	var failed []error // one task that can't be checked must not stop the others
	for _, t := range list {
		p.follows.mu.Lock()
		here := p.follows.wake[t.ID] != nil
		p.follows.mu.Unlock()
		if here {
			continue
		}
		over, err := p.follows.Ended(ctx, t.Run)
		if err != nil || !over {
			failed = append(failed, err)
			continue
		}
		// Tasks before it took time to end.
		switch now, err := p.follows.Book.Get(ctx, t.Thread, t.ID); {
		case errors.Is(err, tasks.ErrNotFound):
		case err != nil:
			failed = append(failed, err)
		case !now.Over():
			p.endTask(ctx, now, "its run ended before it did")
		}
	}
	return errors.Join(failed...)
}
