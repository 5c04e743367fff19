package ui

import (
	"net/http"
	"slices"
	"strings"

	"github.com/labstack/echo/v4"

	"fawn/agent"
	"fawn/store"
	"fawn/views"
	"fawn/views/chat"
	"fawn/web/ui/conversation"
	"fawn/web/ui/page"
	"fawn/web/ui/turns"
)

// maxStepBody limits the output in a step's details, in bytes.
const maxStepBody = 256 << 10

// step handles GET /ui/threads/:id/steps/:step: everything about one tool call; ?raw=1 is its whole output as text.
func (u *UI) step(c echo.Context, t store.Thread) error {
	id, name := t.ID, page.Param(c, "step")
	messages, err := u.messages(c, id)
	if err != nil {
		return err
	}
	step, output, ok := findStep(id, name, messages)
	if outer, inner, nested := strings.Cut(name, inHelper); nested && !ok { // a call that a helper made
		work, err := u.helperWork(c.Request().Context(), id, outer, messages)
		if err != nil {
			return err
		}
		step, output, ok = findStep(id, inner, work.messages)
		step.ID = name
	}
	if !ok {
		return store.ErrNotFound
	}
	if c.QueryParam("raw") != "" {
		return plain(c, output)
	}
	if step.Tool == "task" {
		_, output = turns.HelperResult(output)
	}
	body := views.StepBody{Thread: id, Step: step, Cut: len(output) > maxStepBody}
	body.Step.Output = page.Head(output, maxStepBody)
	body.Step.Web = turns.WithText(body.Step.Web, body.Step.Output)
	if step.Tool == "task" {
		if body.Trail, err = u.trailOf(c, id, step, messages); err != nil {
			return err
		}
	}
	if step.State == views.StepFail && step.Exit == 0 || step.State == views.StepStop {
		body.Step.Error, body.Step.Output = body.Step.Output, ""
	}
	if step.Tool == "present_files" && step.State == views.StepDone {
		b := turns.New(id, u.Describer(id))
		var turn views.Turn
		b.Present(&turn, turns.Presented(step.Args))
		body.Files = turn.Files
	}
	if body.Cut {
		body.Raw = views.StepURL(id, name) + "?raw=1"
	}
	if page.WantsFragment(c.Request()) && c.QueryParam("all") != "" {
		return page.HTML(c, http.StatusOK, page.InLang(page.ReadPrefs(c.Request()).Lang, chat.StepOutput(body)))
	}
	if page.WantsFragment(c.Request()) {
		return page.HTML(c, http.StatusOK, page.InLang(page.ReadPrefs(c.Request()).Lang, chat.StepDetails(body)))
	}
	if body.Shell, err = u.Shell(c, views.NavNone, id); err != nil {
		return err
	}
	return page.HTML(c, http.StatusOK, chat.StepPage(body))
}

// findStep finds a call and its result, newest first.
func findStep(thread, name string, messages []*agent.Message) (step views.Step, output string, ok bool) {
	for i := len(messages) - 1; i >= 0; i-- {
		m := messages[i]
		if m.Type != agent.TypeAI {
			continue
		}
		for _, call := range turns.MessageCalls(m) {
			if turns.StepID(m.ID, call.Id) != name {
				continue
			}
			step = views.Step{ID: name, ThreadID: thread, Kind: views.StepTool, State: views.StepRun, Tool: call.Name,
				Args: call.Args}
			for _, r := range messages[i+1:] {
				if r.Type == agent.TypeAI {
					break
				}
				if r.Type == agent.TypeTool && r.ToolCallID == call.Id {
					turns.Finish(&step, r)
					return step, r.Content.String(), true
				}
			}
			return step, "", true
		}
	}
	return step, "", false
}

// callOf returns the message and the id of the call that a step shows.
func callOf(name string, messages []*agent.Message) (message, id string, ok bool) {
	for _, m := range slices.Backward(messages) {
		for _, call := range turns.MessageCalls(m) {
			if m.Type == agent.TypeAI && turns.StepID(m.ID, call.Id) == name {
				return m.ID, call.Id, true
			}
		}
	}
	return "", "", false
}

// source handles GET /ui/threads/:id/messages/:message/raw: the Markdown of an answer.
func (u *UI) source(c echo.Context, t store.Thread) error {
	messages, err := u.messages(c, t.ID)
	if err != nil {
		return err
	}
	for _, m := range messages {
		if m.ID == page.Param(c, "message") && (m.Type == agent.TypeAI || m.Type == agent.TypeHuman) {
			return plain(c, m.Content.String())
		}
	}
	return store.ErrNotFound
}

// plain answers with text that no browser takes for anything else.
func plain(c echo.Context, text string) error {
	h := c.Response().Header()
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Content-Security-Policy", page.Policy)
	h.Set("Cache-Control", "private, no-cache")
	return c.String(http.StatusOK, text)
}

// messages returns all current messages of a thread. It includes results of the open step, but not the message being
// written.
func (u *UI) messages(c echo.Context, thread string) ([]*agent.Message, error) {
	ctx := c.Request().Context()
	t, err := u.OwnThread(ctx, thread)
	if err != nil {
		return nil, err
	}
	var list []*agent.Message
	if t.Head != "" {
		snap, err := u.DB.Snapshot(ctx, thread, t.Head)
		if err != nil {
			return nil, err
		}
		for _, row := range snap.Messages {
			m, err := agent.ParseMessage(row.Body)
			if err != nil {
				return nil, err
			}
			list = append(list, m)
		}
	}
	run := u.Runs.Active(thread)
	if run == "" {
		return list, nil
	}
	reader, err := u.Runs.Follow(ctx, run)
	if err != nil {
		return list, nil // it ended just now
	}
	events, err := conversation.ReadyUntil(ctx, reader, conversation.Everything)
	if err != nil {
		return nil, err
	}
	for _, ev := range events {
		if m := turns.ResultOf(ev); m != nil {
			list = append(list, m)
		}
	}
	return list, nil
}
