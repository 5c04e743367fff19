package gateway

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"strings"
	"time"

	"github.com/labstack/echo/v4"

	"fawn/agent/channels"
	"fawn/agent/channels/chat"
	"fawn/agent/config"
	"fawn/store"
	"fawn/web/httpx"
	"fawn/web/route"
)

// Words that DeerFlow's front end shows as they are.
const (
	noChannels     = "Chat channels are not available"
	noProvider     = "Unknown channel provider"
	noConnections  = "Channel connections are not enabled"
	maskedSecret   = "********"
	channelStarts  = 10 * time.Second // a bot gets to connect while its form waits
	channelTryTime = 15 * time.Second
)

// channelRoutes are those of chat apps.
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
		route.On("GET", "/channels/{name}/status", user, "getChannelStatus", g.onProvider(g.channelStatus)),
		route.On("GET", "/channels/chats", operator, "listChannelChats", g.channelChats),
		route.On("GET", "/channels/deliveries", operator, "listChannelDeliveries", g.deliveries),
		route.On("POST", "/channels/deliveries/{run_id}/retry", operator, "retryChannelDelivery", g.retryDelivery),
	}
}

// onProvider finds the chat app that a path names.
func (g *Gateway) onProvider(do func(echo.Context, channels.Provider) error) echo.HandlerFunc {
	return func(c echo.Context) error {
		p, known := channels.ProviderOf(route.Param(c, "name"))
		switch {
		case g.Channels.Hub != nil && known:
			return do(c, p)
		case g.Channels.Hub == nil && knownToDeerFlow(route.Param(c, "name")):
			return httpx.Errorf(http.StatusBadRequest, noChannels)
		}
		return httpx.Errorf(http.StatusNotFound, noProvider)
	}
}

// onForm is onProvider for routes that take credentials, which are read before the app is looked up.
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

func knownToDeerFlow(name string) bool {
	switch name {
	case "telegram", "slack", "discord", "feishu", "dingtalk", "wechat", "wecom":
		return true
	}
	return false
}

// connectable tells whether people may connect their accounts, which they may unless the owner says no.
func (g *Gateway) connectable() bool {
	snap := g.Config()
	return snap.File.ChannelConnections.Enabled || snap.Origin("channel_connections.enabled").Source == "default"
}

func (g *Gateway) channelList(c echo.Context) error {
	all := map[string]any{}
	if g.Channels.Hub != nil {
		f := g.Config().File
		for _, p := range channels.Providers() {
			section, _ := f.Channel(p.Name)
			s, _ := g.Channels.Hub.Status(p.Name)
			all[p.Name] = map[string]bool{"enabled": section.Enabled, "running": s.Running}
		}
	}
	return httpx.JSON(c, http.StatusOK, map[string]any{"service_running": g.Channels.Hub != nil, "channels": all})
}

