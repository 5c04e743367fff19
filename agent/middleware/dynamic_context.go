package middleware

import (
	"context"
	"slices"
	"strconv"
	"strings"
	"time"

	"fawn/agent"
)

// MemoryKey is the remark on a run that used memories: their number and ids.
const MemoryKey = "memory_used"

// memoryTime limits how long the first answer waits for memories.
const memoryTime = 5 * time.Second

// Remember returns facts about the person that are relevant to a turn and not told yet: told holds the ids of known
// ones. The text is safe to use in a prompt.
type Remember func(ctx context.Context, t *agent.Turn, told []string) (Recalled, error)

// Recalled is a memory text with the ids of its facts. An empty text means none.
type Recalled struct {
	Text string
	IDs  []string
}

// DynamicContext tells the model the date and relevant memories as notes with fixed positions, so the system prompt and
// everything before them keep their bytes. The date is repeated when it changes or when compaction hid it; each turn
// adds the memories relevant to it that the conversation lacks. recall may be nil.
func DynamicContext(now func() time.Time, recall Remember) agent.Middleware {
	return agent.Middleware{
		Name: "dynamic_context",
		BeforeAgent: func(ctx context.Context, t *agent.Turn) (agent.State, error) {
			anchor := agent.LastGenuine(t.State.Messages)
			if anchor == nil {
				return agent.State{}, nil
			}
			place := agent.Before
			// a model has read the anchor already
			if last := t.State.Messages[len(t.State.Messages)-1]; last.ID != anchor.ID {
				anchor, place = last, agent.After
			}
			var notes []agent.Note
			if text := dateNote(now().In(zone(t.Options.Timezone, now()))); text != lastNote(&t.State, "date") {
				notes = append(notes, agent.Note{ID: "date:" + anchor.ID, Message: anchor.ID, Place: place,
					Kind: "date", Text: text})
			}
			if recall != nil && !recalledAt(&t.State, anchor.ID) {
				if r := recalled(ctx, t, recall); r.Text != "" {
					notes = append(notes, agent.Note{ID: memoryNote(anchor.ID), Message: anchor.ID, Place: place,
						Kind: "memory", Text: r.Text, Facts: r.IDs})
					t.Note(MemoryKey, strconv.Itoa(len(r.IDs))+" "+strings.Join(r.IDs, " "))
				}
			}
			return agent.State{Notes: notes}, nil
		},
	}
}

func dateNote(now time.Time) string {
	return "<system-reminder>\n<current_date>" + now.Format("2006-01-02, Monday") +
		"</current_date>\n</system-reminder>"
}

// zone returns a time zone by name, else that of now.
func zone(name string, now time.Time) *time.Location {
	if name != "" {
		if l, err := time.LoadLocation(name); err == nil {
			return l
		}
	}
	return now.Location()
}

// lastNote returns the newest note of a kind that requests still show, or "".
func lastNote(s *agent.State, kind string) string {
	if list := shownNotes(s, kind); len(list) > 0 {
		return list[len(list)-1].Text
	}
	return ""
}

// shownNotes returns the notes of a kind that requests still show, the oldest first.
func shownNotes(s *agent.State, kind string) []agent.Note {
	from := 0
	if s.View != nil && s.View.From != "" {
		from = max(slices.IndexFunc(s.Messages, func(m *agent.Message) bool { return m.ID == s.View.From }), 0)
	}
	var list []agent.Note
	for _, n := range s.Notes {
		if n.Kind == kind && slices.ContainsFunc(s.Messages[from:],
			func(m *agent.Message) bool { return m.ID == n.Message }) {
			list = append(list, n)
		}
	}
	return list
}

func memoryNote(anchor string) string { return "memory:" + anchor }

// recalledAt reports whether memories were added to a turn already, because it resumed.
func recalledAt(s *agent.State, anchor string) bool {
	return slices.ContainsFunc(s.Notes, func(n agent.Note) bool { return n.ID == memoryNote(anchor) })
}

// recalled queries the memory, with a time limit.
func recalled(ctx context.Context, t *agent.Turn, recall Remember) Recalled {
	ctx, cancel := context.WithTimeout(ctx, memoryTime)
	defer cancel()
	var told []string
	for _, n := range shownNotes(&t.State, "memory") {
		told = append(told, n.Facts...)
	}
	r, err := recall(ctx, t, told)
	if err != nil {
		t.Log.Warn("couldn't read memory; the run continues without it", "err", err)
		return Recalled{}
	}
	if r.Text != "" {
		r.Text = "<system-reminder>\n<memory>\n" + neutral(r.Text) + "\n</memory>\n</system-reminder>"
	}
	return r
}
