package conversation

import (
	"encoding/json"
	"slices"
	"strings"

	"fawn/agent"
	"fawn/agent/runs/runevent"
	"fawn/views"
	"fawn/web/ui/page"
	"fawn/web/ui/turns"
)

// Scene is everything on a thread's page that a run can change. It is a value: its turns and steps are
// immutable.
type Scene struct {
	Thread  string
	Title   string
	Row     views.ThreadRow
	files   int
	browser bool // the agent used one in a turn that is shown
	Running bool
	queue   []views.Queued
	asks    []views.NetworkQuestion
	todos   []views.Todo
	Turns   []views.Turn
	writing turns.Writing
	gauge   views.Gauge
	cut     views.Shortened
}

// Scene returns the page's view of v. With touched only the turns the run can change are in it: its own and the one
// before.
func (v *View) Scene(touched bool) Scene {
	turns := v.Turns.Turns
	if touched {
		turns = turns[min(max(0, v.base-1), len(turns)):]
	}
	s := Scene{Thread: v.Thread.ID, Title: v.Heading(), files: len(v.Artifacts) + len(v.made()), Running: v.Running(),
		queue: v.queue, asks: v.asks, todos: v.todos,
		Turns: slices.Clone(turns), writing: v.Turns.Writing(), gauge: v.Turns.Gauge, cut: v.cut()}
	s.Row = page.RowOf(v.Thread)
	s.Row.Title = s.Title
	paused := s.Running && slices.ContainsFunc(v.asks, func(q views.NetworkQuestion) bool { return q.Waiting })
	switch { // the visible state needs no notification
	case s.Running && !paused:
		s.Row.State = views.ThreadRunning
	case paused, v.asking || len(v.asks) > 0:
		s.Row.State = views.ThreadWaiting
	}
	for i := range s.Turns {
		t := &s.Turns[i]
		t.Trail.Steps = slices.Clone(t.Trail.Steps)
		if t.Answer != nil {
			a := *t.Answer
			t.Answer = &a
		}
		t.Files = slices.Clip(t.Files)
		s.browser = s.browser || slices.ContainsFunc(t.Trail.Steps, func(s views.Step) bool { return strings.HasPrefix(s.Tool, "browser_") })
		if t.ID == s.cut.Turn {
			t.Cut = &s.cut
		}
		t.Last = i == len(s.Turns)-1 && !v.part
		t.Gap = v.Gaps[t.ID]
		t.Questions = v.questions(s.Turns, i)
		v.waiting(t)
		t.Paused = paused && t.Last && busy(t.State)
		t.Trail.Open = busy(t.State) && (t.Answer == nil || t.Answer.Open && len(t.Answer.Text) <= foldAfter)
		t.Next = v.next(t)
		t.Resume = t.Last && !s.Running && v.resumable && (t.State == views.TurnFailed || t.State == views.TurnStopped)
	}
	return s
}

// Browses reports whether the agent used a browser in a turn that is shown.
func (s Scene) Browses() bool { return s.browser }

// foldAfter is the length of a streaming answer in bytes after which its steps are folded, as in the page's script
// (live.js). A shorter text may still become a step.
const foldAfter = 240

func busy(s views.TurnState) bool { return s == views.TurnRunning || s == views.TurnQueued }

// Cursor returns the position of v in the stream: the run and the last event that is in it.
func (v *View) Cursor() string {
	if v.run.ID == "" {
		return ""
	}
	return cursorOf(v.run, v.seq)
}

// Page returns the whole thread for a page.
func (v *View) Page(s Scene) views.Thread {
	t := views.Thread{ID: v.Thread.ID, Title: s.Title, Row: v.rowOf(s), Turns: s.Turns, Running: s.Running,
		Cursor: v.Cursor(), Queue: s.queue, Asks: s.asks, Todos: s.todos, Gauge: s.gauge, Behind: v.behind}
	for _, p := range slices.Backward(v.Artifacts) {
		if !strings.HasPrefix(p, "/") {
			continue
		}
		t.Files = append(t.Files, v.Turns.File(p))
	}
	t.Files = append(t.Files, v.made()...)
	return t
}

// rowOf returns the thread as its menu has it.
func (v *View) rowOf(s Scene) views.ThreadRow {
	r := page.RowOf(v.Thread)
	r.Title, r.Pinned = s.Title, s.Row.Pinned
	return r
}

// questions returns a turn's questions for its page: the next turn begins with the answer, and those of the last turn
// are open while the thread waits.
func (v *View) questions(all []views.Turn, i int) []views.Question {
	list := slices.Clone(all[i].Questions)
	last := i == len(all)-1
	for k := range list {
		switch q := &list[k]; {
		case q.Answer != "":
		case !last && all[i+1].User != nil:
			q.Answer = page.Head(all[i+1].User.Text, turns.MaxQuestionBytes)
		case last && !v.part:
			q.Open = v.asking && v.run.ID == ""
		}
	}
	return list
}

// Question returns the open question with an id, or the newest with id "".
func (v *View) Question(id string) *views.Question {
	n := len(v.Turns.Turns)
	if n == 0 {
		return nil
	}
	list := v.questions(v.Turns.Turns, n-1)
	for i := range slices.Backward(list) {
		if list[i].Open && (id == "" || list[i].ID == id) {
			return &list[i]
		}
	}
	return nil
}

// plan takes over the items of a plan.
func (v *View) plan(raw json.RawMessage) {
	var list []agent.Todo
	if len(raw) > 0 && json.Unmarshal(raw, &list) != nil {
		return
	}
	v.todos = turns.Todos(list)
}

// waiting shows the wait for the provider at the end of the active turn's trail.
func (v *View) waiting(t *views.Turn) {
	if r := v.Turns.Retry; r != nil && t.Last && busy(t.State) && v.Running() {
		t.Trail.Steps = append(t.Trail.Steps,
			views.Step{ID: t.ID, ThreadID: v.Thread.ID, Kind: views.StepRetry, State: views.StepRun, Retry: *r})
	}
}

// editedPlan takes over a plan that a person has changed while the run works.
func (v *View) editedPlan(ev runevent.Event) {
	var e struct {
		Type  string          `json:"type"`
		Todos json.RawMessage `json:"todos"`
	}
	if ev.NS == "" && json.Unmarshal(ev.Data, &e) == nil && e.Type == runevent.PlanEdited {
		v.plan(e.Todos)
	}
}

// Attached returns the names and sizes of files that earlier messages brought.
func (v *View) Attached() map[string]int64 {
	sent := map[string]int64{}
	for _, f := range v.told {
		sent[f.Filename] = f.Size
	}
	for i := range v.Turns.Turns {
		if user := v.Turns.Turns[i].User; user != nil {
			for _, f := range user.Files {
				sent[f.Name] = f.Bytes
			}
		}
	}
	for _, f := range v.later {
		sent[f.Name] = f.Bytes
	}
	return sent
}
