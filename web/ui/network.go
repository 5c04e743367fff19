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
	"fawn/sandbox"
	"fawn/sandbox/egress"
	"fawn/sandbox/netguard"
	"fawn/store"
	"fawn/views"
	"fawn/views/chat"
	"fawn/web/network"
)

// answerHost is POST /ui/threads/:id/network: may the agent reach a host.
func (u *UI) answerHost(c echo.Context, t store.Thread) error {
	ctx, id := c.Request().Context(), t.ID
	form, err := readForm(c.Request(), maxSmallForm)
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
	if !fragment(c.Request()) {
		return c.Redirect(http.StatusSeeOther, back(c, id, views.ThreadURL(id)))
	}
	asks, err := u.asks(ctx, id)
	if err != nil {
		return err
	}
	if !wantsFrame(c.Request()) {
		return html(c, http.StatusOK, inLang(readPrefs(c.Request()).Lang, chat.Asks(asks)))
	}
	var f views.Frame
	if err := f.Put(localized(c), views.SwapOuter, "network", chat.Asks(asks)); err != nil {
		return err
	}
	return frame(c, f, views.ThreadURL(id))
}

// closeHost is POST /ui/hosts: a host that is open to every chat is asked about again.
func (u *UI) closeHost(c echo.Context) error {
	form, err := readForm(c.Request(), maxSmallForm)
	if err != nil {
		return err
	}
	if _, err := u.Network.Forget(c.Request().Context(), form.Get("host")); err != nil {
		return err
	}
	where := views.SettingsURL("sandbox")
	return frame(c, views.Frame{Location: where}, where)
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

// openHosts are the hosts that are open to every chat.
func (u *UI) openHosts(ctx context.Context) ([]string, error) {
	if u.Network == nil {
		return nil, nil
	}
	always, err := u.Network.Always(ctx)
	var hosts []string
	for _, d := range always {
		hosts = append(hosts, d.Host)
	}
	return hosts, err
}

// box is what runs commands, for people.
func (u *UI) box() views.Sandbox {
	if u.Sandbox == nil {
		return views.Sandbox{}
	}
	r, s := u.Sandbox(), u.Config.Current().File.Sandbox
	out := views.Sandbox{State: views.SandboxGood, Provider: r.Provider, Layers: r.Layers, Degraded: r.Degraded,
		Reason: r.Reason, Hint: r.Hint,
		Network: s.Network.Mode, Disk: s.Limits.Disk}
	for _, t := range r.Tried { // stronger ones that do not work here
		out.Degraded = append(slices.Clip(out.Degraded), t.String())
		if t.Hint != "" && out.Hint == "" {
			out.Hint = t.Hint
		}
	}
	if r.Provider == sandbox.ProviderLandlock && out.Network == sandbox.NetworkProxy {
		out.Network = sandbox.NetworkNone // it cannot keep a proxy apart from the rest
	}
	switch {
	case r.Provider == sandbox.ProviderOff || !r.OK:
		out.State = views.SandboxOff
	case r.Provider == sandbox.ProviderHost:
		out.State = views.SandboxOpen
	case len(r.Degraded) > 0 || r.Provider == sandbox.ProviderLandlock:
		out.State = views.SandboxWeak
	}
	return out
}
