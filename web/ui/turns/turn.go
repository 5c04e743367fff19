// Package turns converts messages and events of runs into the turns that pages show. Stored messages and streamed
// events produce the same turns, so a live page equals a fresh one. It doesn't access the store. Begin with turn.go,
// then stream.go.
package turns

import (
	"encoding/json"
	"path"
	"slices"
	"strings"
	"time"

	"fawn/agent"
	"fawn/agent/mcp"
	"fawn/agent/runs/runevent"
	"fawn/sandbox/files"
	"fawn/uploads"
	"fawn/views"
)

// Builder converts messages to turns. Stored messages are added by add; the one being written is updated by the methods
// of stream.go and replaced when add brings its stored form. Both ways produce the same turns, so a live page equals a
// fresh one.
type Builder struct {
	thread string
	File   func(virtual string) views.File // describes a file; Bytes 0 when it is gone
	Model  func(name string) string        // display name of a model by its provider's name; nil keeps the name
	Window func(name, provider string) int // context window in tokens, 0 if unknown; nil leaves the gauge empty

	Turns []views.Turn
	from  int               // where the steps of the newest AI message begin
	calls map[string]string // open calls of the newest AI message: call id -> step id
	Since time.Time         // when the step under way began
	under runevent.Drafts[*openMessage]
	open  *openMessage // the newest of them: streamed and not stored yet

	Retry *views.Retry // the wait for the provider that the run is in, nil as a rule

	writes *openCall // the call writing a file that is shown meanwhile; nil for none

	numbers map[string]int  // numbers of pages that results brought; replaced, never changed
	opened  map[string]bool // pages that tools have opened, the same

	Gauge views.Gauge       // gauge of the newest answer
	Owner map[string]string // turns of messages
}

// New returns a Builder for a thread; file describes a file that a message names.
func New(thread string, file func(string) views.File) *Builder {
	return &Builder{thread: thread, File: file, calls: map[string]string{}, Owner: map[string]string{}}
}

// turn returns the newest turn; a thread that doesn't begin with a person starts an empty one.
func (b *Builder) turn(id string) *views.Turn {
	if len(b.Turns) == 0 {
		b.Turns = append(b.Turns, views.Turn{ID: id, State: views.TurnDone, Numbers: b.numbers, Opened: b.opened})
	}
	return &b.Turns[len(b.Turns)-1]
}

// Add takes the next stored message.
func (b *Builder) Add(m *agent.Message) {
	switch m.Type {
	case agent.TypeHuman:
		b.addHuman(m)
	case agent.TypeAI:
		b.addAnswer(m)
	case agent.TypeTool:
		b.addResult(m)
	case agent.TypeRemove:
		b.remove(m.ID)
	}
	if n := len(b.Turns); n > 0 {
		b.Owner[m.ID] = b.Turns[n-1].ID
	}
}

// remove takes a message away again.
func (b *Builder) remove(id string) {
	b.drop()
	if id == agent.RemoveAll {
		b.Turns = nil
	}
	b.Turns = slices.DeleteFunc(b.Turns, func(t views.Turn) bool { return t.ID == id })
	for i := range b.Turns {
		t := &b.Turns[i]
		if t.Answer != nil && t.Answer.ID == id {
			t.Answer = nil
		}
		t.Questions = slices.DeleteFunc(t.Questions, func(q views.Question) bool { return q.ID == id })
		t.Trail.Steps = slices.DeleteFunc(t.Trail.Steps, func(s views.Step) bool {
			return s.ID == id || strings.HasPrefix(s.ID, id+".")
		})
	}
	if n := len(b.Turns); n > 0 {
		b.from = len(b.Turns[n-1].Trail.Steps)
	}
}

func (b *Builder) addHuman(m *agent.Message) {
	b.answered(m)
	if !m.Genuine() || m.Flag("hide_from_ui") {
		return
	}
	user := UserMessage(m)
	if n := len(b.Turns); n > 0 && b.Turns[n-1].ID == m.ID { // shown since it was sent
		b.Turns[n-1].User = &user
		return
	}
	b.Turns = append(b.Turns, views.Turn{ID: m.ID, User: &user, State: views.TurnDone, Numbers: b.numbers, Opened: b.opened})
	b.from, b.calls = 0, map[string]string{}
}

// addAnswer takes an AI message in the order people read it: thinking, words before the
// calls, the calls; or, without calls, the answer.
func (b *Builder) addAnswer(m *agent.Message) {
	t := b.turn(m.ID)
	b.drop()
	if m.Flag(agent.ErrorFallback) { // the failed run's card shows it
		return
	}
	b.used(m)
	if name, ok := m.Meta["model_name"].(string); ok && name != "" {
		if t.Model = name; b.Model != nil {
			t.Model = b.Model(name)
		}
	}
	reasoning, _ := m.Kwargs["reasoning_content"].(string)
	text := m.Content.String()
	calls := MessageCalls(m)
	if Blank(reasoning) && Blank(text) && len(calls) == 0 {
		return
	}
	b.begin(t, m.ID)
	b.write(t, draft{id: m.ID, reasoning: reasoning, text: text, calls: calls})
}

