package recorder

import (
	"context"
	"encoding/json"
	"fmt"

	"fawn/agent"
	"fawn/agent/runs/runevent"
)

// ChildStep records a finished step of a child, its cost, and the parent's events that belong to it. It is durable when
// it returns.
func (r *Recorder) ChildStep(ctx context.Context, ns string, number int, s agent.Step, spent Usage,
	more []json.RawMessage) error {
	if err := r.putSubStep(ns, number, s, spent, more); err != nil {
		return fmt.Errorf("record a step of %s: %w", ns, err)
	}
	if err := r.lane.Flush(ctx); err != nil {
		return fmt.Errorf("%w: %w", ErrStorage, err)
	}
	return nil
}

func (r *Recorder) putSubStep(ns string, number int, s agent.Step, spent Usage, more []json.RawMessage) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if err := r.left(); err != nil {
		return err
	}
	row := runevent.ChildStep{StepData: runevent.StepData{Node: s.Node, Next: s.Next, Number: number, Last: s.Last}}
	for _, m := range s.Patch.Messages {
		body, err := agent.Encode(m)
		if err != nil {
			return fmt.Errorf("encode message %s: %w", m.ID, err)
		}
		row.Messages = append(row.Messages, body)
		row.Shown = append(row.Shown, (m.Type == agent.TypeAI || m.Type == agent.TypeTool) && !r.streamed[m.ID])
	}
	for _, f := range agent.Fields {
		if !f.Set(&s.Patch) || f.Hidden {
			continue
		}
		body, err := f.Encode(&s.Patch)
		if err != nil {
			return fmt.Errorf("encode field %s: %w", f.Name, err)
		}
		if row.Fields == nil {
			row.Fields = map[string]json.RawMessage{}
		}
		row.Fields[f.Name] = body
	}
	data, err := agent.Encode(row)
	if err != nil {
		return err
	}
	ev := &runevent.Event{Kind: runevent.KindStep, NS: ns, Step: row.Data()}
	r.append(r.frames.Named(ev.Kind, ns, data), ev)
	r.usage.CountChild(spent)
	for _, data := range more {
		r.named(&runevent.Event{Kind: runevent.KindCustom, Data: data})
	}
	return nil
}

// ChildSink shows a child's work among the events of its parent.
type ChildSink struct {
	*Recorder
	NS     string
	Number int                                // number of the last step
	Usage  Usage                              // usage of all steps
	Tell   func(agent.Step) []json.RawMessage // returns the events to store with a step, or nil
}

// Step implements agent.Sink.
func (s *ChildSink) Step(ctx context.Context, step agent.Step) error {
	var spent Usage
	for _, msg := range step.Patch.Messages {
		s.Usage.Count(msg, step.Node)
		spent.Count(msg, step.Node)
	}
	var more []json.RawMessage
	if s.Tell != nil {
		more = s.Tell(step)
	}
	s.Number++
	return s.ChildStep(ctx, s.NS, s.Number, step, spent, more)
}
