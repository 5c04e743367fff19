package gateway

import (
	"encoding/json"
	"net/http"

	"github.com/labstack/echo/v4"

	"fawn/agent/channels"
	"fawn/store"
	"fawn/web/httpx"
)

// taskDestination looks up the chat that a body names: it must be one that the asker may have results sent to.
func (g *Gateway) taskDestination(c echo.Context, b *taskBody) error {
	if b.Deliver == nil {
		return nil
	}
	none := ""
	if b.deliver = &none; string(b.Deliver) == "null" {
		return nil
	}
	var d channels.Destination
	if json.Unmarshal(b.Deliver, &d) != nil || d.Provider == "" || d.Chat == "" {
		return httpx.Invalid("body", "deliver_to", "want null, or an object with provider and chat")
	}
	if g.Channels.Available() {
		_, ok, err := g.Channels.Hub.Find(c.Request().Context(), g.Owner(c), d)
		if err != nil {
			return err
		}
		if ok {
			text := d.String()
			b.deliver = &text
			return nil
		}
	}
	return httpx.Invalid("body", "deliver_to",
		"isn't a chat of an account that you connected, or a group that you let the bot into")
}

// destination is where the results of a cron go, or null.
func destination(cron store.Cron) *channels.Destination {
	d, ok := channels.ParseDestination(cron.Deliver)
	if !ok {
		return nil
	}
	return &d
}

// destinationJSON is a chat that results can be sent to.
type destinationJSON struct {
	Provider string `json:"provider"`
	Chat     string `json:"chat"`
	Name     string `json:"name"`
	Group    bool   `json:"group"`
}

func (g *Gateway) destinations(c echo.Context) error {
	out := []destinationJSON{}
	if g.Channels.Available() {
		list, err := g.Channels.Hub.Offers(c.Request().Context(), g.Owner(c))
		if err != nil {
			return err
		}
		for _, o := range list {
			out = append(out, destinationJSON{o.Provider, o.Chat, o.Name, o.Group})
		}
	}
	return httpx.JSON(c, http.StatusOK, map[string]any{"chats": out})
}

// deliveryJSON is what became of the result of a run.
type deliveryJSON struct {
	State string  `json:"state"` // waiting, sent, failed or unknown
	Error *string `json:"error"`
}

// resultOf is what became of the result of a run of a task; nil where none is sent.
func (g *Gateway) resultOf(c echo.Context, run string) (*deliveryJSON, error) {
	rows, err := g.DB.Outbound(c.Request().Context(), run)
	if err != nil || len(rows) == 0 {
		return nil, err
	}
	state, why := channels.StateOf(rows)
	return &deliveryJSON{string(state), orNull(why.Text)}, nil
}
