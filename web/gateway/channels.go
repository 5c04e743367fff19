package gateway

import (
	"encoding/json"
	"errors"
	"net/http"

	"github.com/labstack/echo/v4"

	"fawn/agent/channels"
	"fawn/store"
	"fawn/web/bots"
	"fawn/web/httpx"
	o "fawn/web/openapi"
	"fawn/web/route"
)

// Words that DeerFlow's front end shows as they are.
const (
	noChannels = "Chat channels are not available"
	noProvider = "Unknown channel provider"
)

// channelRoutes returns the routes of chat apps.
func (g *Gateway) channelRoutes() []route.Route {
	return []route.Route{
		route.On("GET", "/channels", user, "getChannels", g.channelList),
		route.On("GET", "/channels/providers", user, "listChannelProviders", g.channelProviders),
		route.On("GET", "/channels/connections", user, "listChannelConnections", g.connections),
		route.On("DELETE", "/channels/connections/{name}", user, "deleteChannelConnection", g.disconnect),
		route.On("POST", "/channels/{name}/connect", user, "connectChannel", g.onProvider(g.connect)),
		route.On("POST", "/channels/{name}/restart", operator, "restartChannel", g.restartChannel),
		route.On("POST", "/channels/{name}/runtime-config", operator, "configureChannel", g.onForm(g.configureChannel)),
		route.On("DELETE", "/channels/{name}/runtime-config", operator, "disconnectChannel", g.onProvider(g.removeChannel)),
		route.On("POST", "/channels/{name}/test", operator, "testChannel", g.onForm(g.testChannel)),
		route.On("POST", "/channels/wechat/qr-login", operator, "startWeChatScan", g.onScan(g.startScan)),
		route.On("POST", "/channels/wechat/qr-login/{session_id}/poll", operator, "getWeChatScan", g.pollScan),
		route.On("DELETE", "/channels/wechat/qr-login/{session_id}", operator, "cancelWeChatScan", g.onScan(g.cancelScan)),
		route.On("GET", "/channels/{name}/status", user, "getChannelStatus", g.onProvider(g.channelStatus)),
		route.On("GET", "/channels/chats", operator, "listChannelChats", g.channelChats),
		route.On("PATCH", "/channels/chats/{name}/{chat_id}", operator, "changeChannelChat", g.onProvider(g.changeChat)),
		route.On("DELETE", "/channels/chats/{name}/{chat_id}", operator, "forgetChannelChat", g.onProvider(g.forgetChat)),
		route.On("GET", "/channels/destinations", user, "listChannelDestinations", g.destinations),
		route.On("GET", "/channels/deliveries", operator, "listChannelDeliveries", g.deliveries),
		route.On("POST", "/channels/deliveries/{run_id}/retry", operator, "retryChannelDelivery", g.retryDelivery),
	}
}

// onProvider finds the chat app that a path names.
func (g *Gateway) onProvider(do func(echo.Context, channels.Provider) error) echo.HandlerFunc {
	return func(c echo.Context) error {
		p, known := channels.ProviderOf(route.Param(c, "name"))
		switch {
		case g.Channels.Available() && known:
			return do(c, p)
		case known:
			return httpx.Errorf(http.StatusBadRequest, noChannels)
		}
		return httpx.Errorf(http.StatusNotFound, noProvider)
	}
}

// onForm is onProvider for routes with credentials, which it reads before looking up the app.
func (g *Gateway) onForm(do func(echo.Context, channels.Provider, map[string]string) error) echo.HandlerFunc {
	return func(c echo.Context) error {
		var b struct {
			Values map[string]string `json:"values"`
		}
		body, err := httpx.Body(c.Request(), g.BodyLimit())
		if err != nil {
			return err
		}
		if len(body) > 0 {
			if err := httpx.DecodeStrict(body, &b); err != nil {
				return err
			}
		}
		return g.onProvider(func(c echo.Context, p channels.Provider) error { return do(c, p, b.Values) })(c)
	}
}

// refusedChannel maps errors of chat apps to DeerFlow's statuses.
func refusedChannel(err error) error {
	var no *bots.Refused
	switch {
	case err == nil:
		return nil
	case !errors.As(err, &no):
		return settingsError(err)
	case no.Cause == bots.Codes:
		return httpx.Errorf(http.StatusTooManyRequests, "%s", no.Error())
	}
	return httpx.Errorf(http.StatusBadRequest, "%s", no.Error())
}

