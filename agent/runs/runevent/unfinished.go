package runevent

import (
	"encoding/json"
	"fmt"
	"slices"

	"fawn/agent"
)

// Unfinished is the work left open by the events behind a run's last step.
type Unfinished struct {
	Said    []*Partial         // answers that were shown, never stored and not withdrawn
	Results map[string]ToolEnd // by id of the call
	started map[string]bool    // ids of calls whose tool started
}

// Partial is the shown part of an answer.
type Partial struct {
	ID, NS string
	sofar  agent.Collector
}

// Gather collects the open events of a namespace: "" is the run itself. Errors: ErrDamaged.
func Gather(evs []Event, ns string) (Unfinished, error) {
	u := Unfinished{started: map[string]bool{}, Results: map[string]ToolEnd{}}
	for _, ev := range evs {
		if ev.NS != ns {
			continue
		}
		switch ev.Kind {
		case KindMessage:
			u.Said = append(u.Said, &Partial{ID: ev.Msg.ID, NS: ns})
		case KindText:
			u.add(ev.Msg.ID, agent.Chunk{Text: ev.Text})
		case KindReasoning:
			u.add(ev.Msg.ID, agent.Chunk{Reasoning: ev.Text})
		case KindWithdraw:
			id := Withdrawn(ev)
			u.Said = slices.DeleteFunc(u.Said, func(p *Partial) bool { return p.ID == id })
		case KindToolStart:
			var c agent.ToolCall
			if err := json.Unmarshal(ev.Data, &c); err != nil {
				return u, fmt.Errorf("%w: %v", ErrDamaged, err)
			}
			u.started[c.ID] = true
		case KindToolResult:
			var t ToolEnd
			if err := json.Unmarshal(ev.Data, &t); err != nil {
				return u, fmt.Errorf("%w: %v", ErrDamaged, err)
			}
			u.Results[t.ID] = t
		}
	}
	return u, nil
}

func (u *Unfinished) add(id string, k agent.Chunk) {
	for _, p := range u.Said {
		if p.ID == id {
			p.sofar.Add(k)
		}
	}
}

// Answered returns the results of calls that a resumed run doesn't repeat: recorded results, and for tools that started
// but didn't end an interruption notice, in messages with new ids.
func (u *Unfinished) Answered(newID func() string) (map[string]agent.Result, error) {
	out := make(map[string]agent.Result, len(u.started))
	for id := range u.started {
		r := agent.ErrorResult(agent.InterruptedResult)
		r.MessageID, r.Cut = newID(), true
		out[id] = r
	}
	for id, t := range u.Results {
		r, err := t.Result()
		if err != nil {
			return nil, err
		}
		out[id] = r
	}
	return out, nil
}

// Partial returns the last answer that was shown and is not in s, or nil.
func (u *Unfinished) Partial(s *agent.State) *agent.Message {
	if len(u.Said) == 0 {
		return nil
	}
	return u.Said[len(u.Said)-1].message(s)
}

// message returns the shown part of an answer that is not in s, or nil.
func (p *Partial) message(s *agent.State) *agent.Message {
	if p.ID == "" || p.sofar.Empty() || s.Message(p.ID) != nil {
		return nil
	}
	msg := p.sofar.Message(p.ID, false)
	if msg.Content.Text == "" && msg.Kwargs["reasoning_content"] == nil {
		return nil
	}
	return msg
}
