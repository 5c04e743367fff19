package api

import (
	"errors"
	"net/http"

	"github.com/labstack/echo/v4"

	"fawn/store"
	"fawn/web/httpx"
)

// What a path names is found, and found to be the asker's, here and nowhere else: handlers of
// threads and runs are made of functions that get what they work on. A thread that was deleted
// is not there from that moment on, also while its deletion can be undone.

// onThread is the handler of a route that works on a thread.
func (m mount) onThread(h func(c echo.Context, t store.Thread) error) echo.HandlerFunc {
	return func(c echo.Context) error {
		id := pathParam(c, "tid")
		if !m.validID(id) {
			return m.badID("path", id)
		}
		t, err := m.threadByID(c, id)
		if err != nil {
			return err
		}
		return h(c, t)
	}
}

// onThreadID is the handler of a route whose thread may come later: files and the first run
// can be there before it.
func (m mount) onThreadID(h func(c echo.Context, thread string) error) echo.HandlerFunc {
	return func(c echo.Context) error {
		id := pathParam(c, "tid")
		if !m.validID(id) {
			return m.badID("path", id)
		}
		if err := m.free(c, id); err != nil {
			return err
		}
		return h(c, id)
	}
}

// without is the handler of a route which serves the same as one of onThreadID, but names no
// thread.
func (m mount) without(h func(c echo.Context, thread string) error) echo.HandlerFunc {
	return func(c echo.Context) error { return h(c, "") }
}

// onRun is the handler of a route that works on a run, of the thread in the path if one is
// there.
func (m mount) onRun(h func(c echo.Context, r store.Run) error) echo.HandlerFunc {
	return func(c echo.Context) error {
		thread, id := pathParam(c, "tid"), pathParam(c, "rid")
		if thread != "" && !m.validID(thread) {
			return m.badID("path", thread)
		}
		r, err := m.runByID(c, id)
		if errors.Is(err, store.ErrNotFound) || err == nil && thread != "" && r.ThreadID != thread {
			return httpx.Errorf(http.StatusNotFound, "Run %s not found", cut(id, 80))
		}
		if err != nil {
			return err
		}
		return h(c, r)
	}
}

// runByID finds a run on a thread of the asker's, or ErrNotFound.
func (a *API) runByID(c echo.Context, id string) (store.Run, error) {
	r, err := a.DB.Run(c.Request().Context(), id)
	if err != nil {
		return r, err
	}
	_, err = a.DB.ThreadOf(c.Request().Context(), a.owner(c), r.ThreadID)
	if err == nil && a.foreign(c, r.Owner) {
		err = store.ErrNotFound
	}
	return r, err
}

// threadByID finds a thread of the asker's, or a 404 that says which.
func (a *API) threadByID(c echo.Context, id string) (store.Thread, error) {
	t, err := a.DB.ThreadOf(c.Request().Context(), a.owner(c), id)
	if errors.Is(err, store.ErrNotFound) {
		return t, noThread(id)
	}
	return t, err
}

// free refuses a thread that is there and not the asker's.
func (a *API) free(c echo.Context, id string) error {
	t, err := a.DB.Thread(c.Request().Context(), id)
	if errors.Is(err, store.ErrNotFound) {
		return nil
	}
	if err == nil && (a.foreign(c, t.Owner) || !t.DeletedAt.IsZero()) {
		err = noThread(id)
	}
	return err
}
