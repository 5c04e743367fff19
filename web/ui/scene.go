package ui

import (
	"encoding/json"
	"slices"
	"strings"

	"fawn/agent"
	"fawn/views"
	"fawn/web/ui/page"
	"fawn/web/ui/turns"
)

// scene is everything on a thread's page that a run can change. It is a value: turns and
// steps in it do not change any more.
type scene struct {
	thread  string
	title   string
	row     views.ThreadRow
	files   int
	running bool
	queue   []views.Queued
	asks    []views.NetworkQuestion
	todos   []views.Todo
	turns   []views.Turn
	writing turns.Writing
	gauge   views.Gauge
	cut     views.Shortened
}

// scene is what a page shows of v. With touched only the turns the run can change are in
// it: its own and the one before.
func (v *conversation) scene(touched bool) scene {
	turns := v.turns.Turns
	if touched {
		turns = turns[min(max(0, v.base-1), len(turns)):]
	}
	s := scene{thread: v.thread.ID, title: v.heading(), files: len(v.artifacts) + len(v.made()), running: v.running(),
		queue: v.queue, asks: v.asks, todos: v.todos,
		turns: slices.Clone(turns), writing: v.turns.Writing(), gauge: v.turns.Gauge, cut: v.cut()}
	s.row = page.RowOf(v.thread)
	s.row.Title = s.title
	paused := s.running && slices.ContainsFunc(v.asks, func(q views.NetworkQuestion) bool { return q.Waiting })
	switch { // what is on screen is no news
	case s.running && !paused:
		s.row.State = views.ThreadRunning
	case paused, v.asking || len(v.asks) > 0:
		s.row.State = views.ThreadWaiting
	}
	for i := range s.turns {
		t := &s.turns[i]
		t.Trail.Steps = slices.Clone(t.Trail.Steps)
		if t.Answer != nil {
			a := *t.Answer
			t.Answer = &a
		}
		t.Files = slices.Clip(t.Files)
		if t.ID == s.cut.Turn {
			t.Cut = &s.cut
		}
		t.Last = i == len(s.turns)-1 && !v.part
		t.Gap = v.gaps[t.ID]
		t.Questions = v.questions(s.turns, i)
		v.waiting(t)
		t.Paused = paused && t.Last && busy(t.State)
		t.Trail.Open = busy(t.State) && (t.Answer == nil || t.Answer.Open && len(t.Answer.Text) <= foldAfter)
		t.Next = v.next(t)
		t.Resume = t.Last && !s.running && v.resumable && (t.State == views.TurnFailed || t.State == views.TurnStopped)
	}
	return s
}

// foldAfter is how many bytes of an answer under way fold the steps before it, as the script of a page that
// is there does (live.js). What is said so far may yet turn out to be a step.
const foldAfter = 240

func busy(s views.TurnState) bool { return s == views.TurnRunning || s == views.TurnQueued }

// cursor is the position of v in the stream: the run and the last event that is in it.
func (v *conversation) cursor() string {
	if v.run.ID == "" {
		return ""
	}
	return cursorOf(v.run, v.seq)
}

// view is the whole thread for a page.
func (v *conversation) view(s scene) views.Thread {
	t := views.Thread{ID: v.thread.ID, Title: s.title, Pinned: s.row.Pinned, Turns: s.turns, Running: s.running,
		Cursor: v.cursor(), Queue: s.queue, Asks: s.asks, Todos: s.todos, Gauge: s.gauge, Behind: v.behind}
	for _, p := range slices.Backward(v.artifacts) {
		if !strings.HasPrefix(p, "/") {
			continue
		}
		t.Files = append(t.Files, v.turns.File(p))
	}
	t.Files = append(t.Files, v.made()...)
	return t
}

// questions are those of a turn as the page shows them: the next turn begins with the
// answer, and of the last turn they are open while the thread waits.
func (v *conversation) questions(all []views.Turn, i int) []views.Question {
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

// question is the one that waits for an answer and has this id, or the newest with id "".
func (v *conversation) question(id string) *views.Question {
	n := len(v.turns.Turns)
	if n == 0 {
		return nil
	}
	list := v.questions(v.turns.Turns, n-1)
	for i := range slices.Backward(list) {
		if list[i].Open && (id == "" || list[i].ID == id) {
			return &list[i]
		}
	}
	return nil
}

// plan takes over the items of a plan.
func (v *conversation) plan(raw json.RawMessage) {
	var list []agent.Todo
	if len(raw) > 0 && json.Unmarshal(raw, &list) != nil {
		return
	}
	v.todos = turns.Todos(list)
}

// waiting puts the wait for the provider at the end of the trail of the turn at work.
func (v *conversation) waiting(t *views.Turn) {
	if r := v.turns.Retry; r != nil && t.Last && busy(t.State) && v.running() {
		t.Trail.Steps = append(t.Trail.Steps,
			views.Step{ID: t.ID, ThreadID: v.thread.ID, Kind: views.StepRetry, State: views.StepRun, Retry: *r})
	}
}
