package ui

import (
	"context"
	"errors"
	"net/http"

	"github.com/labstack/echo/v4"

	"fawn/agent"
	"fawn/agent/lead"
	"fawn/agent/runs"
	"fawn/store"
	"fawn/views"
	"fawn/views/i18n"
	"fawn/views/part"
	"fawn/web/principal"
	"fawn/web/ui/conversation"
	"fawn/web/ui/page"
)

// Compactor shortens a conversation for the model: lead.Builder.Compact.
type Compactor = func(ctx context.Context, s *agent.State, w lead.Wish) (agent.State, error)

// errCompact means that a chat cannot be shortened while a run works.
var errCompact = errors.New("a run is in progress")

// compact handles POST /ui/threads/:id/compact: it hides the older part of the chat from the model. The result is shown
// on the usage page, or with to=chat in the chat.
func (u *UI) compact(c echo.Context, t store.Thread) error {
	form, err := page.ReadForm(c.Request(), page.SmallForm)
	if err != nil {
		return err
	}
	if form.Get("to") == "chat" {
		return u.compactHere(c, t, "")
	}
	did, err := u.shorten(c, t.ID)
	problem, status := u.refusal(c, err)
	switch {
	case err == nil:
		return c.Redirect(http.StatusSeeOther, views.UsageURL(t.ID)+"?did="+did)
	case problem == "":
		return err
	case page.WantsFrame(c.Request()):
		return page.SendFrame(c, status, views.Frame{Error: problem})
	}
	return u.usagePage(c, t, &views.Notice{Kind: views.NoticeError, Text: problem}, status)
}

// compactHere compacts a chat and reports it there. text is the message box's text.
func (u *UI) compactHere(c echo.Context, t store.Thread, text string) error {
	ctx, id := c.Request().Context(), t.ID
	was, err := u.Load(ctx, id, "", conversation.Everything, "")
	if err != nil {
		return err
	}
	did, err := u.shorten(c, t.ID)
	if err != nil {
		return u.refuse(c, err, text)
	}
	if !page.Scripted(c.Request()) {
		return c.Redirect(http.StatusSeeOther, views.ThreadURL(id)+"?did="+did)
	}
	now, err := u.Load(ctx, id, "", conversation.Everything, "")
	if err != nil {
		return err
	}
	_, f, err := conversation.NewScreen(page.Localized(c), was.Scene(false)).Show(now.Scene(false))
	if err != nil {
		return err
	}
	toast := views.Toast{Kind: views.NoticeGood, Text: page.Say(c, "compact.none")}
	if notice := u.outcomeOf(c, did, now); notice != nil {
		toast.Text, f.Say = notice.Text, notice.Text
	}
	if err := f.Put(page.Localized(c), views.SwapAppend, "toasts", part.Toast(toast)); err != nil {
		return err
	}
	return page.SendFrame(c, http.StatusOK, f)
}

// Outcomes of a compaction, in the address of the page that shows them.
const (
	didCompact = "compacted"
	didNothing = "nothing"
)

// shorten compacts a chat by the same code as the API.
func (u *UI) shorten(c echo.Context, id string) (did string, err error) {
	if u.Compact == nil {
		return "", lead.ErrNoCompaction
	}
	result, err := lead.Shorten(c.Request().Context(), u.Runs, u.Compact, lead.Wish{Owner: principal.Owner(c.Request().Context()), Thread: id, Force: true})
	switch {
	case errors.Is(err, runs.ErrBusy):
		return "", errCompact
	case err != nil:
		return "", err
	case result.Done:
		return didCompact, nil
	}
	return didNothing, nil
}

// compacted returns the notice of a page after a compaction or a restart of the sandbox; nil on other pages.
func (u *UI) compacted(c echo.Context, v *conversation.View) *views.Notice {
	return u.outcomeOf(c, c.QueryParam("did"), v)
}

func (u *UI) outcomeOf(c echo.Context, did string, v *conversation.View) *views.Notice {
	lang := page.ReadPrefs(c.Request()).Lang
	switch {
	case did == didRestart:
		return &views.Notice{Kind: views.NoticeGood, Text: i18n.T(lang, "sandbox.restarted")}
	case did == didIdle:
		return &views.Notice{Kind: views.NoticeInfo, Text: i18n.T(lang, "sandbox.restarted.idle")}
	case did == didNothing:
		return &views.Notice{Kind: views.NoticeInfo, Text: i18n.T(lang, "compact.none")}
	case did == didCompact && v.Hidden > 0:
		return &views.Notice{Kind: views.NoticeGood, Text: i18n.Count(lang, "compact.done", v.Hidden)}
	case did == didCompact && len(v.Short.Cut) > 0:
		return &views.Notice{Kind: views.NoticeGood, Text: i18n.T(lang, "compact.done.outputs")}
	}
	return nil
}