// channelsJSON holds whether chat apps are enabled, and their states.
type channelsJSON struct {
	Channels map[string]channelSwitches `json:"channels"`
	Running  bool                       `json:"service_running"`
}

type channelSwitches struct {
	Enabled bool `json:"enabled"`
	Running bool `json:"running"`
}

func (g *Gateway) channelList(c echo.Context) error {
	all := map[string]channelSwitches{}
	if g.Channels.Available() {
		f := g.Config().File
		for _, p := range channels.Providers() {
			section, _ := f.Channel(p.Name)
			s, _ := g.Channels.Hub.Status(p.Name)
			all[p.Name] = channelSwitches{section.Enabled, s.Running}
		}
	}
	return httpx.JSON(c, http.StatusOK, channelsJSON{all, g.Channels.Available()})
}

func (g *Gateway) restartChannel(c echo.Context) error {
	name := route.Param(c, "name")
	if !g.Channels.Available() {
		if _, known := channels.ProviderOf(name); !known {
			return httpx.Errorf(http.StatusNotFound, noProvider)
		}
		return httpx.Errorf(http.StatusServiceUnavailable, noChannels)
	}
	ok, err := g.Channels.Restart(c.Request().Context(), name)
	if err != nil {
		return err
	}
	message := "Channel " + name + " restarted"
	if !ok {
		message = "Channel " + name + " is not configured"
	}
	return httpx.JSON(c, http.StatusOK, route.DoneMessage{Message: message, Success: ok})
}

// field is a credential as forms show it.
type field struct {
	Name     string `json:"name"`
	Label    string `json:"label"`
	Type     string `json:"type"`
	Required bool   `json:"required"`
}

// providerView is a chat app in DeerFlow's shape.
type providerView struct {
	Provider         string            `json:"provider"`
	DisplayName      string            `json:"display_name"`
	Enabled          bool              `json:"enabled"`
	Configured       bool              `json:"configured"`
	Connectable      bool              `json:"connectable"`
	Reason           *string           `json:"unavailable_reason"`
	AuthMode         string            `json:"auth_mode"`
	ConnectionStatus string            `json:"connection_status"`
	Fields           []field           `json:"credential_fields"`
	Values           map[string]string `json:"credential_values"`
}

type providerList struct {
	Enabled   bool           `json:"enabled"`
	Providers []providerView `json:"providers"`
}

func (g *Gateway) channelProviders(c echo.Context) error {
	list := []providerView{}
	if !g.Channels.Available() || !g.Channels.Connectable() {
		return httpx.JSON(c, http.StatusOK, providerList{false, list})
	}
	for _, p := range channels.Providers() {
		v, err := g.viewProvider(c, p)
		if err != nil {
			return err
		}
		list = append(list, v)
	}
	return httpx.JSON(c, http.StatusOK, providerList{true, list})
}

func (g *Gateway) viewProvider(c echo.Context, p channels.Provider) (providerView, error) {
	a := g.Channels.App(p)
	v := providerView{Provider: p.Name, DisplayName: p.Display, Enabled: a.Section.Enabled,
		Configured: len(a.Missing) == 0, Connectable: a.Running(), Reason: orNull(a.Reason()), AuthMode: "binding_code",
		Values: map[string]string{}}
	if p.Link != nil {
		v.AuthMode = "deep_link"
	}
	for _, f := range p.Fields {
		kind := "text"
		if f.Secret {
			kind = "password"
		}
		v.Fields = append(v.Fields, field{f.Name, f.Label, kind, !f.Optional})
		v.Values[f.Name] = a.Value(f)
	}
	var err error
	v.ConnectionStatus, err = g.Channels.Connection(c.Request().Context(), g.Owner(c), p.Name)
	return v, err
}

// connectionView is a connection in DeerFlow's shape.
type connectionView struct {
	ID            string          `json:"id"`
	Provider      string          `json:"provider"`
	Status        string          `json:"status"`
	Account       *string         `json:"external_account_id"`
	AccountName   *string         `json:"external_account_name"`
	Workspace     *string         `json:"workspace_id"`
	WorkspaceName *string         `json:"workspace_name"`
	Scopes        []string        `json:"scopes"`
	Metadata      json.RawMessage `json:"metadata"`
}

func orNull(text string) *string {
	if text == "" {
		return nil
	}
	return &text
}

type connectionList struct {
	Connections []connectionView `json:"connections"`
}

