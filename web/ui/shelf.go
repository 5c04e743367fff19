package ui

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"slices"
	"strings"

	"github.com/labstack/echo/v4"

	"fawn/agent"
	"fawn/agent/threads"
	"fawn/store"
	"fawn/views"
	"fawn/views/chat"
	"fawn/web/principal"
	"fawn/web/ui/chats"
	"fawn/web/ui/page"
)

const (
	// maxTags limits the tags of a chat, maxTag the size of one in bytes.
	maxTags = 20
	maxTag  = 120
)

// here handles POST /ui/threads/:id/here: a page shows a temporary chat, or with left no longer. With new the chat may
// have to be made, so that files which are uploaded before the first message go with it.
func (u *UI) here(c echo.Context, id string) error {
	form, err := page.ReadForm(c.Request(), page.SmallForm)
	if err != nil {
		return err
	}
	ctx := c.Request().Context()
	t, err := u.OwnThread(ctx, id)
	if errors.Is(err, store.ErrNotFound) && form.Get("new") != "" && form.Get("left") == "" {
		if err = u.makeTemporary(ctx, id); err == nil {
			t, err = u.OwnThread(ctx, id)
		}
	}
	if err != nil {
		return err
	}
	until := u.DB.Now().Add(threads.StayTime)
	if form.Get("left") != "" {
		until = u.DB.Now().Add(threads.LeaveTime)
	}
	if err := u.DB.SetLeave(ctx, t.Owner, t.ID, until); err != nil {
		return err
	}
	return c.NoContent(http.StatusNoContent)
}

// makeTemporary stores a temporary chat without messages, unless it exists.
func (u *UI) makeTemporary(ctx context.Context, id string) error {
	now := u.DB.Now()
	t := store.Thread{ID: id, Owner: principal.Owner(ctx), Metadata: json.RawMessage(`{"` + store.TemporaryKey + `":true}`),
		CreatedAt: now, UpdatedAt: now, StateUpdatedAt: now}
	err := u.DB.Commit(ctx, store.Batch{Thread: &t, NewThread: true})
	if errors.Is(err, store.ErrExists) {
		return u.FreeID(ctx, id)
	}
	return err
}

// keep handles POST /ui/threads/:id/keep: a temporary chat becomes an ordinary one.
func (u *UI) keep(c echo.Context, t store.Thread) error {
	err := u.DB.Commit(c.Request().Context(), store.Batch{ThreadID: t.ID, Patch: &store.ThreadPatch{Touch: true,
		Merge: json.RawMessage(`{"` + store.TemporaryKey + `":false}`)}})
	if err != nil {
		return err
	}
	return page.Frame(c, views.Frame{Location: views.ThreadURL(t.ID)}, views.ThreadURL(t.ID))
}

// archive handles POST /ui/threads/:id/archive. It doesn't count as an update: the thread keeps its place among the
// recent ones.
func (u *UI) archive(c echo.Context, t store.Thread) error {
	form, err := page.ReadForm(c.Request(), page.SmallForm)
	if err != nil {
		return err
	}
	if err := u.mark(c.Request().Context(), t, store.ArchivedKey, form.Get("archived") == "true"); err != nil {
		return err
	}
	where := chats.Back(c, t.ID, views.ThreadURL(t.ID))
	return page.Frame(c, views.Frame{Location: where}, where)
}

// mark writes one member of a thread's metadata.
func (u *UI) mark(ctx context.Context, t store.Thread, name string, value any) error {
	merge, err := agent.Encode(map[string]any{name: value})
	if err != nil {
		return err
	}
	return u.DB.Commit(ctx, store.Batch{ThreadID: t.ID, Patch: &store.ThreadPatch{Merge: merge}})
}

// tags handles GET /ui/threads/:id/tags.
func (u *UI) tags(c echo.Context, t store.Thread) error { return u.tagsPage(c, t, http.StatusOK, "") }

func (u *UI) tagsPage(c echo.Context, t store.Thread, status int, problem string) (err error) {
	p := views.TagsPage{Modal: page.WantsFragment(c.Request()), ThreadID: t.ID, Tags: t.Tags(), Problem: problem}
	if p.Shell, err = u.Shell(c, views.NavNone, t.ID); err != nil {
		return err
	}
	all, err := u.DB.Tags(c.Request().Context(), t.Owner)
	if err != nil {
		return err
	}
	for _, tag := range all {
		if !hasTag(p.Tags, tag) {
			p.Known = append(p.Known, tag)
		}
	}
	return page.HTML(c, status, chat.TagsPage(p))
}

func hasTag(tags []string, tag string) bool {
	return slices.ContainsFunc(tags, func(t string) bool { return store.Fold(t) == store.Fold(tag) })
}

// changeTags handles POST /ui/threads/:id/tags: a tag is added or removed.
func (u *UI) changeTags(c echo.Context, t store.Thread) error {
	form, err := page.ReadForm(c.Request(), page.SmallForm)
	if err != nil {
		return err
	}
	tags := slices.Clone(t.Tags())
	if gone := form.Get("remove"); gone != "" {
		tags = slices.DeleteFunc(tags, func(tag string) bool { return tag == gone })
	}
	// Spaces would end the word of a search.
	add := strings.Join(strings.Fields(page.OneLine(page.Head(page.PlainText(form.Get("add")), maxTag))), "-")
	add = strings.TrimLeft(add, "#")
	switch {
	case add == "" || hasTag(tags, add):
	case len(tags) >= maxTags:
		return u.tagsPage(c, t, http.StatusUnprocessableEntity, page.Say(c, "tags.many", maxTags))
	default:
		tags = append(tags, add)
	}
	if tags == nil {
		tags = []string{}
	}
	if err := u.mark(c.Request().Context(), t, store.TagsKey, tags); err != nil {
		return err
	}
	return c.Redirect(http.StatusSeeOther, views.ActionURL(t.ID, "tags"))
}

// memoryUse reports whether a chat uses memory. t is nil for a new one.
func (u *UI) memoryUse(ctx context.Context, thread string, t *store.Thread) (views.MemoryUse, error) {
	if u.Memory == nil || !u.Config.Current().File.Memory.Enabled {
		return views.MemoryNone, nil
	}
	if t != nil && t.Temporary() {
		return views.MemoryTemporary, nil
	}
	if muted, err := u.Memory.Muted(ctx, principal.Owner(ctx)); err != nil || muted {
		return views.MemoryMuted, err
	}
	if off, err := u.Memory.Off(ctx, thread); err != nil || off {
		return views.MemoryOff, err
	}
	return views.MemoryOn, nil
}

// switchMemory applies the message box's switch to a chat's memory.
func (u *UI) switchMemory(ctx context.Context, thread string, use bool) error {
	if u.Memory == nil {
		return nil
	}
	off, err := u.Memory.Off(ctx, thread)
	if err != nil || off != use {
		return err
	}
	return u.Memory.SetOff(ctx, thread, !use)
}
