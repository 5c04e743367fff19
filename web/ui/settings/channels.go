package settings

import (
	"cmp"
	"errors"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/labstack/echo/v4"

	"fawn/agent/channels"
	"fawn/agent/channels/chat"
	"fawn/agent/config"
	"fawn/agent/runs"
	"fawn/store"
	"fawn/views"
	"fawn/views/part"
	"fawn/views/settings"
	"fawn/web/bots"
	"fawn/web/httpx"
	"fawn/web/principal"
	"fawn/web/ui/page"
)

const (
	maxGroups      = 200 // limit of listed groups of all chat apps
	maxUndelivered = 50
)

// onApp returns the handler of an action on the chat app that a path names.
func (h *Handlers) onApp(do func(echo.Context, channels.Provider) error) echo.HandlerFunc {
	return func(c echo.Context) error {
		p, known := channels.ProviderOf(page.Param(c, "name"))
		if !known || !h.Bots.Available() {
			return store.ErrNotFound
		}
		return do(c, p)
	}
}

// channelsSection returns the list of chat apps. The one in the address is expanded.
func (h *Handlers) channelsSection(c echo.Context) (views.Channels, error) {
	out := views.Channels{MayChange: page.MayChange(c), Missing: !h.Bots.Available()}
	if out.Missing {
		return out, nil
	}
	out.Closed = !h.Bots.Connectable()
	for _, p := range channels.Providers() {
		a, err := h.channelApp(c, p)
		if err != nil {
			return out, err
		}
		a.Open = c.QueryParam("open") == p.Name
		out.Apps = append(out.Apps, a)
	}
	var err error
	if out.MayChange {
		out.Undelivered, err = h.undelivered(c)
	}
	return out, err
}

// channelApp returns a chat app as the reader may see it.
func (h *Handlers) channelApp(c echo.Context, p channels.Provider) (views.ChannelApp, error) {
	ctx, a := c.Request().Context(), h.Bots.App(p)
	s := a.Status
	v := views.ChannelApp{Name: p.Name, Label: p.Display, State: channelState(a), InFile: a.Written, Public: a.Public(),
		MayChange: page.MayChange(c), Trial: p.Experimental, Bot: s.Me.Name, Since: s.Since, LastIn: s.LastIn, LastOut: s.LastOut,
		Reconnects: s.Reconnects, Waiting: s.Waiting}
	if s.Me.Handle != "" {
		v.Bot = "@" + s.Me.Handle
	}
	if !s.Running {
		v.Since = time.Time{}
	}
	if s.RateLimited.After(time.Now()) {
		v.Limited = s.RateLimited
	}
	people, err := h.DB.Connections(ctx, principal.Owner(ctx))
	if err != nil {
		return v, err
	}
	for _, one := range people {
		if one.Provider == p.Name && one.Status == store.Connected {
			v.People = append(v.People, personOf(one))
		}
	}
	if !v.MayChange { // the rest is the installation's
		v.InFile, v.Waiting, v.Reconnects = false, 0, 0
		return v, nil
	}
	if s.Error != "" {
		v.Error, v.ErrorAt = page.Trouble(p.Name, s.Trouble), s.ErrorAt
	}
	for _, f := range p.Fields {
		field := views.ChannelField{Name: f.Name, Label: f.Label, Secret: f.Secret, Optional: f.Optional,
			Saved: a.Section.Text(f.Name) != ""}
		if !f.Secret {
			field.Value = a.Value(f)
		}
		v.Fields = append(v.Fields, field)
	}
	v.CanScan = h.Bots.Connectable() && h.Bots.Scannable(p)
	open, err := h.DB.OpenAnswers(ctx, p.Name)
	if err != nil {
		return v, err
	}
	v.Undelivered = len(open)
	for _, one := range open {
		if one.Error != "" && v.Unsent == nil {
			v.Unsent = page.Trouble(p.Name, channels.Trouble(one))
		}
	}
	chats, err := h.DB.ChannelChats(ctx, p.Name, maxGroups, 0)
	for _, g := range chats {
		if g.Kind == "group" && g.Topic == "" {
			v.Groups = append(v.Groups,
				views.ChannelGroup{Chat: g.Chat, Name: cmp.Or(g.Name, g.Chat), On: g.EnabledBy != ""})
		}
	}
	return v, err
}

