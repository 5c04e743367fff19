package gateway

import (
	"encoding/json"
	"net/http"

	"github.com/labstack/echo/v4"

	"fawn/agent/channels"
	"fawn/store"
	"fawn/web/httpx"
)

// destination returns the chat in a body in its stored form, "" for null, or nil if the body has none.
func (b taskBody) destination() (*string, error) {
	if b.Deliver == nil {
		return nil, nil
	}
	if string(b.Deliver) == "null" {
		return new(""), nil
	}
	var d channels.Destination
	if json.Unmarshal(b.Deliver, &d) != nil || d.Provider == "" || d.Chat == "" {
		return nil, httpx.Invalid("body", "deliver_to", "want null, or an object with provider and chat")
	}
	return new(d.String()), nil
}

// destination returns the target of a cron's results, or null.
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

type destinationList struct {
	Chats []destinationJSON `json:"chats"`
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
	return httpx.JSON(c, http.StatusOK, destinationList{out})
}

// deliveryJSON is the delivery state of a run's result.
type deliveryJSON struct {
	State string  `json:"state"` // waiting, sent, failed or unknown
	Error *string `json:"error"`
}

// resultOf returns the delivery state of a task run's result; nil if none is sent.
func (g *Gateway) resultOf(c echo.Context, run string) (*deliveryJSON, error) {
	rows, err := g.DB.Outbound(c.Request().Context(), run)
	if err != nil || len(rows) == 0 {
		return nil, err
	}
	state, why := channels.StateOf(rows)
	return &deliveryJSON{string(state), orNull(why.Text)}, nil
}
