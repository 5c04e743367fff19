package ui

import (
	"context"
	"errors"

	"github.com/labstack/echo/v4"

	"fawn/store"
	"fawn/web/principal"
)

// A thread of a path is found, and found to be the reader's, here and nowhere else: handlers
// are made of functions that get it. A chat that was deleted is not there from that moment on,
// also while its deletion can be undone.

// onThread is the handler of a route that works on a thread.
func (u *UI) onThread(h func(c echo.Context, t store.Thread) error) echo.HandlerFunc {
	return func(c echo.Context) error {
		t, err := u.mine(c.Request().Context(), param(c, "id"))
		if err != nil {
			return err
		}
		c.SetRequest(c.Request().WithContext(u.knowingUploads(c.Request().Context())))
		return h(c, t)
	}
}

// onThreadID is the handler of a route whose thread may come later: files and choices can be
// there before the first message.
func (u *UI) onThreadID(h func(c echo.Context, id string) error) echo.HandlerFunc {
	return func(c echo.Context) error {
		id := param(c, "id")
		if err := u.free(c.Request().Context(), id); err != nil {
			return err
		}
		c.SetRequest(c.Request().WithContext(u.knowingUploads(c.Request().Context())))
		return h(c, id)
	}
}

// mine finds a thread of the reader's, or ErrNotFound.
func (u *UI) mine(ctx context.Context, id string) (store.Thread, error) {
	return u.DB.ThreadOf(ctx, principal.Owner(ctx), id)
}

// free refuses an id that no thread of the reader's can have, because of its form or because
// somebody else has it.
func (u *UI) free(ctx context.Context, id string) error {
	if !isThreadID(id) {
		return store.ErrNotFound
	}
	t, err := u.DB.Thread(ctx, id)
	if err == nil && (t.Owner != principal.Owner(ctx) || !t.DeletedAt.IsZero()) {
		return store.ErrNotFound
	}
	if errors.Is(err, store.ErrNotFound) {
		return nil
	}
	return err
}
