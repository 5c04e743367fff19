package runs

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"fawn/agent"
	"fawn/agent/runs/recorder"
	"fawn/agent/runs/runevent"
	"fawn/store"
)

// place says where a child works; it is stored with its row. Calls can have the same id in
// different messages.
type place struct {
	Call    string `json:"task_id"`
	NS      string `json:"checkpoint_ns"`
	Message string `json:"message_id,omitempty"` // the message that calls
}

// callerOf is the id of the message whose calls are under way, or "".
func callerOf(s *agent.State) string {
	for _, m := range slices.Backward(s.Messages) {
		if m.Type == agent.TypeAI {
			return m.ID
		}
	}
	return ""
}

// childPast is what a child of a run that was cut off had done.
type childPast struct {
	run     store.Run
	patches []agent.State // of its steps, in order
	steps   int
	last    string // node of the last step, "" before the first
	next    []string
	final   bool // the last step said that none of next runs
	usage   recorder.Usage
	left    runevent.Unfinished // behind the last step
	results map[string]agent.Result
}

// pastChildren reads what the children of a run that was cut off had done from the run's open
// events, and adds what they cost to p. Children that work for children are among them.
func (m *Manager) pastChildren(ctx context.Context, run store.Run, p *past,
	open []runevent.Event) (map[place]*childPast, error) {
	ids, err := m.db.ChildRuns(ctx, run.ID)
	if err != nil {
		return nil, err
	}
	all := map[place]*childPast{}
	for _, id := range ids {
		row, err := m.db.Run(ctx, id)
		if err != nil {
			return nil, err
		}
		c := &childPast{run: row}
		var at place
		if err := json.Unmarshal(object(row.Kwargs), &at); err != nil {
			return nil, fmt.Errorf("read where child run %s works: %w", id, err)
		}
		if err := c.read(open, at.NS); err != nil {
			return nil, fmt.Errorf("read child run %s: %w", id, err)
		}
		if Done(row.Status) { // its events may be those of a step that is stored
			c.usage = recorder.Usage{}
			if err := json.Unmarshal(object(row.Usage), &c.usage); err != nil {
				return nil, fmt.Errorf("read what child run %s used: %w", id, err)
			}
		}
		p.usage.CountChild(c.usage)
		all[at] = c
	}
	return all, nil
}

// read takes the events of the child's namespace.
func (c *childPast) read(evs []runevent.Event, ns string) error {
	from := 0
	for i, ev := range evs {
		if ev.NS != ns || ev.Kind != runevent.KindStep || ev.Step == nil {
			continue
		}
		from = i + 1
		patch, err := stepPatch(ev.Step)
		if err != nil {
			return err
		}
		for _, msg := range patch.Messages {
			c.usage.Count(msg, ev.Step.Node)
		}
		c.patches = append(c.patches, patch)
		if ev.Step.Node == agent.NodeModel || ev.Step.Node == agent.NodeTools {
			c.steps++
		}
		c.last, c.next, c.final = ev.Step.Node, ev.Step.Next, ev.Step.Last
	}
	var err error
	if c.left, err = runevent.Gather(evs[from:], ns); err != nil {
		return err
	}
	c.results, err = c.left.Answered(newMessageID)
	return err
}

// stepPatch is what a child's step wrote, without its hidden fields.
func stepPatch(s *runevent.StepData) (p agent.State, err error) {
	for _, body := range s.Messages {
		msg, err := agent.ParseMessage(body)
		if err != nil {
			return p, fmt.Errorf("%w: message of a step: %v", runevent.ErrDamaged, err)
		}
		p.Messages = append(p.Messages, msg)
	}
	for name, body := range s.Fields {
		if f, ok := agent.FieldByName(name); ok { // else a newer version wrote it
			if err := f.Decode(&p, body); err != nil {
				return p, fmt.Errorf("%w: %v", runevent.ErrDamaged, err)
			}
		}
	}
	return p, nil
}

// standOn gives the turn of a child, which has its input, what it had so far. on is false when
// nothing is left to do.
func (c *childPast) standOn(t *agent.Turn) (on bool, err error) {
	for _, p := range c.patches {
		if err := t.State.Apply(p); err != nil {
			return false, fmt.Errorf("state of child run %s: %w", c.run.ID, err)
		}
	}
	if t.MaxSteps <= 0 {
		t.MaxSteps = agent.DefaultMaxSteps
	}
	t.MaxSteps = max(1, t.MaxSteps-c.steps)
	t.Results = c.results
	switch {
	case c.last == agent.NodeEnd, c.broken():
		return false, nil
	case c.last == "":
	case c.final || !recorder.RunsNext(c.next):
		t.From = []string{agent.NodeEnd}
	default:
		t.From = c.next
	}
	return true, nil
}

// broken tells whether the child was about to end in disorder: cancelled, or failed.
func (c *childPast) broken() bool { return c.final && recorder.RunsNext(c.next) }

// takeUp gives what a child had done before a crash to the call that is made again, once; nil
// when there is nothing.
func (m *Manager) takeUp(parent *entry, at place) *childPast {
	m.mu.Lock()
	defer m.mu.Unlock()
	if parent.goOn == nil {
		return nil
	}
	c := parent.goOn.children[at]
	delete(parent.goOn.children, at)
	return c
}

// childRows are the children that nobody has taken up, with what they used.
func (r *resumption) childRows() []store.Run {
	if r == nil {
		return nil
	}
	return rowsOf(r.children)
}

// rowsOf are the rows of children that have not ended, ready to be stored as cut off.
func rowsOf(children map[place]*childPast) (list []store.Run) {
	for _, c := range children {
		if Done(c.run.Status) {
			continue
		}
		run := c.run
		if body, err := agent.Encode(c.usage); err == nil {
			run.Usage = body
		}
		list = append(list, run)
	}
	return list
}

// closeChildren stores children that a crash cut off as ended: nobody goes on with them. What
// cannot be stored is closed by the next server.
func (m *Manager) closeChildren(ctx context.Context, list []store.Run) {
	for _, run := range list {
		run.Status, run.StopReason = Interrupted, StopOrphan
		if err := m.storeChild(ctx, &run); err != nil {
			m.logger.Error("the end of a child run could not be stored", "thread", run.ThreadID, "run", run.ID,
				"err", err)
		}
	}
}

// withoutChildren are the open runs that stand in a line by themselves. Their children go on or
// end with them; those of runs that have ended are closed here.
func (m *Manager) withoutChildren(ctx context.Context, open []store.Run) []store.Run {
	byID := map[string]store.Run{}
	for _, run := range open {
		byID[run.ID] = run
	}
	var roots, lost []store.Run
	for _, run := range open {
		top, known := run, true
		for top.Parent != "" && known {
			top, known = byID[top.Parent]
		}
		switch {
		case run.Parent == "":
			roots = append(roots, run)
		case !known:
			lost = append(lost, run)
		}
	}
	m.closeChildren(ctx, lost)
	return roots
}
