package page

import (
	"context"
	"errors"
	"path"
	"strings"
	"time"

	"github.com/labstack/echo/v4"

	"fawn/agent/threads"
	"fawn/store"
	"fawn/uploads"
	"fawn/views/markdown"
	"fawn/web/principal"
)

// A thread in a path is looked up, and checked to belong to the reader, only here: handlers are
// functions that receive it. A deleted chat is missing from that moment on, even while its deletion
// can be undone.

// OnThread returns the handler of a route that works on a thread.
func (s *Site) OnThread(h func(c echo.Context, t store.Thread) error) echo.HandlerFunc {
	return func(c echo.Context) error {
		t, err := s.OwnThread(c.Request().Context(), Param(c, "id"))
		if err != nil {
			return err
		}
		if t.Temporary() {
			if err := s.stays(c, t); err != nil {
				return err
			}
		}
		c.SetRequest(c.Request().WithContext(s.KnowingUploads(c.Request().Context())))
		return h(c, t)
	}
}

// temporaryThread is the context key for the id of the temporary thread on a page.
const temporaryThread = "temporary thread"

// ShowsTemporary makes a page report that its temporary thread is still open.
func ShowsTemporary(c echo.Context, thread string) { c.Set(temporaryThread, thread) }

// stays keeps a temporary thread that is asked for. A page without script says nothing more, so that only silence ends its
// thread.
func (s *Site) stays(c echo.Context, t store.Thread) error {
	ShowsTemporary(c, t.ID)
	until := s.DB.Now().Add(threads.StayTime)
	if strings.HasPrefix(c.Path(), "/workspace/") {
		until = time.Time{}
	}
	return s.DB.SetLeave(c.Request().Context(), t.Owner, t.ID, until)
}

// OnThreadID handles a route whose thread may not exist yet: files and choices can precede the first message.
func (s *Site) OnThreadID(h func(c echo.Context, id string) error) echo.HandlerFunc {
	return func(c echo.Context) error {
		id := Param(c, "id")
		if err := s.FreeID(c.Request().Context(), id); err != nil {
			return err
		}
		c.SetRequest(c.Request().WithContext(s.KnowingUploads(c.Request().Context())))
		return h(c, id)
	}
}

// OwnThread finds a thread of the reader's, or ErrNotFound.
func (s *Site) OwnThread(ctx context.Context, id string) (store.Thread, error) {
	return s.DB.ThreadOf(ctx, principal.Owner(ctx), id)
}

// FreeID refuses an id that no new thread of the reader can have, because of its form or because
// another thread has it.
func (s *Site) FreeID(ctx context.Context, id string) error {
	if !IsThreadID(id) {
		return store.ErrNotFound
	}
	t, err := s.DB.Thread(ctx, id)
	if err == nil && (t.Owner != principal.Owner(ctx) || !t.DeletedAt.IsZero()) {
		return store.ErrNotFound
	}
	if errors.Is(err, store.ErrNotFound) {
		return nil
	}
	return err
}

// IsThreadID reports whether a thread can have this id.
func IsThreadID(id string) bool {
	plain := func(r rune) bool {
		return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '-' || r == '_'
	}
	return id != "" && len(id) <= 64 && strings.IndexFunc(id, func(r rune) bool { return !plain(r) }) < 0
}

// KnowingUploads returns a context in which references to uploads become links.
func (s *Site) KnowingUploads(ctx context.Context) context.Context {
	return markdown.WithUploads(ctx, func(thread, name string) bool {
		if strings.Contains(name, "/") {
			return s.Known != nil && s.Known(ctx, principal.Owner(ctx), thread, name)
		}
		dir, err := s.Dirs.Open(thread)
		if err != nil {
			return false
		}
		defer dir.Close()
		info, err := dir.Lstat(path.Join(uploads.Folder, name))
		return err == nil && info.Mode().IsRegular()
	})
}