func channelState(a bots.App) views.ChannelState {
	switch {
	case len(a.Missing) > 0:
		return views.ChannelNew
	case !a.Section.Enabled:
		return views.ChannelOff
	case a.Running():
		return views.ChannelConnected
	case a.Status.Error != "":
		return views.ChannelFailed
	}
	return views.ChannelStarting
}

func personOf(c store.Connection) views.ChannelPerson {
	return views.ChannelPerson{ID: c.ID, Name: cmp.Or(c.AccountName, c.Account), Account: c.Account,
		Workspace: cmp.Or(c.WorkspaceName, c.Workspace), Since: c.CreatedAt}
}

// undelivered returns the answers that did not reach their chats, one line for each.
func (h *Handlers) undelivered(c echo.Context) (out []views.Undelivered, err error) {
	ctx := c.Request().Context()
	list, err := h.DB.Undelivered(ctx, maxUndelivered)
	for _, o := range list {
		if slices.ContainsFunc(out, func(v views.Undelivered) bool { return v.Run == o.Run }) {
			continue
		}
		v := views.Undelivered{Run: o.Run, App: o.Provider, Chat: o.Chat, At: o.At}
		if o.Error != "" {
			v.Why = page.Trouble(o.Provider, channels.Trouble(o))
		}
		if p, known := channels.ProviderOf(o.Provider); known {
			v.App = p.Display
		}
		if one, err := h.DB.ChannelChat(ctx, o.Provider, o.Chat, o.Topic); err == nil && one.Name != "" {
			v.Chat = one.Name
		}
		out = append(out, v)
	}
	return out, err
}

// showChannel responds with the section after change edited one app.
func (h *Handlers) showChannel(c echo.Context, status int, name string, change func(*views.ChannelApp)) error {
	p, err := h.Settings(c, "channels")
	if err != nil {
		return err
	}
	if p.Channels, err = h.channelsSection(c); err != nil {
		return err
	}
	for i := range p.Channels.Apps {
		if a := &p.Channels.Apps[i]; a.Name == name {
			a.Open = true
			change(a)
		}
	}
	return page.HTML(c, status, settings.Page(p))
}

// refusedChannel shows why an action on an app was refused; other errors are the caller's.
func (h *Handlers) refusedChannel(c echo.Context, p channels.Provider, err error) error {
	problem := channelProblem(c, p, err)
	var no *bots.Refused
	if problem == "" && !errors.As(err, &no) {
		return err
	}
	return h.showChannel(c, http.StatusUnprocessableEntity, p.Name, func(a *views.ChannelApp) {
		if a.Problem = problem; problem == "" {
			a.Refused = page.Trouble(p.Name, no.Trouble)
		}
	})
}

// channelProblem returns a refusal in the reader's language; "" for any other error, and for one of the platform's.
func channelProblem(c echo.Context, p channels.Provider, err error) string {
	var no *bots.Refused
	ctx := page.Localized(c)
	var wrong *config.EditError
	switch {
	case errors.As(err, &no) && no.Cause == bots.Failing:
		return ""
	case errors.As(err, &no) && no.Cause == bots.Missing:
		return part.OfApp(ctx, "channels.refused."+string(no.Cause), p.Display, views.Safe(no.Detail))
	case errors.As(err, &no) && (no.Cause == bots.Written || no.Cause == bots.Stopped):
		return part.OfApp(ctx, "channels.refused."+string(no.Cause), p.Display)
	case errors.As(err, &no):
		return page.Say(c, "channels.refused."+string(no.Cause))
	case errors.As(err, &wrong) && wrong.Reason == config.NoSecretKey:
		return page.Say(c, "models.wrong.no_secret_key")
	case errors.Is(err, config.ErrChanged):
		return page.Say(c, "settings.changed")
	case errors.As(err, &wrong), errors.Is(err, config.ErrInvalid), errors.Is(err, config.ErrOwners),
		errors.Is(err, config.ErrFixed):
		return err.Error()
	}
	return ""
}

