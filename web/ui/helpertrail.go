package ui

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"

	"github.com/labstack/echo/v4"

	"fawn/agent"
	"fawn/agent/runs"
	"fawn/agent/runs/runevent"
	"fawn/store"
	"fawn/views"
	"fawn/views/chat"
	"fawn/web/ui/page"
	"fawn/web/ui/turns"
)

// inHelper is in the name of a step between the call that sent a helper and a step of that.
const inHelper = "~"

// helperWork is a helper's progress so far.
type helperWork struct {
	run      store.Run
	turns    *turns.Builder
	messages []*agent.Message
}

// helperTrail handles GET /ui/threads/:id/steps/:step/trail: the steps of a call's helper, for the panel. Without a
// script it is the page of the call.
func (u *UI) helperTrail(c echo.Context, t store.Thread) error {
	name := page.Param(c, "step")
	if !page.WantsFragment(c.Request()) {
		return c.Redirect(http.StatusSeeOther, views.StepURL(t.ID, name))
	}
	messages, err := u.messages(c, t.ID)
	if err != nil {
		return err
	}
	step, _, ok := findStep(t.ID, name, messages)
	if !ok {
		return store.ErrNotFound
	}
	trail, err := u.trailOf(c, t.ID, step, messages)
	if err != nil {
		return err
	}
	if trail == nil {
		return store.ErrNotFound
	}
	return page.HTML(c, http.StatusOK, page.InLang(page.ReadPrefs(c.Request()).Lang, chat.HelperPanel(*trail)))
}

// trailOf returns the steps of a call's helper; nil if none are stored, as in an imported thread.
func (u *UI) trailOf(c echo.Context, thread string, step views.Step,
	messages []*agent.Message) (*views.HelperTrail, error) {
	work, err := u.helperWork(c.Request().Context(), thread, step.ID, messages)
	if errors.Is(err, store.ErrNotFound) || errors.Is(err, runs.ErrNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var asked struct{ Description, Prompt string }
	if err := json.Unmarshal(step.Args, &asked); err != nil { // models may send anything
		asked.Description = step.Tool
	}
	out := &views.HelperTrail{Thread: thread, Step: step.ID,
		Title:   turns.FirstLine(cmp.Or(asked.Description, asked.Prompt)),
		Running: !runs.Done(work.run.Status)}
	for _, turn := range work.turns.Turns {
		for _, s := range turn.Trail.Steps {
			s.ID = step.ID + inHelper + s.ID
			out.Steps = append(out.Steps, s)
		}
		if turn.Answer != nil {
			out.Answer = turn.Answer.Text
		}
	}
	return out, nil
}

// helperWork reads a helper's progress from the events of its parent run.
func (u *UI) helperWork(ctx context.Context, thread, name string, messages []*agent.Message) (helperWork, error) {
	message, call, ok := callOf(name, messages)
	if !ok {
		return helperWork{}, store.ErrNotFound
	}
	child, err := u.DB.ChildOf(ctx, thread, message, call)
	if err != nil {
		return helperWork{}, err
	}
	w := helperWork{run: child, turns: turns.New(thread, u.Describer(thread))}
	reader, err := u.Runs.Follow(ctx, child.Parent)
	if err != nil {
		return w, err
	}
	ns := runevent.Below("", call)
	for after := int64(0); ; {
		events, err := reader.Ready(ctx, after)
		if err != nil {
			return w, fmt.Errorf("read a subagent's steps: %w", err)
		}
		if len(events) == 0 {
			w.turns.Sync()
			return w, nil
		}
		for _, ev := range events {
			after = ev.To
			if ev.NS != ns {
				continue
			}
			ev.NS = ""
			if m := turns.ResultOf(ev); m != nil {
				w.messages = append(w.messages, m)
			}
			if ev.Kind == runevent.KindStep {
				w.keep(ev.Step)
			}
			w.turns.Event(ev)
		}
	}
}

// keep adds the messages of a step. Results are there already.
func (w *helperWork) keep(s *runevent.StepData) {
	for _, body := range s.Messages {
		if m, err := agent.ParseMessage(body); err == nil && m.Type == agent.TypeAI {
			w.messages = append(w.messages, m)
		}
	}
}
