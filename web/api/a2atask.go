package api

import (
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"time"

	"fawn/agent"
	"fawn/agent/runs"
	"fawn/store"
	"fawn/web/api/wire"
	"fawn/web/route"
)

// States of tasks.
const (
	a2aSubmitted = "submitted"
	a2aWorking   = "working"
	a2aWaits     = "input-required"
	a2aCompleted = "completed"
	a2aFailed    = "failed"
	a2aCanceled  = "canceled"
)

// maxTaskRuns limits the newest runs of a thread that may belong to a task.
const maxTaskRuns = 1000

// a2aTask is a task as its last run left it.
type a2aTask struct {
	id    string
	run   store.Run
	state string
}

func (t *a2aTask) ended() bool {
	return slices.Contains([]string{a2aCompleted, a2aFailed, a2aCanceled}, t.state)
}

// taskID returns the id of the task that begins with a run: it names the thread, too.
func taskID(r store.Run) string { return r.ThreadID + ":" + r.ID }

// a2aNote is the task's data in a run's metadata.
type a2aNote struct {
	Task     string `json:"task_id,omitempty"`  // the task continued by the run
	Canceled bool   `json:"canceled,omitempty"` // while it waited for an answer
}

func noteOf(r store.Run) a2aNote {
	var meta struct {
		A2A a2aNote `json:"a2a"`
	}
	if json.Unmarshal(r.Metadata, &meta) != nil {
		return a2aNote{}
	}
	return meta.A2A
}

// find resolves the id of a task: the id of its first run, with the thread in front of it or given
// separately.
func (k *a2aCall) find(id, thread string) (*a2aTask, error) {
	none := rpcErrorf(a2aNoTask, "Task not found: %s", route.Cut(id, 120))
	in, first, both := strings.Cut(id, ":")
	if !both {
		in, first = thread, id
	}
	if in == "" || thread != "" && thread != in {
		return nil, none
	}
	anchor, err := k.RunByID(k.c, first)
	if errors.Is(err, store.ErrNotFound) ||
		err == nil && (anchor.ThreadID != in || wire.Canonical(anchor.AssistantID) != wire.Canonical(k.assistant.ID)) {
		return nil, none
	}
	if err != nil {
		return nil, err
	}
	id = taskID(anchor)
	list, err := k.DB.Runs(k.c.Request().Context(), in, "", maxTaskRuns, 0)
	if err != nil {
		return nil, err
	}
	at := slices.IndexFunc(list, func(r store.Run) bool { return r.ID == first || noteOf(r).Task == id })
	if at < 0 {
		return nil, none
	}
	return k.standing(id, list[at], at == 0)
}

// standing returns the state of a task whose last run is r; newest reports whether it is the thread's last run.
func (k *a2aCall) standing(id string, r store.Run, newest bool) (*a2aTask, error) {
	t := &a2aTask{id: id, run: r}
	waits := r.StopReason == agent.StopBreakpoint
	if r.Status == runs.Success && newest {
		th, err := k.DB.ThreadOf(k.c.Request().Context(), k.Owner(k.c), r.ThreadID)
		if err != nil {
			return nil, err
		}
		waits = th.Status == runs.ThreadInterrupted
	}
	switch {
	case noteOf(r).Canceled:
		t.state = a2aCanceled
	case r.Status == runs.Pending:
		t.state = a2aSubmitted
	case r.Status == runs.Running:
		t.state = a2aWorking
	case waits && newest:
		t.state = a2aWaits
	case r.Status == runs.Success:
		t.state = a2aCompleted
	case r.Status == runs.Interrupted:
		t.state = a2aCanceled
	default:
		t.state = a2aFailed
	}
	return t, nil
}

// show returns the JSON form of a task, with up to so many of the last messages of its context; nil includes all.
func (k *a2aCall) show(t *a2aTask, history *int) (map[string]any, error) {
	ctx := k.c.Request().Context()
	snap, err := k.lastSnapshot(ctx, t.run)
	if err != nil {
		return nil, err
	}
	st, err := runs.State(snap)
	if err != nil {
		return nil, err
	}
	status := map[string]any{"state": k.state(t.state), "timestamp": wire.Stamp(t.run.UpdatedAt)}
	out := map[string]any{"kind": "task", "id": t.id, "contextId": t.run.ThreadID, "status": status}
	switch t.state {
	case a2aCompleted:
		out["artifacts"] = []any{k.response(&st)}
	case a2aWaits:
		out["artifacts"] = []any{question(snap)}
		status["message"] = k.says(t, t.run.ID+"-question", answerOf(&st))
	case a2aFailed:
		f, err := k.runFailure(ctx, t.run)
		if err != nil {
			return nil, err
		}
		status["message"] = k.says(t, t.run.ID+"-failure", f.Message)
	}
	if history == nil || *history > 0 {
		list := k.history(t, &st)
		if history != nil {
			list = list[max(0, len(list)-*history):]
		}
		out["history"] = list
	}
	return out, nil
}

