package middleware

import (
	"context"
	"slices"
	"time"

	"fawn/agent"
)

// memoryTime is how long the first answer waits for what is remembered about a person.
const memoryTime = 5 * time.Second

// Remember gives what is known about the person and matters for a turn, or "". The text is
// safe to stand in a prompt.
type Remember func(ctx context.Context, t *agent.Turn) (string, error)

// DynamicContext tells the model the date, and what is remembered of the person, as notes
// which stay where they are: the system prompt and all of the request before them keep
// their bytes. The date is told again when it changes, or when compaction has hidden it;
// memory comes once per conversation. recall may be nil.
func DynamicContext(now func() time.Time, recall Remember) agent.Middleware {
	return agent.Middleware{
		Name: "dynamic_context",
		BeforeAgent: func(ctx context.Context, t *agent.Turn) (agent.State, error) {
			anchor := agent.LastGenuine(t.State.Messages)
			if anchor == nil {
				return agent.State{}, nil
			}
			place := agent.Before
			if last := t.State.Messages[len(t.State.Messages)-1]; last.ID != anchor.ID { // a model has read the anchor already
				anchor, place = last, agent.After
			}
			var notes []agent.Note
			if text := dateNote(now().In(zone(t.Options.Timezone, now()))); text != lastNote(&t.State, "date") {
				notes = append(notes, agent.Note{ID: "date:" + anchor.ID, Message: anchor.ID, Place: place,
					Kind: "date", Text: text})
			}
			if recall != nil && lastNote(&t.State, "memory") == "" {
				if text := recalled(ctx, t, recall); text != "" {
					notes = append(notes, agent.Note{ID: "memory:" + anchor.ID, Message: anchor.ID, Place: place,
						Kind: "memory", Text: text})
				}
			}
			return agent.State{Notes: notes}, nil
		},
	}
}

func dateNote(now time.Time) string {
	return "<system-reminder>\n<current_date>" + now.Format("2006-01-02, Monday") + "</current_date>\n</system-reminder>"
}

// zone is a time zone by name, else that of now.
func zone(name string, now time.Time) *time.Location {
	if name != "" {
		if l, err := time.LoadLocation(name); err == nil {
			return l
		}
	}
	return now.Location()
}

// lastNote is the newest note of a kind that requests still show, or "".
func lastNote(s *agent.State, kind string) string {
	from := 0
	if s.View != nil && s.View.From != "" {
		from = max(slices.IndexFunc(s.Messages, func(m *agent.Message) bool { return m.ID == s.View.From }), 0)
	}
	for _, n := range slices.Backward(s.Notes) {
		if n.Kind == kind && slices.ContainsFunc(s.Messages[from:],
			func(m *agent.Message) bool { return m.ID == n.Message }) {
			return n.Text
		}
	}
	return ""
}

// recalled asks the memory, which must not hold a run up.
func recalled(ctx context.Context, t *agent.Turn, recall Remember) string {
	ctx, cancel := context.WithTimeout(ctx, memoryTime)
	defer cancel()
	text, err := recall(ctx, t)
	if err != nil {
		t.Log.Warn("couldn't read memory; the run continues without it", "err", err)
		return ""
	}
	if text == "" {
		return ""
	}
	return "<system-reminder>\n<memory>\n" + neutral(text) + "\n</memory>\n</system-reminder>"
}