func channelDone(c echo.Context, name string) error {
	return c.Redirect(http.StatusSeeOther, views.SettingsURL("channels")+"?open="+url.QueryEscape(name))
}

// credentialsOf returns an app's fields in a form. An empty secret keeps the stored one.
func credentialsOf(p channels.Provider, form url.Values) map[string]string {
	values := map[string]string{}
	for _, f := range p.Fields {
		v := strings.TrimSpace(page.OneLine(page.PlainText(form.Get(f.Name))))
		if f.Secret && v == "" {
			v = bots.Masked
		}
		values[f.Name] = v
	}
	return values
}

// saveChannel handles POST /ui/channels/by-name/:name/save.
func (h *Handlers) saveChannel(c echo.Context, p channels.Provider) error {
	form, err := page.ReadForm(c.Request(), page.SmallForm)
	if err != nil {
		return err
	}
	if err := h.Bots.Configure(c.Request().Context(), p, credentialsOf(p, form)); err != nil {
		return h.refusedChannel(c, p, err)
	}
	return channelDone(c, p.Name)
}

// testChannel handles POST /ui/channels/by-name/:name/test: it signs in with the form's values.
func (h *Handlers) testChannel(c echo.Context, p channels.Provider) error {
	form, err := page.ReadForm(c.Request(), page.SmallForm)
	if err != nil {
		return err
	}
	select {
	case h.probes <- struct{}{}:
		defer func() { <-h.probes }()
	case <-c.Request().Context().Done():
		return c.Request().Context().Err()
	}
	values := credentialsOf(p, form)
	t, err := h.Bots.Test(c.Request().Context(), p, values)
	out := views.ChannelTest{OK: err == nil && t.Err == nil, Bot: t.Me.Name, App: p.Name}
	for _, l := range t.Lacks {
		out.Lacks = append(out.Lacks, views.ChannelLack{Need: l.Need, Loses: string(l.Loses)})
	}
	switch {
	case err != nil:
		if out.Error = channelProblem(c, p, err); out.Error == "" {
			return err
		}
	case t.Err != nil:
		out.Why = page.Trouble(p.Name, chat.TroubleOf(t.Err))
	default:
		if t.Me.Handle != "" {
			out.Bot = "@" + t.Me.Handle
		}
		out.Took = strconv.FormatInt(max(t.Took.Milliseconds(), 1), 10)
	}
	if page.WantsFragment(c.Request()) {
		return page.HTML(c, http.StatusOK, settings.ChannelTest(page.ReadPrefs(c.Request()).Lang, out))
	}
	return h.showChannel(c, http.StatusOK, p.Name, func(a *views.ChannelApp) {
		a.Test = &out
		for i := range a.Fields {
			if f := &a.Fields[i]; !f.Secret {
				f.Value = values[f.Name]
			}
		}
	})
}

// removeChannel handles POST /ui/channels/by-name/:name/remove.
func (h *Handlers) removeChannel(c echo.Context, p channels.Provider) error {
	if err := h.Bots.Remove(c.Request().Context(), p); err != nil {
		return h.refusedChannel(c, p, err)
	}
	return channelDone(c, p.Name)
}

// restartChannel handles POST /ui/channels/by-name/:name/restart.
func (h *Handlers) restartChannel(c echo.Context, p channels.Provider) error {
	if _, err := h.Bots.Restart(c.Request().Context(), p.Name); err != nil {
		return err
	}
	return channelDone(c, p.Name)
}

