package gateway

import (
	"errors"
	"net/http"
	"slices"
	"time"

	"github.com/labstack/echo/v4"

	"fawn/agent/channels"
	"fawn/store"
	"fawn/web/bots"
	"fawn/web/httpx"
	"fawn/web/principal"
	"fawn/web/route"
)

// testedChannel reports whether credentials work, and the bot's missing permissions.
type testedChannel struct {
	Account string         `json:"account"`
	Error   *string        `json:"error"`
	Latency int64          `json:"latency_ms"`
	Missing []missingRight `json:"missing"`
	OK      bool           `json:"ok"`
}

type missingRight struct {
	Permission string `json:"permission"`
	Prevents   string `json:"prevents"`
}

func (g *Gateway) testChannel(c echo.Context, p channels.Provider, values map[string]string) error {
	t, err := g.Channels.Test(c.Request().Context(), p, values)
	if err != nil {
		return refusedChannel(err)
	}
	out := testedChannel{Account: t.Me.Name, Latency: t.Took.Milliseconds(), Missing: []missingRight{}, OK: t.Err == nil}
	if t.Err != nil {
		out.Error = new(bots.Explain(t.Err))
	}
	for _, l := range t.Lacks {
		out.Missing = append(out.Missing, missingRight{l.Need, bots.Prevents(l.Loses)})
	}
	return httpx.JSON(c, http.StatusOK, out)
}

// moment returns a time, or null if it is zero.
func moment(t time.Time) *string {
	if t.IsZero() {
		return nil
	}
	text := t.UTC().Format("2006-01-02T15:04:05.000Z")
	return &text
}

// channelStatusJSON is the state of a bot. Times are null until set.
type channelStatusJSON struct {
	Since       *string `json:"connected_since"`
	Error       *string `json:"last_error"`
	ErrorAt     *string `json:"last_error_at"`
	LastIn      *string `json:"last_in_at"`
	LastOut     *string `json:"last_out_at"`
	RateLimited *string `json:"rate_limited_until"`
	Reconnects  int     `json:"reconnects"`
	Running     bool    `json:"running"`
	Undelivered int     `json:"undelivered"`
	Waiting     int     `json:"waiting"`
}

func (g *Gateway) channelStatus(c echo.Context, p channels.Provider) error {
	s, _ := g.Channels.Hub.Status(p.Name)
	open, err := g.DB.OpenAnswers(c.Request().Context(), p.Name)
	if err != nil {
		return err
	}
	var failure *string
	if text := s.Error; text != "" && principal.Of(c.Request().Context()).Operator() {
		failure = &text
	}
	return httpx.JSON(c, http.StatusOK, channelStatusJSON{Since: moment(s.Since), Error: failure, ErrorAt: moment(s.ErrorAt),
		LastIn: moment(s.LastIn), LastOut: moment(s.LastOut), RateLimited: moment(s.RateLimited), Reconnects: s.Reconnects,
		Running: s.Running, Undelivered: len(open), Waiting: s.Waiting})
}

// chatView is a chat or topic.
type chatView struct {
	Provider string `json:"provider"`
	Chat     string `json:"chat_id"`
	Topic    string `json:"topic_id"`
	Kind     string `json:"kind"`
	Name     string `json:"name"`
	Thread   string `json:"thread_id"`
	Owner    string `json:"owner"`
	Enabled  bool   `json:"enabled"`
}

type chatList struct {
	Chats []chatView `json:"chats"`
}

func (g *Gateway) channelChats(c echo.Context) error {
	p, err := route.QueryPage(c.QueryParams(), 100, route.MaxPage)
	if err != nil {
		return err
	}
	list, err := g.DB.ChannelChats(c.Request().Context(), c.QueryParam("provider"), p.Limit, p.Offset)
	if err != nil {
		return err
	}
	out := []chatView{}
	for _, one := range list {
		out = append(out, viewChat(one))
	}
	return httpx.JSON(c, http.StatusOK, chatList{out})
}

func viewChat(c store.ChannelChat) chatView {
	return chatView{c.Provider, c.Chat, c.Topic, c.Kind, c.Name, c.Thread, c.Owner,
		c.Kind != "group" || c.Topic != "" || c.EnabledBy != ""}
}

// chatChange is the body of changeChat.
type chatChange struct {
	Enabled *bool   `json:"enabled"`
	Members *string `json:"members"`
}

// changeChat turns a bot on or off in a group, and sets the members it answers.
func (g *Gateway) changeChat(c echo.Context, p channels.Provider) error {
	var b chatChange
	if err := g.BindStrict(c, &b); err != nil {
		return err
	}
	if b.Members != nil && !slices.Contains([]string{"", "all", "paired"}, *b.Members) {
		return httpx.Invalid("body", "members", "want all or paired")
	}
	one, err := g.Channels.ChangeChat(c.Request().Context(), p.Name, route.Param(c, "chat"), g.Owner(c),
		bots.ChatChange{Enabled: b.Enabled, Members: b.Members})
	if err != nil {
		return noChat(err)
	}
	return httpx.JSON(c, http.StatusOK, viewChat(one))
}

// forgetChat forgets the threads of a chat. The threads themselves stay.
func (g *Gateway) forgetChat(c echo.Context, p channels.Provider) error {
	if err := g.DB.ForgetChannelChat(c.Request().Context(), p.Name, route.Param(c, "chat")); err != nil {
		return noChat(err)
	}
	return c.NoContent(http.StatusNoContent)
}

func noChat(err error) error {
	if errors.Is(err, store.ErrNotFound) {
		return httpx.Errorf(http.StatusNotFound, "Chat not found")
	}
	return err
}

// mostDeliveries limits the listed undelivered messages.
const mostDeliveries = 200

// deliveryView is a message that was not delivered.
type deliveryView struct {
	Run      string  `json:"run_id"`
	Piece    string  `json:"piece"`
	Provider string  `json:"provider"`
	Chat     string  `json:"chat_id"`
	State    string  `json:"state"`
	Error    string  `json:"error"`
	At       *string `json:"created_at"`
}

type deliveryList struct {
	Deliveries []deliveryView `json:"deliveries"`
}

func (g *Gateway) deliveries(c echo.Context) error {
	list, err := g.DB.Undelivered(c.Request().Context(), mostDeliveries)
	if err != nil {
		return err
	}
	out := []deliveryView{}
	for _, one := range list {
		out = append(out, deliveryView{one.Run, one.Piece, one.Provider, one.Chat, one.State,
			channels.Trouble(one).Text, moment(one.At)})
	}
	return httpx.JSON(c, http.StatusOK, deliveryList{out})
}

func (g *Gateway) retryDelivery(c echo.Context) error {
	if !g.Channels.Available() {
		return httpx.Errorf(http.StatusNotFound, "Delivery not found")
	}
	if err := g.Channels.Retry(c.Request().Context(), route.Param(c, "rid")); err != nil {
		return err
	}
	return c.NoContent(http.StatusAccepted)
}
