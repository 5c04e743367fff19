package ui

import (
	"context"
	"net/http"
	"strings"

	"github.com/labstack/echo/v4"

	"fawn/agent"
	"fawn/store"
	"fawn/views"
	"fawn/views/chat"
	"fawn/web/ui/conversation"
	"fawn/web/ui/page"
)

// own handles GET /ui/threads/:id/messages/:message, and with /edit after it the same as a form: one of the reader's
// messages in the conversation.
func (u *UI) own(edit bool) echo.HandlerFunc {
	return u.OnThread(func(c echo.Context, in store.Thread) error {
		id, message := in.ID, page.Param(c, "message")
		if !page.WantsFragment(c.Request()) {
			where := views.AtURL(id, message)
			if edit {
				where = views.EditURL(id, message) + "#u-" + message
			}
			return c.Redirect(http.StatusSeeOther, where)
		}
		v, err := u.Load(c.Request().Context(), id, "", conversation.Everything, message)
		if err != nil {
			return err
		}
		t := v.Turns.Find(message)
		if t == nil || t.User == nil {
			return store.ErrNotFound
		}
		user := *t.User
		user.Editing = edit
		return page.HTML(c, http.StatusOK, page.InLang(page.ReadPrefs(c.Request()).Lang, chat.User(id, user)))
	})
}

// branch handles POST /ui/threads/:id/branch: a new thread with everything up to the end of a turn.
func (u *UI) branch(c echo.Context, t store.Thread) error {
	ctx, id := c.Request().Context(), t.ID
	form, err := page.ReadForm(c.Request(), page.SmallForm)
	if err != nil {
		return err
	}
	ids, err := u.turnMessages(ctx, id, form.Get("message"))
	if err != nil {
		return err
	}
	b, err := u.Copier.Branch(ctx, id, ids, branchTitle(c, t.Title))
	if err != nil {
		return u.refuse(c, err, "")
	}
	where := views.ThreadURL(b.Thread.ID)
	return page.Frame(c, views.Frame{Location: where}, where)
}

// branchTitle names the chat that a branch continues, only once for nested branches; without a title it is empty.
func branchTitle(c echo.Context, title string) string {
	begin, end, _ := strings.Cut(page.Say(c, "thread.branchof"), "%s")
	bare := strings.TrimSuffix(strings.TrimPrefix(views.Unmarked(title), begin), end)
	if bare == "" {
		return ""
	}
	return page.Head(page.Say(c, "thread.branchof", bare), page.MaxTitle)
}

// turnMessages returns the ids of a person's message and of everything up to the next one.
func (u *UI) turnMessages(ctx context.Context, thread, message string) ([]string, error) {
	snap, err := u.DB.Snapshot(ctx, thread, "")
	if err != nil {
		return nil, err
	}
	var ids []string
	for _, row := range snap.Messages {
		if row.ID != message {
			if len(ids) == 0 {
				continue
			}
			m, err := agent.ParseMessage(row.Body)
			if err != nil {
				return nil, err
			}
			if m.Type == agent.TypeHuman && m.Genuine() && !m.Flag("hide_from_ui") {
				break
			}
		}
		ids = append(ids, row.ID)
	}
	if len(ids) == 0 {
		return nil, store.ErrNotFound
	}
	return ids, nil
}