func (g *Gateway) connections(c echo.Context) error {
	out := []connectionView{}
	if g.Channels.Available() && g.Channels.Connectable() {
		list, err := g.DB.Connections(c.Request().Context(), g.Owner(c))
		if err != nil {
			return err
		}
		for _, one := range list {
			out = append(out, connectionView{one.ID, one.Provider, one.Status, orNull(one.Account),
				orNull(one.AccountName), orNull(one.Workspace), orNull(one.WorkspaceName), []string{}, one.Metadata})
		}
	}
	return httpx.JSON(c, http.StatusOK, connectionList{out})
}

func (g *Gateway) disconnect(c echo.Context) error {
	var err error
	if ctx, id := c.Request().Context(), route.Param(c, "name"); g.Channels.Available() {
		_, err = g.Channels.Revoke(ctx, g.Owner(c), id)
	} else {
		err = g.DB.Disconnect(ctx, g.Owner(c), id)
	}
	if errors.Is(err, store.ErrNotFound) {
		return httpx.Errorf(http.StatusNotFound, "Connection not found")
	}
	if err != nil {
		return err
	}
	return c.NoContent(http.StatusNoContent)
}

// connectCode is a code that connects an account, and how to use it.
type connectCode struct {
	Code        string  `json:"code"`
	ExpiresIn   int     `json:"expires_in"` // seconds
	Instruction string  `json:"instruction"`
	Mode        string  `json:"mode"`
	Provider    string  `json:"provider"`
	URL         *string `json:"url"`
}

func (g *Gateway) connect(c echo.Context, p channels.Provider) error {
	offer, err := g.Channels.Connect(c.Request().Context(), g.Owner(c), p)
	if err != nil {
		return refusedChannel(err)
	}
	out := connectCode{Code: offer.Code, ExpiresIn: int(offer.Valid.Seconds()),
		Instruction: "Send this to the bot in a private chat: /connect " + offer.Code,
		Mode:        "binding_code", Provider: p.Name, URL: orNull(offer.Link)}
	if p.Link != nil {
		out.Mode = "deep_link"
	}
	if offer.Link != "" {
		out.Instruction = "Open the link and press Start, or send this to the bot: /start " + offer.Code
	}
	return httpx.JSON(c, http.StatusOK, out)
}

func (g *Gateway) configureChannel(c echo.Context, p channels.Provider, form map[string]string) error {
	if err := g.Channels.Configure(c.Request().Context(), p, form); err != nil {
		return refusedChannel(err)
	}
	return g.answerProvider(c, p)
}

func (g *Gateway) removeChannel(c echo.Context, p channels.Provider) error {
	if err := g.Channels.Remove(c.Request().Context(), p); err != nil {
		return refusedChannel(err)
	}
	return g.answerProvider(c, p)
}

func (g *Gateway) answerProvider(c echo.Context, p channels.Provider) error {
	v, err := g.viewProvider(c, p)
	if err != nil {
		return err
	}
	return httpx.JSON(c, http.StatusOK, v)
}

