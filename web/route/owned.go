package route

import (
	"errors"
	"net/http"

	"github.com/labstack/echo/v4"

	"fawn/store"
	"fawn/web/httpx"
)

// Objects in a path are looked up, and checked to belong to the caller, only here: handlers of threads and runs are
// functions that receive their object. A deleted thread is missing from that moment on, even while its deletion can be
// undone.

// OnThread returns the handler of a route that works on a thread.
func (p *Parts) OnThread(h func(c echo.Context, t store.Thread) error) echo.HandlerFunc {
	return func(c echo.Context) error {
		id := Param(c, "tid")
		if !p.ValidID(id) {
			return p.BadID("path", id)
		}
		t, err := p.ThreadByID(c, id)
		if err != nil {
			return err
		}
		return h(c, t)
	}
}

// OnThreadID returns the handler of a route whose thread may not exist yet: files and the first run can precede it.
func (p *Parts) OnThreadID(h func(c echo.Context, thread string) error) echo.HandlerFunc {
	return p.OnStart(func(c echo.Context, thread string) error {
		if err := p.Free(c, thread); err != nil {
			return err
		}
		return h(c, thread)
	})
}

// OnStart is OnThreadID for a route that starts a run: starting it refuses another owner's thread.
func (p *Parts) OnStart(h func(c echo.Context, thread string) error) echo.HandlerFunc {
	return func(c echo.Context) error {
		id := Param(c, "tid")
		if !p.ValidID(id) {
			return p.BadID("path", id)
		}
		return h(c, id)
	}
}

// Without returns the handler of a route which serves the same as one of onThreadID, but names no thread.
func (p *Parts) Without(h func(c echo.Context, thread string) error) echo.HandlerFunc {
	return func(c echo.Context) error { return h(c, "") }
}

// OnRun returns the handler of a route that works on a run, of the thread in the path if there is one.
func (p *Parts) OnRun(h func(c echo.Context, r store.Run) error) echo.HandlerFunc {
	return func(c echo.Context) error {
		thread, id := Param(c, "tid"), Param(c, "rid")
		if thread != "" && !p.ValidID(thread) {
			return p.BadID("path", thread)
		}
		r, err := p.RunByID(c, id)
		if errors.Is(err, store.ErrNotFound) || err == nil && thread != "" && r.ThreadID != thread {
			return httpx.Errorf(http.StatusNotFound, "Run %s not found", Cut(id, 80))
		}
		if err != nil {
			return err
		}
		return h(c, r)
	}
}

// RunByID finds a run on a thread of the asker's, or ErrNotFound.
func (p *Parts) RunByID(c echo.Context, id string) (store.Run, error) {
	r, err := p.DB.Run(c.Request().Context(), id)
	if err != nil {
		return r, err
	}
	_, err = p.DB.ThreadOf(c.Request().Context(), p.Owner(c), r.ThreadID)
	if err == nil && p.Foreign(c, r.Owner) {
		err = store.ErrNotFound
	}
	return r, err
}

// ThreadByID returns a thread of the caller's, or a 404 that names it.
func (p *Parts) ThreadByID(c echo.Context, id string) (store.Thread, error) {
	t, err := p.DB.ThreadOf(c.Request().Context(), p.Owner(c), id)
	if errors.Is(err, store.ErrNotFound) {
		return t, NoThread(id)
	}
	return t, err
}

// Free refuses another owner's existing thread.
func (p *Parts) Free(c echo.Context, id string) error {
	t, err := p.DB.Thread(c.Request().Context(), id)
	if errors.Is(err, store.ErrNotFound) {
		return nil
	}
	if err == nil && (p.Foreign(c, t.Owner) || !t.DeletedAt.IsZero()) {
		err = NoThread(id)
	}
	return err
}

// NoThread reports that a thread doesn't exist.
func NoThread(id string) error {
	return httpx.Errorf(http.StatusNotFound, "Thread with ID %s not found", id)
}

// NoAssistant reports that an assistant doesn't exist.
func NoAssistant(id string) error {
	return httpx.Errorf(http.StatusNotFound,
		"No assistant found for %q. Make sure the assistant ID is for a valid assistant or a valid graph ID.", Cut(id, 80))
}
