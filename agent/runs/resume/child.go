package resume

import (
	"context"
	"encoding/json"
	"fmt"

	"fawn/agent"
	"fawn/agent/runs/recorder"
	"fawn/agent/runs/runevent"
	"fawn/store"
)

// Place is the position of a child, stored with its row. Calls in different messages may have the same id.
type Place struct {
	Call    string `json:"task_id"`
	NS      string `json:"checkpoint_ns"`
	Message string `json:"message_id,omitempty"` // the message that calls
}

// Child is the progress of a child of an interrupted run.
type Child struct {
	Run     store.Run
	patches []agent.State // patches of its steps, in order
	Steps   int
	last    string // node of the last step, "" before the first
	next    []string
	final   bool // the last step said that none of next runs
	Usage   recorder.Usage
	Left    runevent.Unfinished // after the last step
	results map[string]agent.Result
}

// Children reads the progress of an interrupted run's children from its open events, and adds their cost to p. Nested
// children are included.
func Children(ctx context.Context, db *store.DB, run store.Run, p *Run, open []runevent.Event,
	newID func() string) (map[Place]*Child, error) {
	ids, err := db.ChildRuns(ctx, run.ID)
	if err != nil {
		return nil, err
	}
	all := map[Place]*Child{}
	for _, id := range ids {
		row, err := db.Run(ctx, id)
		if err != nil {
			return nil, err
		}
		c := &Child{Run: row}
		var at Place
		if err := json.Unmarshal(object(row.Kwargs), &at); err != nil {
			return nil, fmt.Errorf("read where child run %s works: %w", id, err)
		}
		if err := c.read(open, at.NS, newID); err != nil {
			return nil, fmt.Errorf("read child run %s: %w", id, err)
		}
		if ended(row) { // its events may belong to a stored step
			c.Usage = recorder.Usage{}
			if err := json.Unmarshal(object(row.Usage), &c.Usage); err != nil {
				return nil, fmt.Errorf("read usage of child run %s: %w", id, err)
			}
		}
		p.Usage.CountChild(c.Usage)
		all[at] = c
	}
	return all, nil
}

// read takes the events of the child's namespace.
func (c *Child) read(evs []runevent.Event, ns string, newID func() string) error {
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
			c.Usage.Count(msg, ev.Step.Node)
		}
		c.patches = append(c.patches, patch)
		if ev.Step.Node == agent.NodeModel || ev.Step.Node == agent.NodeTools {
			c.Steps++
		}
		c.last, c.next, c.final = ev.Step.Node, ev.Step.Next, ev.Step.Last
	}
	var err error
	if c.Left, err = runevent.Gather(evs[from:], ns); err != nil {
		return err
	}
	c.results, err = c.Left.Answered(newID)
	return err
}

// stepPatch returns a child's step without its hidden fields.
func stepPatch(s *runevent.StepData) (p agent.State, err error) {
	for _, body := range s.Messages {
		msg, err := agent.ParseMessage(body)
		if err != nil {
			return p, fmt.Errorf("%w: message of a step: %v", runevent.ErrDamaged, err)
		}
		p.Messages = append(p.Messages, msg)
	}
	for name, body := range s.Fields {
		if f, ok := agent.FieldByName(name); ok { // otherwise a newer version wrote it
			if err := f.Decode(&p, body); err != nil {
				return p, fmt.Errorf("%w: %v", runevent.ErrDamaged, err)
			}
		}
	}
	return p, nil
}

// StandOn restores a child's progress in its turn, which has its input. on is false if nothing is left to do.
func (c *Child) StandOn(t *agent.Turn) (on bool, err error) {
	for _, p := range c.patches {
		if err := t.State.Apply(p); err != nil {
			return false, fmt.Errorf("state of child run %s: %w", c.Run.ID, err)
		}
	}
	if t.MaxSteps <= 0 {
		t.MaxSteps = agent.DefaultMaxSteps
	}
	t.MaxSteps = max(1, t.MaxSteps-c.Steps)
	t.Results = c.results
	switch {
	case c.last == agent.NodeEnd, c.Broken():
		return false, nil
	case c.last == "":
	case c.final || !recorder.RunsNext(c.next):
		t.From = []string{agent.NodeEnd}
	default:
		t.From = c.next
	}
	return true, nil
}

// Broken reports whether the child was about to end in disorder: cancelled, or failed.
func (c *Child) Broken() bool { return c.final && recorder.RunsNext(c.next) }

// Open returns the rows of unended children, ready to be stored as interrupted.
func Open(children map[Place]*Child) (list []store.Run) {
	for _, c := range children {
		if ended(c.Run) {
			continue
		}
		run := c.Run
		if body, err := agent.Encode(c.Usage); err == nil {
			run.Usage = body
		}
		list = append(list, run)
	}
	return list
}

// ended reports whether a run is neither active nor waiting.
func ended(r store.Run) bool { return r.Status != "pending" && r.Status != "running" }

// object returns raw, or an empty object if it is empty.
func object(raw json.RawMessage) json.RawMessage {
	if len(raw) == 0 || string(raw) == "null" {
		return json.RawMessage("{}")
	}
	return raw
}
