package ui

import (
	"context"
	"errors"
	"net/http"
	"net/url"

	"github.com/labstack/echo/v4"

	"fawn/agent/runs"
	"fawn/agent/runs/request"
	"fawn/store"
	"fawn/views"
	"fawn/views/chat"
	"fawn/web/ui/page"
)

// queued answers a script: only the queue has changed. A page that doesn't follow the active run yet does so from here on.
func (u *UI) queued(c echo.Context, thread string) error {
	f := views.Frame{Streamed: true, Running: u.Runs.Active(thread) != ""}
	queue, _ := u.Queue(thread)
	if err := f.Put(page.Localized(c), views.SwapOuter, "queue", chat.Queue(thread, queue, f.Running)); err != nil {
		return err
	}
	return page.SendFrame(c, http.StatusOK, f)
}

// unqueue handles POST /ui/threads/:id/queue/:run/remove, and with /edit, which puts the text back into the message
// box.
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
			if err := u.PutLater(page.Localized(c), &f, id); err != nil {
				return err
			}
			return page.SendFrame(c, http.StatusOK, f)
		case page.Scripted(c.Request()):
			return u.queued(c, id)
		}
		text := ""
		if edit {
			text = request.StartText(r)
		}
		return u.keepDraft(c, id, text)
	})
}

// errUnqueued means that a message is on its way already, or gone.
var errUnqueued = errors.New("the message is no longer queued")

func (u *UI) waitingRun(thread, run string) (store.Run, error) {
	for _, r := range u.Runs.Waiting(thread) {
		if r.ID == run {
			return r, nil
		}
	}
	return store.Run{}, errUnqueued
}

// sendNow handles POST /ui/threads/:id/queue/:run/send: it stops the active run and makes the message next.
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