func (g *Gateway) restartChannel(c echo.Context) error {
	name := route.Param(c, "name")
	if g.Channels.Hub == nil {
		if !knownToDeerFlow(name) {
			return httpx.Errorf(http.StatusNotFound, noProvider)
		}
		return httpx.Errorf(http.StatusServiceUnavailable, noChannels)
	}
	ok, message := g.Channels.Hub.Restart(name), "Channel "+name+" restarted"
	if !ok {
		message = "Channel " + name + " is not configured"
	}
	return httpx.JSON(c, http.StatusOK, map[string]any{"success": ok, "message": message})
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

func (g *Gateway) channelProviders(c echo.Context) error {
	list := []providerView{}
	if g.Channels.Hub == nil || !g.connectable() {
		return httpx.JSON(c, http.StatusOK, map[string]any{"enabled": false, "providers": list})
	}
	for _, p := range channels.Providers() {
		v, err := g.viewProvider(c, p)
		if err != nil {
			return err
		}
		list = append(list, v)
	}
	return httpx.JSON(c, http.StatusOK, map[string]any{"enabled": true, "providers": list})
}

func (g *Gateway) viewProvider(c echo.Context, p channels.Provider) (providerView, error) {
	snap := g.Config()
	section, _ := snap.File.Channel(p.Name)
	s, running := g.Channels.Hub.Status(p.Name)
	missing := p.Missing(section)
	v := providerView{Provider: p.Name, DisplayName: p.Display, Enabled: section.Enabled, Configured: len(missing) == 0,
		Connectable: running && s.Running, AuthMode: "binding_code", Values: map[string]string{}}
	if p.Link != nil {
		v.AuthMode = "deep_link"
	}
	reason := ""
	switch {
	case len(missing) > 0:
		reason = "Enter the credentials: " + strings.Join(missing, ", ")
	case !section.Enabled:
		reason = "The channel is switched off"
	case !running || !s.Running:
		if reason = "The channel is not running"; s.Error != "" {
			reason = strings.TrimSpace(s.Error + " " + s.Remedy)
		}
	}
	if reason != "" {
		v.Reason = &reason
	}
	for _, f := range p.Fields {
		kind, value := "text", section.Text(f.Name)
		if f.Secret {
			if kind = "password"; value != "" {
				value = maskedSecret
			}
		}
		v.Fields = append(v.Fields, field{f.Name, f.Label, kind, !f.Optional})
		v.Values[f.Name] = value
	}
	var err error
	v.ConnectionStatus, err = g.connectionStatus(c, p.Name)
	return v, err
}

// connectionStatus is how the user's newest connection with a chat app is.
func (g *Gateway) connectionStatus(c echo.Context, provider string) (string, error) {
	list, err := g.DB.Connections(c.Request().Context(), g.Owner(c))
	status := "not_connected"
	for _, one := range list {
		if one.Provider == provider && status != store.Connected {
			status = one.Status
		}
	}
	return status, err
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

func (g *Gateway) connections(c echo.Context) error {
	out := []connectionView{}
	if g.Channels.Hub != nil && g.connectable() {
		list, err := g.DB.Connections(c.Request().Context(), g.Owner(c))
		if err != nil {
			return err
		}
		for _, one := range list {
			out = append(out, connectionView{one.ID, one.Provider, one.Status, orNull(one.Account), orNull(one.AccountName),
				orNull(one.Workspace), orNull(one.WorkspaceName), []string{}, one.Metadata})
		}
	}
	return httpx.JSON(c, http.StatusOK, map[string]any{"connections": out})
}

func (g *Gateway) disconnect(c echo.Context) error {
	err := g.DB.Disconnect(c.Request().Context(), g.Owner(c), route.Param(c, "name"))
	if errors.Is(err, store.ErrNotFound) {
		return httpx.Errorf(http.StatusNotFound, "Connection not found")
	}
	if err != nil {
		return err
	}
	return c.NoContent(http.StatusNoContent)
}

func (g *Gateway) connect(c echo.Context, p channels.Provider) error {
	if !g.connectable() {
		return httpx.Errorf(http.StatusBadRequest, noConnections)
	}
	s, _ := g.Channels.Hub.Status(p.Name)
	if !s.Running {
		return httpx.Errorf(http.StatusBadRequest, "%s is not running", p.Display)
	}
	code, valid, err := g.Channels.Hub.Code(c.Request().Context(), g.Owner(c), p.Name)
	switch {
	case errors.Is(err, channels.ErrCodes):
		return httpx.Errorf(http.StatusTooManyRequests, "%s", err.Error())
	case errors.Is(err, channels.ErrNoBot):
		return httpx.Errorf(http.StatusBadRequest, "%s is not running", p.Display)
	case err != nil:
		return err
	}
	out := map[string]any{"provider": p.Name, "mode": "binding_code", "url": nil, "code": code,
		"instruction": "Send this to the bot in a private chat: /connect " + code, "expires_in": int(valid.Seconds())}
	handle := g.Config().File.ChannelConnections.BotName(p.Name)
	if handle == "" {
		handle = s.Me.Handle
	}
	if p.Link != nil {
		out["mode"] = "deep_link"
		if handle != "" {
			out["url"] = p.Link(handle, code)
			out["instruction"] = "Open the link and press Start, or send this to the bot: /start " + code
		}
	}
	return httpx.JSON(c, http.StatusOK, out)
}

// laidOver are the keys of a section with others over them.
type laidOver struct {
	config.Channel
	over map[string]string
}

// Text implements channels.Keys.
func (l laidOver) Text(key string) string {
	if v, ok := l.over[key]; ok {
		return v
	}
	return l.Channel.Text(key)
}

// credentials are what a form brings, with what is stored where it says so.
func (g *Gateway) credentials(p channels.Provider, values map[string]string) (laidOver, error) {
	section, _ := g.Config().File.Channel(p.Name)
	l := laidOver{section, map[string]string{}}
	for _, f := range p.Fields {
		if v, ok := values[f.Name]; ok && v != maskedSecret {
			l.over[f.Name] = strings.TrimSpace(v)
		}
	}
	if missing := p.Missing(l); len(missing) > 0 {
		return l, httpx.Errorf(http.StatusBadRequest, "Missing: %s", strings.Join(missing, ", "))
	}
	return l, nil
}

func (g *Gateway) configureChannel(c echo.Context, p channels.Provider, form map[string]string) error {
	if !g.connectable() {
		return httpx.Errorf(http.StatusBadRequest, noConnections)
	}
	l, err := g.credentials(p, form)
	if err != nil {
		return err
	}
	if g.Config().WritesChannel(p.Name) {
		return httpx.Errorf(http.StatusBadRequest, "%s is set up in the configuration file; change it there", p.Display)
	}
	ctx, cancel := context.WithTimeout(c.Request().Context(), channelTryTime)
	defer cancel()
	if _, err := g.Channels.Try(ctx, p.Name, l); err != nil {
		return httpx.Errorf(http.StatusBadRequest, "%s does not start: %s", p.Display, whyNot(err))
	}
	values, secrets := map[string]string{}, map[string]config.Secret{}
	for _, f := range p.Fields {
		v, ok := l.over[f.Name]
		switch {
		case !ok || v == "":
		case f.Secret:
			secrets[f.Name] = config.Secret(v)
		default:
			values[f.Name] = v
		}
	}
	if err := g.Settings.SetChannel(p.Name, values, secrets); err != nil {
		return settingsError(err)
	}
	g.Channels.Apply()
	ctx, cancel = context.WithTimeout(c.Request().Context(), channelStarts)
	defer cancel()
	if s, _ := g.Channels.Hub.Await(ctx, p.Name); s.Error != "" {
		return httpx.Errorf(http.StatusBadRequest, "%s does not start: %s", p.Display, s.Error)
	}
	v, err := g.viewProvider(c, p)
	if err != nil {
		return err
	}
	return httpx.JSON(c, http.StatusOK, v)
}

func (g *Gateway) removeChannel(c echo.Context, p channels.Provider) error {
	if !g.connectable() {
		return httpx.Errorf(http.StatusBadRequest, noConnections)
	}
	var keys []string
	for _, f := range p.Fields {
		keys = append(keys, f.Name)
	}
	if err := g.Settings.RemoveChannel(p.Name, keys); err != nil {
		return settingsError(err)
	}
	if err := g.DB.DisconnectAll(c.Request().Context(), p.Name); err != nil {
		return err
	}
	g.Channels.Apply()
	v, err := g.viewProvider(c, p)
	if err != nil {
		return err
	}
	return httpx.JSON(c, http.StatusOK, v)
}

// whyNot is an error of a chat app for people.
func whyNot(err error) string {
	var fatal *chat.Fatal
	if errors.As(err, &fatal) {
		return strings.TrimSpace(fatal.Reason + " " + fatal.Remedy)
	}
	return err.Error()
}
