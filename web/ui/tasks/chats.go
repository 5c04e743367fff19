package tasks

import (
	"context"

	"github.com/labstack/echo/v4"

	"fawn/agent/channels"
	"fawn/store"
	"fawn/views"
	"fawn/web/principal"
	"fawn/web/ui/page"
)

// chats returns the possible destinations of a person's task results.
func (h *Handlers) chats(ctx context.Context) (out []views.TaskChat, err error) {
	if !h.Bots.Available() {
		return nil, nil
	}
	list, err := h.Bots.Hub.Offers(ctx, principal.Owner(ctx))
	for _, o := range list {
		out = append(out, chatOf(o))
	}
	return out, err
}

func chatOf(o channels.Offer) views.TaskChat {
	return views.TaskChat{Value: o.Destination.String(), App: o.App, Name: page.Head(o.Name, page.MaxTitle),
		Group: o.Group}
}

// chat returns the destination of a task's results.
func (h *Handlers) chat(ctx context.Context, cron store.Cron) (*views.TaskChat, error) {
	d, ok := channels.ParseDestination(cron.Deliver)
	if !ok {
		return nil, nil
	}
	gone := &views.TaskChat{App: d.Provider, Gone: true}
	if p, known := channels.ProviderOf(d.Provider); known {
		gone.App = p.Display
	}
	if !h.Bots.Available() {
		return gone, nil
	}
	o, ok, err := h.Bots.Hub.Find(ctx, cron.Owner, d)
	if err != nil || !ok {
		return gone, err
	}
	out := chatOf(o)
	return &out, nil
}

// sent adds the state of a result that was to be sent to a chat.
func (h *Handlers) sent(c echo.Context, r *views.TaskRun, run string) error {
	rows, err := h.DB.Outbound(c.Request().Context(), run)
	if err != nil || len(rows) == 0 {
		return err
	}
	state, why := channels.StateOf(rows)
	r.Sent = string(state)
	if why.Text != "" {
		r.Unsent = page.Trouble(rows[0].Provider, why)
	}
	return nil
}
