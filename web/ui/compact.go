package ui

import (
	"context"
	"errors"
	"net/http"
	"slices"

	"github.com/labstack/echo/v4"

	"fawn/agent"
	"fawn/agent/lead"
	"fawn/agent/runs"
	"fawn/store"
	"fawn/views"
	"fawn/views/chat"
	"fawn/views/i18n"
	"fawn/views/part"
	"fawn/web/ui/page"
)

// Compactor shortens a conversation for the model: lead.Builder.Compact.
type Compactor = func(ctx context.Context, s *agent.State, w lead.Wish) (agent.State, error)

// errCompact means that a chat cannot be shortened while a run works.
var errCompact = errors.New("a run is under way")

// compact is POST /ui/threads/:id/compact: the older part of the chat is hidden from the
// model. What it came to is said on the page of what the chat took, or with to=chat in the
// chat itself.
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

// compactHere shortens a chat and says so in it. text is what stood in the message box.
func (u *UI) compactHere(c echo.Context, t store.Thread, text string) error {
	ctx, id := c.Request().Context(), t.ID
	was, err := u.load(ctx, id, "", everything, "")
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
	now, err := u.load(ctx, id, "", everything, "")
	if err != nil {
		return err
	}
	_, f, err := newScreen(page.Localized(c), was.scene(false)).show(now.scene(false))
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

// What a compaction came to, as the address of the page that says it has it.
const (
	didCompact = "compacted"
	didNothing = "nothing"
)

// shorten compacts a chat by the same code as the API.
func (u *UI) shorten(c echo.Context, id string) (did string, err error) {
	if u.Compact == nil {
		return "", lead.ErrNoCompaction
	}
	result, err := lead.Shorten(c.Request().Context(), u.Runs, u.Compact, lead.Wish{Thread: id, Force: true})
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

// compacted is what a page says that was led to after a compaction or a restart of the
// sandbox; nil on others.
func (u *UI) compacted(c echo.Context, v *conversation) *views.Notice {
	return u.outcomeOf(c, c.QueryParam("did"), v)
}

func (u *UI) outcomeOf(c echo.Context, did string, v *conversation) *views.Notice {
	lang := page.ReadPrefs(c.Request()).Lang
	switch {
	case did == didRestart:
		return &views.Notice{Kind: views.NoticeGood, Text: i18n.T(lang, "sandbox.restarted")}
	case did == didIdle:
		return &views.Notice{Kind: views.NoticeInfo, Text: i18n.T(lang, "sandbox.restarted.idle")}
	case did == didNothing:
		return &views.Notice{Kind: views.NoticeInfo, Text: i18n.T(lang, "compact.none")}
	case did == didCompact && v.hidden > 0:
		return &views.Notice{Kind: views.NoticeGood, Text: i18n.Count(lang, "compact.done", v.hidden)}
	case did == didCompact && len(v.short.Cut) > 0:
		return &views.Notice{Kind: views.NoticeGood, Text: i18n.T(lang, "compact.done.outputs")}
	}
	return nil
}

// isGone tells whether a row is not stored any more.
func isGone(err error) bool { return errors.Is(err, store.ErrNotFound) }

// hide takes over how the model reads the conversation of a snapshot.
func (v *conversation) hide(snap store.Snapshot) error {
	v.short, v.hidden = agent.View{}, 0
	if err := decodeField(snap, "view", &v.short); err != nil {
		return err
	}
	if v.short.From != "" {
		v.hidden = max(0, slices.IndexFunc(snap.Messages, func(r store.MessageRow) bool { return r.ID == v.short.From }))
	}
	return nil
}

// cut is where the line stands from which on the model reads word for word.
func (v *conversation) cut() views.Shortened {
	if v.short.From != "" {
		turn := v.turns.Owner[v.short.From]
		if turn == "" || v.hidden == 0 {
			return views.Shortened{}
		}
		text := v.short.Plain
		if text == "" {
			text = v.short.Summary
		}
		return views.Shortened{Turn: turn, Inside: turn != v.short.From, Summary: text}
	}
	for _, id := range slices.Backward(v.short.Cut) {
		if turn := v.turns.Owner[id]; turn != "" {
			return views.Shortened{Turn: turn, Outputs: true}
		}
	}
	return views.Shortened{}
}

// reread reads how the model reads the conversation after a step that changed it.
func (u *UI) reread(ctx context.Context, v *conversation) error {
	at := v.shortAt
	if v.shortAt = ""; at == "" {
		return nil
	}
	snap, err := u.DB.Snapshot(ctx, v.thread.ID, at)
	if isGone(err) {
		return nil
	}
	if err != nil {
		return err
	}
	return v.hide(snap)
}

// cut brings the line up to date from which on the model reads word for word.
func (d *screen) cut(was, s scene) error {
	if was.cut == s.cut {
		return nil
	}
	if was.cut.Turn != "" && was.cut.Turn != s.cut.Turn {
		d.frame.Do(views.SwapInner, "cut-"+was.cut.Turn, "")
	}
	if s.cut.Turn == "" {
		return nil
	}
	return d.put(views.SwapInner, "cut-"+s.cut.Turn, chat.Cut(s.thread, s.cut))
}
