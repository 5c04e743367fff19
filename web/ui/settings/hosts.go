package settings

import (
	"context"

	"github.com/labstack/echo/v4"

	"fawn/views"
	"fawn/web/ui/page"
)

// closeHost handles POST /ui/hosts: a host that is open to every chat is asked about again.
func (h *Handlers) closeHost(c echo.Context) error {
	form, err := page.ReadForm(c.Request(), page.SmallForm)
	if err != nil {
		return err
	}
	if _, err := h.Network.Forget(c.Request().Context(), form.Get("host")); err != nil {
		return err
	}
	where := views.SettingsURL("sandbox")
	return page.Frame(c, views.Frame{Location: where}, where)
}

// openHosts returns the hosts that are open to every chat.
func (h *Handlers) openHosts(ctx context.Context) ([]string, error) {
	if h.Network == nil {
		return nil, nil
	}
	always, err := h.Network.Always(ctx)
	var hosts []string
	for _, d := range always {
		hosts = append(hosts, d.Host)
	}
	return hosts, err
}