// pairChannel handles POST /ui/channels/by-name/:name/pair: the section with a code, which is shown this once.
func (h *Handlers) pairChannel(c echo.Context, p channels.Provider) error {
	ctx, now := c.Request().Context(), h.DB.Now()
	offer, err := h.Bots.Connect(ctx, principal.Owner(ctx), p)
	if err != nil {
		return h.refusedChannel(c, p, err)
	}
	return h.showChannel(c, http.StatusOK, p.Name, func(a *views.ChannelApp) {
		a.Offer = &views.ChannelOffer{Code: offer.Code, Link: offer.Link, Minutes: int(offer.Valid.Minutes()),
			Since: now.UnixMilli()}
	})
}

// pairedChannel handles GET /ui/channels/by-name/:name/paired: nothing while the code of a moment waits, then the app
// with the account that used it.
func (h *Handlers) pairedChannel(c echo.Context, p channels.Provider) error {
	if !page.WantsFragment(c.Request()) {
		return channelDone(c, p.Name)
	}
	ms, err := strconv.ParseInt(c.QueryParam("since"), 10, 64)
	if err != nil {
		return httpx.Errorf(http.StatusBadRequest, "since isn't a valid time")
	}
	a, err := h.channelApp(c, p)
	if err != nil {
		return err
	}
	a.Open, a.Expired = true, h.DB.Now().Sub(time.UnixMilli(ms)) > channels.CodeTime
	for _, one := range a.People {
		if one.Since.UnixMilli() >= ms {
			a.Joined, a.Expired = one.Name, false
		}
	}
	if a.Joined == "" && !a.Expired {
		return c.NoContent(http.StatusNoContent)
	}
	return page.HTML(c, http.StatusOK, settings.ChannelApp(page.ReadPrefs(c.Request()).Lang, a))
}

// revokeChannel handles POST /ui/channels/connections/:id.
func (h *Handlers) revokeChannel(c echo.Context) error {
	if !h.Bots.Available() {
		return store.ErrNotFound
	}
	ctx := c.Request().Context()
	one, err := h.Bots.Revoke(ctx, principal.Owner(ctx), page.Param(c, "id"))
	if err != nil && !errors.Is(err, store.ErrNotFound) { // revoked meanwhile
		return err
	}
	return channelDone(c, one.Provider)
}

// changeGroup handles POST /ui/channels/by-name/:name/group: it allows the bot to answer in a group, forbids it, or
// forgets the group.
func (h *Handlers) changeGroup(c echo.Context, p channels.Provider) error {
	form, err := page.ReadForm(c.Request(), page.SmallForm)
	if err != nil {
		return err
	}
	ctx, chat := c.Request().Context(), form.Get("chat")
	switch form.Get("do") {
	case "forget":
		err = h.DB.ForgetChannelChat(ctx, p.Name, chat)
	case "allow", "mute":
		on := form.Get("do") == "allow"
		_, err = h.Bots.ChangeChat(ctx, p.Name, chat, principal.Owner(ctx), bots.ChatChange{Enabled: &on})
	default:
		return httpx.Errorf(http.StatusNotFound, "there is no such action")
	}
	if err != nil && !errors.Is(err, store.ErrNotFound) { // forgotten meanwhile
		return err
	}
	return channelDone(c, p.Name)
}

// retryDelivery handles POST /ui/channels/deliveries/:run: an active or missing delivery isn't an error.
func (h *Handlers) retryDelivery(c echo.Context) error {
	if !h.Bots.Available() {
		return store.ErrNotFound
	}
	err := h.Bots.Retry(c.Request().Context(), page.Param(c, "run"))
	switch {
	case errors.Is(err, channels.ErrNoBot):
		return httpx.Errorf(http.StatusConflict, "%s", page.Say(c, "channels.retry.stopped"))
	case err != nil && !errors.Is(err, runs.ErrBusy) && !errors.Is(err, runs.ErrNotFound):
		return err
	}
	return c.Redirect(http.StatusSeeOther, views.SettingsURL("channels"))
}
