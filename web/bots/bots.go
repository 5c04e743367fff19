// Package bots sets up the bots of chat apps: it configures and tests them, connects accounts, and reports their
// status. The API and the settings page both use it. The bots themselves are package agent/channels.
package bots

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"fawn/agent/channels"
	"fawn/agent/channels/chat"
	"fawn/agent/config"
	"fawn/store"
)

// Masked represents a stored secret. Sending it back keeps the secret.
const Masked = "********"

const (
	startTime = 10 * time.Second // time for a bot to connect while its form waits
	tryTime   = 15 * time.Second
)

// Service is the bots of one server. A nil Service has none.
type Service struct {
	Hub    *channels.Hub
	DB     *store.DB
	Config *config.Store
	Apply  func() // applies the configuration to the Hub at once
	// Open creates a bot with the configured access to its platform. It makes no network call.
	Open func(p channels.Provider, k channels.Keys) (chat.Channel, error)
	// Options returns the network access of an app's bot.
	Options func(p channels.Provider) chat.Options
}

// Available reports whether the server can run bots at all.
func (s *Service) Available() bool { return s != nil && s.Hub != nil }

// Connectable reports whether people may connect their accounts.
func (s *Service) Connectable() bool { return s.Config.Current().File.ChannelConnections.Enabled }

// A Cause is why something was refused.
type Cause string

// The causes.
const (
	Off     Cause = "off"     // accounts can't be connected
	Missing Cause = "missing" // credentials, which Detail names
	Written Cause = "file"    // config.yaml sets the app up
	Failing Cause = "fails"   // the platform rejects the credentials; Detail has the reason
	Stopped Cause = "stopped" // the bot doesn't run
	Codes   Cause = "codes"   // too many codes are open
	Scanned Cause = "scanned" // signing in by QR code is switched off
)

// Refused is an error for people.
type Refused struct {
	Cause  Cause
	App    string // its name
	Detail string
	// Trouble is the problem of Failing.
	Trouble chat.Trouble
}

func (r *Refused) Error() string {
	switch r.Cause {
	case Off:
		return "Channel connections are not enabled"
	case Missing:
		return "Missing: " + r.Detail
	case Written:
		return r.App + " is set up in the configuration file; change it there"
	case Failing:
		return r.App + " does not start: " + r.Detail
	case Codes:
		return channels.ErrCodes.Error()
	case Scanned:
		return "Signing in to " + r.App + " by QR code is not enabled"
	}
	return r.App + " is not running"
}

// App is a configured chat app with the state of its bot.
type App struct {
	channels.Provider
	Section config.Channel
	Written bool // set up in config.yaml, so settings can't change it
	Missing []string
	Exists  bool // a bot exists, connected or not
	Status  channels.Status
}

// App describes a chat app.
func (s *Service) App(p channels.Provider) App {
	snap := s.Config.Current()
	a := App{Provider: p, Written: snap.WritesChannel(p.Name)}
	a.Section, _ = snap.File.Channel(p.Name)
	a.Missing = p.Missing(a.Section)
	a.Status, a.Exists = s.Hub.Status(p.Name)
	return a
}

// Running reports whether the bot is connected.
func (a App) Running() bool { return a.Exists && a.Status.Running }

// Public reports whether anyone may write to the bot.
func (a App) Public() bool { return slices.Contains(a.Section.List("allowed_users"), "*") }

// Value returns a credential as it may be shown.
func (a App) Value(f channels.Field) string {
	v := a.Section.Text(f.Name)
	if f.Secret && v != "" {
		return Masked
	}
	return v
}

