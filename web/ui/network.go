package ui

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"slices"

	"github.com/labstack/echo/v4"

	"fawn/agent/mcp"
	"fawn/agent/runs"
	"fawn/sandbox/egress"
	"fawn/sandbox/netguard"
	"fawn/store"
	"fawn/views"
	"fawn/views/chat"
	"fawn/web/network"
	"fawn/web/ui/chats"
	"fawn/web/ui/page"
)

// answerHost is POST /ui/threads/:id/network: may the agent reach a host.
func (u *UI) answerHost(c echo.Context, t store.Thread) error {
	ctx, id := c.Request().Context(), t.ID
	form, err := page.ReadForm(c.Request(), page.SmallForm)
	if err != nil {
		return err
	}
	err = u.Network.Answer(ctx, id, form.Get("host"), egress.Answer(form.Get("answer")))
	if errors.Is(err, network.ErrAnswer) || errors.Is(err, netguard.ErrHost) {
		return echo.NewHTTPError(http.StatusBadRequest, err.Error())
	}
	if err != nil {
		return err
	}
	if !page.WantsFragment(c.Request()) {
		return c.Redirect(http.StatusSeeOther, chats.Back(c, id, views.ThreadURL(id)))
	}
	asks, err := u.asks(ctx, id)
	if err != nil {
		return err
	}
	if !page.WantsFrame(c.Request()) {
		return page.HTML(c, http.StatusOK, page.InLang(page.ReadPrefs(c.Request()).Lang, chat.Asks(asks)))
	}
	var f views.Frame
	if err := f.Put(page.Localized(c), views.SwapOuter, "network", chat.Asks(asks)); err != nil {
		return err
	}
	return page.Frame(c, f, views.ThreadURL(id))
}

// asks are the hosts a thread wants to reach, and what MCP servers ask there.
func (u *UI) asks(ctx context.Context, thread string) ([]views.NetworkQuestion, error) {
	out := u.serverForms(thread)
	if u.Network == nil {
		return out, nil
	}
	open, err := u.Network.Questions(ctx, thread)
	if err != nil {
		return nil, err
	}
	for _, q := range open {
		out = append(out, views.NetworkQuestion{ThreadID: thread, Host: q.Host, Port: q.Port,
			Waiting: u.Network.Waiting(thread, q.Host)})
	}
	return out, nil
}

// aboutHosts tells whether an event changes what is asked about hosts or by MCP servers.
func aboutHosts(ev runs.Event) bool {
	if ev.Kind != runs.KindCustom {
		return false
	}
	var custom struct {
		Type string `json:"type"`
	}
	return json.Unmarshal(ev.Data, &custom) == nil &&
		slices.Contains([]string{network.TypeQuestion, network.TypeAnswer, network.TypeWaiting, network.TypeRefused,
			mcp.TypeQuestion, mcp.TypeAnswer}, custom.Type)
}
