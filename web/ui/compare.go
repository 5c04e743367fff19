package ui

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/labstack/echo/v4"

	"fawn/agent/config"
	"fawn/agent/runs"
	"fawn/agent/threads"
	"fawn/store"
	"fawn/views"
	"fawn/views/chat"
	"fawn/web/principal"
	"fawn/web/ui/conversation"
	"fawn/web/ui/page"
)

// compare handles POST /ui/threads/:id/compare: two or three models answer the message of the box, side by side. The
// chat need not have begun.
func (u *UI) compare(c echo.Context, id string) error {
	ctx := c.Request().Context()
	form, err := u.messageForm(c, id)
	text := page.PlainText(form.Get("text"))
	var own *store.Thread // nil for a chat that has not begun
	if err == nil {
		t, missing := u.OwnThread(ctx, id)
		if missing == nil {
			own = &t
		} else if !errors.Is(missing, store.ErrNotFound) {
			err = missing
		}
	}
	var made store.Comparison
	if err == nil {
		made, err = u.startComparison(c, id, own, text, form)
	}
	if err == nil {
		return page.Frame(c, views.Frame{Location: views.CompareURL(made.ID)}, views.CompareURL(made.ID))
	}
	problem, status := u.refusal(c, err)
	switch {
	case errors.Is(err, threads.ErrTemporary):
		problem, status = page.Say(c, "compare.temporary"), http.StatusConflict
	case errors.Is(err, threads.ErrSides):
		problem, status = page.Say(c, "compare.wrong", threads.MostSides), http.StatusUnprocessableEntity
	case problem == "":
		return err
	}
	switch {
	case page.Scripted(c.Request()):
		return page.SendFrame(c, status, views.Frame{Error: problem})
	case own == nil:
		return u.welcomePage(c, id, boxDraft{text: text, problem: problem, status: status,
			project: form.Get("project"), temporary: form.Get("temporary") != ""})
	}
	return u.threadPage(c, boxDraft{text: text, problem: problem, status: status})
}

// startComparison starts a run for each model that the form names.
func (u *UI) startComparison(c echo.Context, id string, own *store.Thread, text string, form url.Values) (store.Comparison, error) {
	ctx := c.Request().Context()
	title, models := "", form["compare"]
	if own != nil {
		title = own.Title
	}
	if form.Get("temporary") != "" || own != nil && own.Temporary() {
		return store.Comparison{}, threads.ErrTemporary
	}
	usable := u.Models(ctx)
	for _, name := range models {
		if !slices.ContainsFunc(usable, func(m config.Model) bool { return m.Name == name }) {
			return store.Comparison{}, threads.ErrSides
		}
	}
	input, err := u.message(c, id, text, form)
	if err != nil {
		return store.Comparison{}, err
	}
	named := func(model string) string {
		name := views.Unmarked(cmp.Or(title, page.FirstWords(text)))
		if name == "" {
			return ""
		}
		return page.Head(name+" ("+u.modelLabel(model)+")", page.MaxTitle)
	}
	made, err := u.Copier.Compare(ctx, u.Runs, principal.Owner(ctx), id, models, input, named,
		func(_ context.Context, thread, model string, input json.RawMessage) error {
			one := url.Values{"model": {model}}
			for _, key := range []string{"mode", "effort", "agent", "project", "memory", "memory-shown", "knowledge", "knowledge-shown"} {
				if form.Has(key) {
					one[key] = form[key]
				}
			}
			_, err := u.begin(c, runs.Request{Thread: thread, Input: input}, one)
			return err
		})
	if errors.Is(err, runs.ErrBusy) {
		err = conversation.ErrBusy
	}
	return made, err
}

// modelLabel returns the display name of a configured model.
func (u *UI) modelLabel(name string) string {
	if m, ok := u.Config.Current().Model(name); ok {
		return cmp.Or(m.DisplayName, m.Name)
	}
	return name
}

// comparison handles GET /workspace/compare/:id.
func (u *UI) comparison(c echo.Context) error {
	ctx := c.Request().Context()
	one, err := u.DB.Comparison(ctx, principal.Owner(ctx), page.Param(c, "id"))
	if err != nil {
		return err
	}
	p := views.ComparePage{ID: one.ID, Chosen: one.Chosen}
	if p.Shell, err = u.Shell(c, views.NavNone, ""); err != nil {
		return err
	}
	for _, s := range one.Sides {
		side := views.CompareSide{ThreadID: s.Thread, Model: u.modelLabel(s.Model)}
		t, err := u.OwnThread(ctx, s.Thread)
		switch {
		case errors.Is(err, store.ErrNotFound):
			side.Gone = true
		case err != nil:
			return err
		default:
			p.Title = cmp.Or(p.Title, strings.TrimSuffix(t.Title, " ("+side.Model+")"))
		}
		p.Sides = append(p.Sides, side)
	}
	return page.HTML(c, http.StatusOK, chat.ComparePage(p))
}

// column handles GET /ui/threads/:id/column: a chat without a message box, inside the page of a comparison.
func (u *UI) column(c echo.Context, t store.Thread) error {
	v, err := u.Load(c.Request().Context(), t.ID, "", conversation.Everything, "")
	if err != nil {
		return err
	}
	prefs := page.ReadPrefs(c.Request())
	p := views.ThreadPage{Shell: views.Shell{Lang: prefs.Lang, Theme: prefs.Theme, Size: prefs.Size, NoKeys: true, Now: u.DB.Now()},
		Thread: v.Page(v.Scene(false))}
	c.Response().Before(func() {
		c.Response().Header().Set("Content-Security-Policy",
			strings.Replace(page.Policy, "frame-ancestors 'none'", "frame-ancestors 'self'", 1))
	})
	return page.HTML(c, http.StatusOK, chat.ColumnPage(p))
}

// chooseSide handles POST /ui/compare/:id: the chat continues with one of the answers. The others become separate
// chats, or go to the trash.
func (u *UI) chooseSide(c echo.Context) error {
	form, err := page.ReadForm(c.Request(), page.SmallForm)
	if err != nil {
		return err
	}
	ctx, id, thread := c.Request().Context(), page.Param(c, "id"), form.Get("thread")
	owner := principal.Owner(ctx)
	if _, err := u.OwnThread(ctx, thread); err != nil {
		return err
	}
	if err := u.DB.ChooseSide(ctx, owner, id, thread); err != nil {
		return err
	}
	where := views.ThreadURL(thread)
	if form.Get("delete") == "" {
		return page.Frame(c, views.Frame{Location: where}, where)
	}
	one, err := u.DB.Comparison(ctx, owner, id)
	if err != nil {
		return err
	}
	var others []string
	for _, s := range one.Sides {
		if _, err := u.OwnThread(ctx, s.Thread); s.Thread != thread && err == nil {
			others = append(others, s.Thread)
		}
	}
	if len(others) == 0 {
		return page.Frame(c, views.Frame{Location: where}, where)
	}
	return u.chats.Removed(c, where, others...)
}