// Reason returns the reason why the bot can't be used; empty if it can.
func (a App) Reason() string {
	switch {
	case len(a.Missing) > 0:
		return "Enter the credentials: " + strings.Join(a.Missing, ", ")
	case !a.Section.Enabled:
		return "The channel is switched off"
	case a.Running():
		return ""
	case a.Status.Error != "":
		return strings.TrimSpace(a.Status.Error + " " + a.Status.Remedy)
	}
	return "The channel is not running"
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

// credentials returns a form's values, with stored ones for masked fields.
func (s *Service) credentials(p channels.Provider, values map[string]string) (laidOver, error) {
	section, _ := s.Config.Current().File.Channel(p.Name)
	l := laidOver{section, map[string]string{}}
	for _, f := range p.Fields {
		if v, ok := values[f.Name]; ok && v != Masked {
			l.over[f.Name] = strings.TrimSpace(v)
		}
	}
	if missing := p.Missing(l); len(missing) > 0 {
		return l, &Refused{Cause: Missing, App: p.Display, Detail: strings.Join(missing, ", ")}
	}
	return l, nil
}

// Tried is the result of signing in with credentials.
type Tried struct {
	Me    chat.Me
	Took  time.Duration
	Lacks []chat.Lack // permissions missing for the bot
	Err   error       // nil if the credentials work
}

// Test signs in with credentials and checks for missing permissions, without storing anything. The error is *Refused.
func (s *Service) Test(ctx context.Context, p channels.Provider, values map[string]string) (Tried, error) {
	l, err := s.credentials(p, values)
	if err != nil {
		return Tried{}, err
	}
	ch, err := s.Open(p, l)
	if err != nil {
		return Tried{Err: err}, nil
	}
	return Try(ctx, ch), nil
}

// Try signs a bot in and checks for missing permissions, by read-only calls.
func Try(ctx context.Context, ch chat.Channel) Tried {
	t := signIn(ctx, ch)
	if x, ok := ch.(chat.Examiner); ok && t.Err == nil {
		ctx, cancel := context.WithTimeout(ctx, tryTime)
		defer cancel()
		t.Lacks, t.Err = x.Examine(ctx)
	}
	return t
}

func signIn(ctx context.Context, ch chat.Channel) (t Tried) {
	ctx, cancel := context.WithTimeout(ctx, tryTime)
	defer cancel()
	began := time.Now()
	t.Me, t.Err = ch.Check(ctx)
	t.Took = time.Since(began)
	return t
}

// Prevents describes the work a bot can't do without a permission, in a sentence.
func Prevents(l chat.Loss) string {
	switch l {
	case chat.LosesAll:
		return "No message reaches the bot."
	case chat.LosesPrivate:
		return "Private messages don't reach the bot."
	case chat.LosesGroups:
		return "The bot can't be used in groups and channels."
	case chat.LosesSecluded:
		return "The bot reads nothing in private channels."
	case chat.LosesAnswers:
		return "The bot can't answer."
	case chat.LosesFilesIn:
		return "The bot can't read files that people send."
	case chat.LosesFilesOut:
		return "The bot can't send files."
	case chat.LosesSigns:
		return "The bot can't show that it is working."
	case chat.LosesStop:
		return "A reaction can't stop an answer."
	}
	return "Something the bot does isn't possible."
}

// Configure stores valid credentials and waits briefly for the bot to connect. Errors are *Refused, those of the
// settings, and those of config.Store.
func (s *Service) Configure(ctx context.Context, p channels.Provider, values map[string]string) error {
	if !s.Connectable() {
		return &Refused{Cause: Off, App: p.Display}
	}
	l, err := s.credentials(p, values)
	if err != nil {
		return err
	}
	if s.Config.Current().WritesChannel(p.Name) {
		return &Refused{Cause: Written, App: p.Display}
	}
	ch, err := s.Open(p, l)
	if err == nil {
		err = signIn(ctx, ch).Err
	}
	if err != nil {
		return &Refused{Failing, p.Display, Explain(err), chat.TroubleOf(err)}
	}
	plain, secrets := map[string]string{}, map[string]config.Secret{}
	for _, f := range p.Fields {
		v, ok := l.over[f.Name]
		switch {
		case !ok || v == "":
		case f.Secret:
			secrets[f.Name] = config.Secret(v)
		default:
			plain[f.Name] = v
		}
	}
	return s.store(ctx, p, plain, secrets)
}

// store applies the configuration to a bot, and waits briefly for it to connect.
func (s *Service) store(ctx context.Context, p channels.Provider, plain map[string]string,
	secrets map[string]config.Secret) error {
	if err := s.Config.SetChannel(p.Name, plain, secrets); err != nil {
		return err
	}
	s.Apply()
	ctx, cancel := context.WithTimeout(ctx, startTime)
	defer cancel()
	if now, _ := s.Hub.Await(ctx, p.Name); now.Error != "" {
		return &Refused{Failing, p.Display, now.Error, now.Trouble}
	}
	return nil
}

// Remove switches a bot off, forgets its credentials and revokes all its connections.
func (s *Service) Remove(ctx context.Context, p channels.Provider) error {
	if !s.Connectable() {
		return &Refused{Cause: Off, App: p.Display}
	}
	var keys []string
	for _, f := range p.Fields {
		keys = append(keys, f.Name)
	}
	if p.Scan != nil {
		keys = append(keys, "ilink_bot_id", "base_url")
	}
	if err := s.Config.RemoveChannel(p.Name, keys); err != nil {
		return err
	}
	if err := s.DB.DisconnectAll(ctx, p.Name); err != nil {
		return err
	}
	if err := s.Hub.Revoked(ctx, p.Name); err != nil {
		return err
	}
	s.Apply()
	return nil
}

// Offer is a code that connects an account, once.
type Offer struct {
	Code  string
	Valid time.Duration
	Link  string // opens the bot with the code; empty without such a link
}

// Connect creates an Offer. Errors are *Refused and those of the store.
func (s *Service) Connect(ctx context.Context, owner string, p channels.Provider) (o Offer, err error) {
	if !s.Connectable() {
		return o, &Refused{Cause: Off, App: p.Display}
	}
	status, _ := s.Hub.Status(p.Name)
	if !status.Running {
		return o, &Refused{Cause: Stopped, App: p.Display}
	}
	o.Code, o.Valid, err = s.Hub.Code(ctx, owner, p.Name)
	switch {
	case errors.Is(err, channels.ErrCodes):
		return o, &Refused{Cause: Codes, App: p.Display}
	case errors.Is(err, channels.ErrNoBot):
		return o, &Refused{Cause: Stopped, App: p.Display}
	case err != nil:
		return o, err
	}
	handle := s.Config.Current().File.ChannelConnections.BotName(p.Name)
	if handle == "" {
		handle = status.Me.Handle
	}
	if p.Link != nil && handle != "" {
		o.Link = p.Link(handle, o.Code)
	}
	return o, nil
}

// Connection statuses besides those of the store.
const (
	NotConnected = "not_connected"
	Pending      = "pending" // a code is pending
)

// Connection returns the state of an owner's newest connection to a chat app.
func (s *Service) Connection(ctx context.Context, owner, provider string) (string, error) {
	list, err := s.DB.Connections(ctx, owner)
	if err != nil {
		return "", err
	}
	status := NotConnected
	for _, one := range list {
		if one.Provider == provider && status != store.Connected {
			status = one.Status
		}
	}
	if status == store.Connected {
		return status, nil
	}
	open, err := s.DB.OpenChannelCodes(ctx, owner, provider)
	if err == nil && open > 0 {
		status = Pending
	}
	return status, err
}

// Explain returns an error of a chat app for people.
func Explain(err error) string {
	var fatal *chat.Fatal
	if errors.As(err, &fatal) {
		return strings.TrimSpace(fatal.Reason + " " + fatal.Remedy)
	}
	return err.Error()
}

// Revoke ends an owner's connection and its pending deliveries, and returns it. ErrNotFound without one of that id.
func (s *Service) Revoke(ctx context.Context, owner, id string) (store.Connection, error) {
	var one store.Connection
	list, err := s.DB.Connections(ctx, owner)
	if err != nil {
		return one, err
	}
	if i := slices.IndexFunc(list, func(c store.Connection) bool { return c.ID == id }); i >= 0 {
		one = list[i]
	}
	if err := s.DB.Disconnect(ctx, owner, id); err != nil {
		return one, err
	}
	return one, s.Hub.Revoked(ctx, one.Provider)
}

// ChatChange is a change of a chat's settings; nil fields are unchanged.
type ChatChange struct {
	Enabled *bool
	Members *string // all or paired; empty uses the channel's setting
}

// ChangeChat changes whom a bot answers in a chat. by is the deciding account. ErrNotFound if the chat is unknown.
func (s *Service) ChangeChat(ctx context.Context, provider, chat, by string, ch ChatChange) (store.ChannelChat, error) {
	c, err := s.DB.ChannelChat(ctx, provider, chat, "")
	if err != nil {
		return c, err
	}
	if ch.Enabled != nil {
		if c.EnabledBy = ""; *ch.Enabled {
			c.EnabledBy = by
		}
	}
	if ch.Members != nil {
		settings := map[string]any{}
		if len(c.Settings) > 0 {
			if err := json.Unmarshal(c.Settings, &settings); err != nil {
				return c, fmt.Errorf("settings of a chat of %s: %w", provider, err)
			}
		}
		if settings["members"] = *ch.Members; *ch.Members == "" {
			delete(settings, "members")
		}
		if c.Settings, err = json.Marshal(settings); err != nil {
			return c, err
		}
	}
	if err := s.DB.PutChannelChat(ctx, c); err != nil || c.EnabledBy != "" {
		return c, err
	}
	return c, s.Hub.Revoked(ctx, provider)
}
