package ui

import (
	"context"
	"errors"
	"net/http"
	"net/url"

	"github.com/labstack/echo/v4"

	"fawn/agent"
	"fawn/agent/runs"
	"fawn/store"
	"fawn/views"
	"fawn/views/chat"
	"fawn/web/ui/input"
	"fawn/web/ui/page"
	"fawn/web/ui/turns"
)

// queue are the messages that wait in a thread, oldest first, and the files they bring.
func (u *UI) queue(thread string) (out []views.Queued, files []views.Attachment) {
	for _, r := range u.Runs.Waiting(thread) {
		q := views.Queued{Run: r.ID, Text: input.Text(r)}
		for _, f := range inputFiles(r) {
			q.Files += f.Name + "\n"
			files = append(files, f)
		}
		out = append(out, q)
	}
	return out, files
}

// inputFiles are the files that a run's message brings.
func inputFiles(r store.Run) []views.Attachment {
	var out []views.Attachment
	for _, m := range input.Of(r).Messages {
		if msg, err := agent.ParseMessage(m.Raw); err == nil && m.Human() {
			out = append(out, turns.UserMessage(msg).Files...)
		}
	}
	return out
}

// queued answers the script of a page that follows a run: only the queue has changed.
func (u *UI) queued(c echo.Context, thread string) error {
	var f views.Frame
	queue, _ := u.queue(thread)
	if err := f.Put(page.Localized(c), views.SwapOuter,
		"queue", chat.Queue(thread, queue, u.Runs.Active(thread) != "")); err != nil {
		return err
	}
	return page.SendFrame(c, http.StatusOK, f)
}

// unqueue is POST /ui/threads/:id/queue/:run/remove, and with /edit, which puts the text
// back into the message box.
func (u *UI) unqueue(edit bool) echo.HandlerFunc {
	return u.OnThread(func(c echo.Context, t store.Thread) error {
		ctx, id, run := c.Request().Context(), t.ID, page.Param(c, "run")
		r, delayed := u.delayed(id, run)
		if !delayed {
			var err error
			if r, err = u.waitingRun(id, run); err != nil {
				return u.refuse(c, err, "")
			}
		}
		if err := u.Runs.Rollback(ctx, id, run, true); err != nil && !errors.Is(err, runs.ErrNotCancelable) {
			return err
		}
		switch {
		case page.Scripted(c.Request()) && delayed:
			var f views.Frame
			if err := u.putLater(page.Localized(c), &f, id); err != nil {
				return err
			}
			return page.SendFrame(c, http.StatusOK, f)
		case page.Scripted(c.Request()):
			return u.queued(c, id)
		}
		text := ""
		if edit {
			text = input.Text(r)
		}
		return u.keepDraft(c, id, text)
	})
}

// errUnqueued means that a message is on its way already, or gone.
var errUnqueued = errors.New("the message does not wait any more")

func (u *UI) waitingRun(thread, run string) (store.Run, error) {
	for _, r := range u.Runs.Waiting(thread) {
		if r.ID == run {
			return r, nil
		}
	}
	return store.Run{}, errUnqueued
}

// sendNow is POST /ui/threads/:id/queue/:run/send: what is at work is stopped, and the
// message is next.
func (u *UI) sendNow(c echo.Context, t store.Thread) error {
	return u.act(c, t, func(ctx context.Context, id string, _ url.Values) error {
		err := u.Runs.Release(id, page.Param(c, "run"))
		if errors.Is(err, runs.ErrNotFound) {
			return errUnqueued
		}
		if err != nil {
			return err
		}
		if run := u.Runs.Active(id); run != page.Param(c, "run") {
			err = u.Runs.Cancel(ctx, id, run, false)
			if errors.Is(err, runs.ErrNotCancelable) || errors.Is(err, runs.ErrNotFound) {
				return nil // it has just ended
			}
		}
		return err
	})
}