// says returns a message of the agent about a task.
func (k *a2aCall) says(t *a2aTask, id, text string) map[string]any {
	return map[string]any{"kind": "message", "role": k.role("agent"), "messageId": id, "taskId": t.id,
		"contextId": t.run.ThreadID,
		"parts":     []any{textPart(text)}}
}

func textPart(text string) map[string]any { return map[string]any{"kind": "text", "text": text} }

// history returns the messages of a task's context that people and the agent see.
func (k *a2aCall) history(t *a2aTask, st *agent.State) []any {
	list := []any{}
	for _, msg := range st.Messages {
		m := k.says(t, msg.ID, msg.Content.String())
		switch {
		case msg.Genuine():
			m["role"] = k.role("user")
		case msg.Type != agent.TypeAI || msg.Content.String() == "":
			continue
		}
		list = append(list, m)
	}
	return list
}

// answerOf returns the agent's last answer or question since the last message of a person.
func answerOf(st *agent.State) string {
	if q := agent.Question(st); q != nil {
		return q.Content.String()
	}
	for _, msg := range slices.Backward(st.Messages) {
		if msg.Genuine() {
			break
		}
		if text := msg.Content.String(); msg.Type == agent.TypeAI && text != "" {
			return text
		}
	}
	return ""
}

// response returns the artifact with a task's answer.
func (k *a2aCall) response(st *agent.State) map[string]any {
	return map[string]any{"artifactId": newID(), "name": "Assistant Response",
		"description": "Response from assistant " + wire.Canonical(k.assistant.ID),
		"parts":       []any{textPart(answerOf(st))}}
}

// question returns the artifact with a task's question; at a breakpoint it is empty.
func question(snap store.Snapshot) map[string]any {
	parts := []any{}
	for _, t := range wire.Tasks(snap, nil) {
		for _, q := range t.Interrupts {
			parts = append(parts, map[string]any{"kind": "data", "data": q})
		}
	}
	return map[string]any{"artifactId": newID(), "name": "Interrupt", "description": "Agent requires input to continue",
		"parts": parts}
}

// a2aQuery are the parameters of methods about a task.
type a2aQuery struct {
	ID      string `json:"id"`
	Context string `json:"contextId"`
	History *int   `json:"historyLength"`
}

func (k *a2aCall) query(raw json.RawMessage) (*a2aTask, *int, error) {
	var q a2aQuery
	if err := decodeA2A("params", raw, &q); err != nil {
		return nil, nil, err
	}
	if q.ID == "" {
		return nil, nil, rpcErrorf(rpcParams, "id is required: that of a task")
	}
	if err := checkHistory(q.History); err != nil {
		return nil, nil, err
	}
	t, err := k.find(q.ID, q.Context)
	return t, q.History, err
}

func (k *a2aCall) get(raw json.RawMessage) (any, error) {
	t, history, err := k.query(raw)
	if err != nil {
		return nil, err
	}
	out, err := k.show(t, history)
	return k.result("task", out), err
}

// cancelTask cancels a task, including a waiting one.
func (k *a2aCall) cancelTask(raw json.RawMessage) (any, error) {
	t, _, err := k.query(raw)
	if err != nil {
		return nil, err
	}
	ctx := k.c.Request().Context()
	ended := rpcErrorf(a2aEnded, "The task is not cancelable: it is %s", t.state)
	switch {
	case t.ended():
		return nil, ended
	case t.state == a2aWaits:
		err = k.closeQuestion(t)
	default:
		err = k.Runs.Cancel(ctx, t.run.ThreadID, t.run.ID, true)
	}
	if errors.Is(err, runs.ErrNotCancelable) {
		return nil, ended
	}
	if err != nil {
		return nil, asRPC(err)
	}
	if t, err = k.find(t.id, ""); err != nil {
		return nil, err
	}
	out, err := k.show(t, new(int))
	return k.result("task", out), err
}

// closeQuestion ends a waiting task: its thread has no next node, and its run gets the reason.
func (k *a2aCall) closeQuestion(t *a2aTask) error {
	ctx := k.c.Request().Context()
	if _, err := k.Runs.UpdateState(ctx, t.run.ThreadID, runs.Update{AsNode: agent.NodeEnd}); err != nil {
		return err
	}
	meta := map[string]any{}
	if err := json.Unmarshal(route.Object(t.run.Metadata), &meta); err != nil {
		return err
	}
	note := noteOf(t.run)
	note.Canceled = true
	meta["a2a"] = note
	body, err := agent.Encode(meta)
	if err != nil {
		return err
	}
	t.run.Metadata, t.run.UpdatedAt = body, time.Now()
	return k.DB.Commit(ctx, store.Batch{ThreadID: t.run.ThreadID, Run: &t.run})
}
