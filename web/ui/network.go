package ui

import (
	"errors"
	"net/http"

	"github.com/labstack/echo/v4"

	"fawn/sandbox/egress"
	"fawn/sandbox/netguard"
	"fawn/store"
	"fawn/views"
	"fawn/views/chat"
	"fawn/web/hostrules"
	"fawn/web/ui/chats"
	"fawn/web/ui/page"
)

// answerHost handles POST /ui/threads/:id/network: may the agent reach a host.
func (u *UI) answerHost(c echo.Context, t store.Thread) error {
	ctx, id := c.Request().Context(), t.ID
	form, err := page.ReadForm(c.Request(), page.SmallForm)
	if err != nil {
		return err
	}
	err = u.Network.Answer(ctx, id, form.Get("host"), egress.Answer(form.Get("answer")))
	if errors.Is(err, hostrules.ErrAnswer) || errors.Is(err, netguard.ErrHost) {
		return echo.NewHTTPError(http.StatusBadRequest, err.Error())
	}
	if err != nil {
		return err
	}
	if !page.WantsFragment(c.Request()) {
		return c.Redirect(http.StatusSeeOther, chats.Back(c, id, views.ThreadURL(id)))
	}
	asks, err := u.Asks(ctx, id)
	if err != nil {
		return err
	}
	if !page.WantsFrame(c.Request()) {
		return page.HTML(c, http.StatusOK, page.InLang(page.ReadPrefs(c.Request()).Lang, chat.Asks(asks)))
	}
	f := views.Frame{Streamed: true, Running: u.Runs.Active(id) != ""}
	if err := f.Put(page.Localized(c), views.SwapOuter, "network", chat.Asks(asks)); err != nil {
		return err
	}
	return page.Frame(c, f, views.ThreadURL(id))
}