// describeChannels returns the routes of chat apps.
func describeChannels() []o.Op {
	const tag = "Chat channels"
	provider := route.Answered("The chat app", o.Ref("ChannelProvider"))
	scan := route.Answered("How far the sign-in is", o.Of[scanJSON](o.Is("expires_in", o.Int(0)),
		o.Is("status", o.Enum("pending", "scanned", "verification_required", "confirmed", "expired", "failed")),
		o.Is("provider", o.Nullable(o.Ref("ChannelProvider")))))
	moment := o.Nullable(o.Time())
	values := o.Body(o.Opt("values", o.Map(o.String())))
	return []o.Op{
		{ID: "getChannels", Tag: tag, Text: "Tell which chat channels run", Out: route.Answered("Each known channel",
			o.Of[channelsJSON]())},
		{ID: "listChannelProviders", Tag: tag, Text: "List the chat apps that can be set up",
			Out: route.Answered("The chat apps",
				o.Of[providerList](o.Is("providers", o.List(o.Ref("ChannelProvider")))))},
		{ID: "listChannelConnections", Tag: tag, Text: "List the accounts of chat apps that are connected to yours",
			Out: route.Answered("The connections", o.Of[connectionList](o.Is("connections", o.List(o.Ref("ChannelConnection")))))},
		{ID: "deleteChannelConnection", Tag: tag, Text: "Disconnect an account of a chat app",
			More: "Its next message is refused, and what is being sent to it ends. Runs go on.",
			Out:  route.Emptied("It is revoked"), Fail: []int{404}},
		{ID: "connectChannel", Tag: tag, Text: "Get a code that connects an account of a chat app",
			More: "The code works once, within ten minutes, in a private chat with the bot.",
			Out: route.Answered("The code",
				o.Of[connectCode](o.Is("mode", o.Enum("deep_link", "binding_code")), o.Is("expires_in", o.Int(0)))), Fail: []int{400, 404, 429}},
		{ID: "restartChannel", Tag: tag, Text: "Restart a chat channel",
			Out: route.Answered("Whether it was restarted",
				o.Of[route.DoneMessage]()),
			Fail: []int{403, 404, 503}},
		{ID: "configureChannel", Tag: tag, Text: "Set the credentials of a chat app and start it",
			More: "A password ******** keeps the one that is stored.", Body: values, Out: provider,
			Fail: []int{400, 403, 404, 422}},
		{ID: "disconnectChannel", Tag: tag,
			Text: "Switch a chat app off, forget its credentials and revoke its connections",
			More: "What is being sent to them ends.", Out: provider,
			Fail: []int{400, 403, 404}},
		{ID: "testChannel", Tag: tag, Text: "Try the credentials of a chat app", More: "Nothing is stored.",
			Body: values,
			Out:  route.Answered("Whether they work", o.Of[testedChannel](o.Is("latency_ms", o.Int(0)))),
			Fail: []int{400, 403, 404, 422}},
		{ID: "startWeChatScan", Tag: tag, Text: "Begin to sign a WeChat bot in by QR code",
			More: "It has to be allowed by `channels.wechat.qrcode_login_enabled`. The code can be scanned for three minutes.",
			Out:  scan, Fail: []int{400, 403, 409, 502}},
		{ID: "getWeChatScan", Tag: tag, Text: "Wait a moment for news of a QR code that was shown",
			More: "When it's confirmed, the bot's token is stored and the bot starts.",
			Body: o.Reads[scanBody](), Out: scan,
			Fail: []int{400, 403, 404, 422, 502}},
		{ID: "cancelWeChatScan", Tag: tag, Text: "Give up signing in by QR code", Out: route.Emptied("It is over"),
			Fail: []int{400, 403, 404}},
		{ID: "getChannelStatus", Tag: tag, Text: "Get the state of a chat channel",
			Out: route.Answered("Its state", o.Of[channelStatusJSON](o.Is("connected_since", moment),
				o.Is("rate_limited_until", moment), o.Is("reconnects", o.Int(0)), o.Is("undelivered", o.Int(0)), o.Is("waiting", o.Int(0)))), Fail: []int{400, 404}},
		{ID: "listChannelChats", Tag: tag, Text: "List the chats that go on in threads", Query: []o.Param{
			{Name: "provider", Text: "only chats of this app", Schema: o.String()},
			{Name: "limit", Text: "most chats of the answer", Schema: o.Range(1, route.MaxPage)},
			{Name: "offset", Text: "chats to skip", Schema: o.Int(0)}},
			Out: route.Answered("The chats", o.Of[chatList]()), Fail: []int{403, 422}},
		{ID: "changeChannelChat", Tag: tag, Text: "Let a bot answer in a chat or not, and say whom",
			Body: o.Reads[chatChange](o.Is("members", o.Enum("", "all", "paired"))),
			Out:  route.Answered("The chat", o.Of[chatView]()), Fail: []int{400, 403, 404, 422}},
		{ID: "forgetChannelChat", Tag: tag, Text: "Forget which threads go on in a chat", More: "The threads stay.",
			Out: route.Emptied("It is forgotten"), Fail: []int{400, 403, 404}},
		{ID: "listChannelDestinations", Tag: tag, Text: "List the chats that results of your tasks can be sent to",
			More: "They are those of accounts that you connected, and the groups that you let a bot into.",
			Out:  route.Answered("The chats", o.Of[destinationList]())},
		{ID: "listChannelDeliveries", Tag: tag, Text: "List answers that could not be delivered",
			Out: route.Answered("The messages", o.Of[deliveryList]()), Fail: []int{403}},
		{ID: "retryChannelDelivery", Tag: tag, Text: "Send an answer to its chat again",
			Out: []o.Answer{{Status: 202, Text: "It is being sent"}}, Fail: []int{403, 404, 409, 503}},
	}
}

// channelSchemas returns the schemas of describeChannels.
func channelSchemas() map[string]o.Schema {
	return map[string]o.Schema{
		"ChannelProvider":   o.Of[providerView](o.Is("auth_mode", o.Enum("deep_link", "binding_code"))),
		"ChannelConnection": o.Of[connectionView](o.Is("metadata", o.Map(nil))),
	}
}