// begin adds an AI message with visible content: the previous answer wasn't final and joins the trail.
func (b *Builder) begin(t *views.Turn, id string) {
	if t.Answer != nil && t.Answer.ID != id {
		t.Trail.Steps = append(t.Trail.Steps, views.Step{ID: t.Answer.ID, ThreadID: b.thread, Kind: views.StepNote,
			State: views.StepDone, Text: t.Answer.Text})
		t.Answer = nil
	}
	b.from, b.calls = len(t.Trail.Steps), map[string]string{}
}

// draft is an AI message, complete or partial.
type draft struct {
	id              string
	reasoning, text string
	calls           []Call
	growing         bool
}

// Call is a tool call of a draft.
type Call struct {
	Id, Name string
	Args     json.RawMessage
}

// write replaces the previously shown draft.
func (b *Builder) write(t *views.Turn, d draft) {
	steps := t.Trail.Steps[:b.from]
	said := !Blank(d.text)
	if !Blank(d.reasoning) {
		thinking := d.growing && !said && len(d.calls) == 0
		s := views.Step{ID: d.id, ThreadID: b.thread, Kind: views.StepReasoning, State: views.StepDone,
			Text: d.reasoning}
		if thinking {
			s.State, s.Open, s.Since = views.StepRun, true, b.Since
		}
		steps = append(steps, s)
	}
	t.Answer = nil
	switch {
	case said && len(d.calls) > 0:
		steps = append(steps, views.Step{ID: d.id, ThreadID: b.thread, Kind: views.StepNote, State: views.StepDone,
			Text: d.text})
	case said:
		t.Answer = &views.Answer{ID: d.id, Text: d.text, Open: d.growing}
	}
	for _, c := range d.calls {
		id := StepID(d.id, c.Id)
		b.calls[c.Id] = id
		steps = append(steps, views.Step{ID: id, ThreadID: b.thread, Kind: views.StepTool, State: views.StepRun,
			Since: b.Since, Tool: c.Name, Args: c.Args})
	}
	t.Trail.Steps = steps
}

// addResult closes the step of a tool message's call.
func (b *Builder) addResult(m *agent.Message) {
	id, ok := b.calls[m.ToolCallID]
	if !ok || len(b.Turns) == 0 {
		return
	}
	t := b.turn(m.ID)
	for i := range t.Trail.Steps {
		s := &t.Trail.Steps[i]
		if s.Kind != views.StepTool || s.ID != id {
			continue
		}
		Finish(s, m)
		b.number(t, s.Web)
		b.visit(t, *s, m.Content.String())
		if s.Tool == writeTool {
			b.writes = nil
		}
		if q, ok := questionOf(b.thread, m); ok {
			b.ask(t, q)
		}
		if s.Tool == "present_files" && s.State == views.StepDone {
			b.Present(t, Presented(s.Args))
		}
		return
	}
}

// Present adds cards of files to a turn, each once.
func (b *Builder) Present(t *views.Turn, paths []string) {
	for _, p := range paths {
		clean, err := files.Clean(p)
		if err != nil {
			continue
		}
		at := strings.TrimPrefix(clean, "/")
		twice := false
		for _, f := range t.Files {
			twice = twice || f.Path == at
		}
		if twice {
			continue
		}
		t.Files = append(t.Files, b.File(clean))
	}
}

// UserMessage converts a person's message.
func UserMessage(m *agent.Message) views.UserMessage {
	v := views.UserMessage{ID: m.ID, Text: m.Content.String()}
	list, _ := m.Kwargs["files"].([]any)
	for _, raw := range list {
		f, _ := raw.(map[string]any)
		name, _ := f["filename"].(string)
		if name == "" || name != path.Base(name) {
			continue
		}
		size, _ := f["size"].(float64)
		a := views.Attachment{Name: name, Bytes: int64(size), Unseen: uploads.UnseenPicture(name)}
		a.Document, _ = f["conversion"].(string)
		if at, _ := f["path"].(string); at != "" {
			if clean, err := files.Clean(at); err == nil {
				a.Path = strings.TrimPrefix(clean, "/")
			}
		}
		v.Files = append(v.Files, a)
	}
	return v
}

// Blank reports whether a text has nothing to show.
func Blank(s string) bool { return strings.TrimSpace(s) == "" }

// used records how much of its model's window an answer and its request filled.
func (b *Builder) used(m *agent.Message) {
	if m.Usage == nil || m.Usage.Total == 0 || b.Window == nil {
		return
	}
	provider, _ := m.Meta["model_name"].(string)
	b.Gauge = views.Gauge{Tokens: m.Usage.Total, Window: b.Window(m.Usage.Model, provider)}
}

// Find returns the turn with an id, nil without one.
func (b *Builder) Find(id string) *views.Turn {
	for i := range b.Turns {
		if b.Turns[i].ID == id {
			return &b.Turns[i]
		}
	}
	return nil
}

// appOf returns the app that shows the result of a call, nil for none.
func appOf(m *agent.Message) *views.App {
	a := mcp.ReadApp(m.Artifact)
	if a == nil || m.Status == "error" {
		return nil
	}
	return &views.App{Server: a.Server, Tool: a.Tool}
}
