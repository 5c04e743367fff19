package ui

import (
	"net/http"
	"slices"
	"strings"

	"github.com/labstack/echo/v4"

	"fawn/memory"
	"fawn/store"
	"fawn/views"
	"fawn/views/chat"
	"fawn/web/ui/page"
	"fawn/web/ui/settings"
	"fawn/web/ui/turns"
)

// threadMemory handles GET /ui/threads/:id/memory: a chat's use of memory. With run it shows the memories used by that
// run's answer.
func (u *UI) threadMemory(c echo.Context, t store.Thread) error {
	if u.Memory == nil {
		return store.ErrNotFound
	}
	ctx := c.Request().Context()
	p := views.ThreadMemoryPage{Modal: page.WantsFragment(c.Request()), ThreadID: t.ID,
		Disabled: !u.Config.Current().File.Memory.Enabled, Forgot: c.QueryParam("forgot") != ""}
	var err error
	if p.Shell, err = u.Shell(c, views.NavNone, t.ID); err != nil {
		return err
	}
	if p.Off, err = u.Memory.Off(ctx, t.ID); err != nil {
		return err
	}
	if p.Use, err = u.memoryUse(ctx, t.ID, &t); err != nil {
		return err
	}
	facts, err := u.Memory.Known(ctx, t.Owner, t.ID)
	if err != nil {
		return err
	}
	if run := c.QueryParam("run"); run != "" {
		p.Answer = true
		if err := u.answerMemories(c, &p, t, run, facts); err != nil {
			return err
		}
		return page.HTML(c, http.StatusOK, chat.ThreadMemoryPage(p))
	}
	for _, f := range facts {
		if f.Thread() == t.ID {
			p.Taught = append(p.Taught, u.settings.MemoryFact(c, f))
		}
	}
	return page.HTML(c, http.StatusOK, chat.ThreadMemoryPage(p))
}

// answerMemories fills in the memories that one run of a thread used.
func (u *UI) answerMemories(c echo.Context, p *views.ThreadMemoryPage, t store.Thread, run string,
	facts []memory.Fact) error {
	r, err := u.DB.Run(c.Request().Context(), run)
	if err != nil {
		return err
	}
	if r.ThreadID != t.ID {
		return store.ErrNotFound
	}
	n, ids := turns.UsedMemories(r)
	for _, id := range ids {
		if strings.HasPrefix(id, memory.SummaryID) {
			p.Summary = true
			n--
			continue
		}
		if i := slices.IndexFunc(facts, func(f memory.Fact) bool { return f.ID == id }); i >= 0 {
			p.Used = append(p.Used, u.settings.MemoryFact(c, facts[i]))
		}
	}
	p.Gone = n - len(p.Used)
	return nil
}

// changeThreadMemory handles POST /ui/threads/:id/memory: it switches a chat's memory on or off, deletes facts learned
// from the chat, or undoes that.
func (u *UI) changeThreadMemory(c echo.Context, t store.Thread) error {
	if u.Memory == nil {
		return store.ErrNotFound
	}
	form, err := page.ReadForm(c.Request(), page.SmallForm)
	if err != nil {
		return err
	}
	ctx, done := c.Request().Context(), ""
	switch form.Get("do") {
	case "on", "off":
		err = u.Memory.SetOff(ctx, t.ID, form.Get("do") == "off")
	case "forget":
		_, err = u.Memory.Forget(ctx, t.Owner, t.ID)
		done = "?forgot=1"
	case "undo":
		var owner string
		if owner, err = u.Memory.Learner(ctx, t.Owner, t.ID); err == nil {
			_, err = u.Memory.Undo(ctx, owner)
		}
	}
	if err != nil {
		return memoryChanged(c, err)
	}
	return c.Redirect(http.StatusSeeOther, views.ActionURL(t.ID, "memory")+done)
}

// memoryChanged words an undo that is too late.
func memoryChanged(c echo.Context, err error) error {
	if key := settings.MemoryErrorKey(err); key != "" {
		return echo.NewHTTPError(http.StatusConflict, page.Say(c, key))
	}
	return err
}
