package ui

import (
	"context"
	"errors"
	"net/http"

	"github.com/google/uuid"
	"github.com/labstack/echo/v4"

	"fawn/store"
	"fawn/views"
	"fawn/views/chat"
	"fawn/web/httpx"
	"fawn/web/principal"
	"fawn/web/ui/page"
)

// rate handles POST /ui/threads/:id/feedback: the reader's rating of an answer. A rating of 0 clears it.
func (u *UI) rate(c echo.Context, in store.Thread) error {
	ctx, id := c.Request().Context(), in.ID
	form, err := page.ReadForm(c.Request(), page.SmallForm)
	if err != nil {
		return err
	}
	t := views.Turn{Run: form.Get("run"), Answer: &views.Answer{ID: form.Get("message")}}
	switch form.Get("rating") {
	case "1":
		t.Rating = 1
	case "-1":
		t.Rating = -1
	case "0":
	default:
		return httpx.Errorf(http.StatusUnprocessableEntity, "rating must be 1, -1 or 0")
	}
	if run, err := u.DB.Run(ctx, t.Run); err != nil {
		return err
	} else if run.ThreadID != id {
		return store.ErrNotFound
	}
	if err := u.putRating(ctx, id, t); err != nil {
		return err
	}
	var f views.Frame
	if err := f.Put(page.Localized(c), views.SwapOuter, "rate-"+t.Answer.ID, chat.Rating(id, t)); err != nil {
		return err
	}
	return page.Frame(c, f, views.ThreadURL(id)+"#end-"+queryEscape(form.Get("turn")))
}

// putRating stores the rating of an answer, or deletes it with its comment.
func (u *UI) putRating(ctx context.Context, thread string, t views.Turn) error {
	if t.Rating != 0 {
		_, err := u.DB.AddFeedback(ctx,
			store.Feedback{ID: uuid.Must(uuid.NewV7()).String(), Owner: principal.Owner(ctx), Thread: thread,
				Run: t.Run, Message: t.Answer.ID, Rating: t.Rating}, true)
		return err
	}
	list, err := u.DB.Feedback(ctx, principal.Owner(ctx), thread, t.Run)
	if err != nil {
		return err
	}
	for _, f := range list {
		if f.Message != t.Answer.ID {
			continue
		}
		if err := u.DB.DeleteFeedback(ctx, principal.Owner(ctx), thread, t.Run, f.ID); err != nil &&
			!errors.Is(err, store.ErrNotFound) {
			return err
		}
	}
	return nil
}
