package web

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime/multipart"
	"net/http"
	"os"
	"strings"

	"fawn/agent"
	"fawn/agent/channels"
	"fawn/agent/channels/chat"
	"fawn/agent/clusterstate"
	"fawn/agent/config"
	"fawn/agent/lead"
	"fawn/agent/schedule"
	"fawn/sandbox/netguard"
	"fawn/store"
	"fawn/uploads"
	"fawn/web/bots"
	"fawn/web/ui/page"
)

// openChannels creates the chat apps' bots. Configured ones start once the runs are loaded.
func (a *App) openChannels() *channels.Hub {
	c := channels.Config{DB: a.data.db, Runs: a.engine.runs, Log: a.opts.Log, Save: a.takeUpload, Open: a.openOutput,
		Models: a.modelsFor,
		Skill: func(name string) bool {
			s, err := a.library.skills.Get(name)
			return err == nil && s.Enabled
		},
		Facts: func(ctx context.Context, owner string) (int, error) {
			all, err := a.engine.memory.All(ctx, owner)
			return len(all), err
		}}
	c.Listens = func() bool { return a.config.Current().File.Transcription.Model != "" }
	c.Listen = a.transcribe
	c.Notes = clusterstate.NotesIn(a.data.shared)
	if a.data.db.Clustered() {
		c.Elsewhere = a.remoteBot
	}
	if a.insight.metrics != nil {
		c.Observer = a.insight.metrics.Channels(func() map[string]channels.Load { return a.background.channels.Loads() })
	}
	return channels.New(c)
}

// modelsFor returns the names of the models that a person may use.
func (a *App) modelsFor(ctx context.Context, owner string) (names []string) {
	may, err := a.people.access.Of(ctx, owner)
	if err != nil {
		a.opts.Log.Error("couldn't read a user's allowed models", "user", owner, "err", err)
		return nil
	}
	for _, m := range lead.Permitted(a.config.Current().UsableModels(), may) {
		names = append(names, m.Name)
	}
	return names
}

// systemLanguage returns the tag of the language that the server's environment asks for.
func systemLanguage() string {
	tag, _, _ := strings.Cut(cmp.Or(os.Getenv("LC_ALL"), os.Getenv("LC_MESSAGES"), os.Getenv("LANG")), ".")
	return tag
}

// channelSettings returns the bots that the configuration asks for.
func (a *App) channelSettings(snap *config.Snapshot) channels.Settings {
	f := &snap.File
	s := channels.Settings{MaxRuns: f.ChannelNumber("max_concurrency", 5),
		MaxWaiting: f.ChannelNumber("inbound_queue_maxsize", 1000),
		Lang:       cmp.Or(f.ChannelText("language"), systemLanguage()),
		RequireBound: snap.Origin("channel_connections.enabled").Source != "default" && f.ChannelConnections.Enabled &&
			f.ChannelConnections.RequireBoundIdentity}
	if hosts := f.Server.Hosts; len(hosts) > 0 {
		s.Web = "https://" + hosts[0] + a.front.base
	}
	session, _ := f.Channels["session"].(map[string]any)
	if !a.background.hasBots.Load() { // another server has them
		return s
	}
	for _, p := range channels.Providers() {
		c, written := f.Channel(p.Name)
		if !written || !c.Enabled || len(p.Missing(c)) > 0 {
			continue
		}
		s.Bots = append(s.Bots, a.bot(p, c, session, f.ChannelConnections.BotName(p.Name)))
	}
	return s
}

// bot returns the configuration of a chat app. Its own session settings override the common ones.
func (a *App) bot(p channels.Provider, c config.Channel, all map[string]any, name string) channels.Bot {
	own := c.Section("session")
	b := channels.Bot{Provider: p.Name, Name: p.Display, Warning: p.Warning, Allowed: c.List("allowed_users"),
		Handle: name, Unasked: !c.Switch("require_mention", c.Switch("mention_only", true)),
		Guests:  c.Text("members") == channels.MembersAll,
		Context: laid(all, own, "context"), Config: laid(all, own, "config"),
		Open: func() (chat.Channel, error) { return p.Open(c, a.chatOptions(c)) }}
	for _, s := range []map[string]any{all, own} {
		if id, ok := s["assistant_id"].(string); ok {
			b.Assistant = id
		}
	}
	if h := c.Text("bot_username"); h != "" {
		b.Handle = h
	}
	stamp, err := json.Marshal(c.Keys)
	if err != nil { // values of a configuration file always encode
		stamp = fmt.Append(nil, c.Keys)
	}
	b.Stamp = string(stamp)
	return b
}

// laid returns a section of the session of all chat apps with that of one over it.
func laid(all, own map[string]any, key string) map[string]any {
	out := map[string]any{}
	for _, s := range []map[string]any{all, own} {
		section, _ := s[key].(map[string]any)
		for k, v := range section {
			out[k] = v
		}
	}
	return out
}

// chatOptions returns the network access of a bot: through the guard that refuses private networks, unless the owner names
// an address on this machine.
func (a *App) chatOptions(c config.Channel) chat.Options {
	o := chat.Options{BaseURL: c.Text("base_url")}
	if o.BaseURL == "" {
		guard := a.network.guard("channels", nil)
		o.HTTP = &http.Client{Transport: guardedTransport(guard)}
	}
	return o
}

// TriedBot is the result of signing in a chat app's bot.
type TriedBot struct {
	bots.Tried
	App  string // its name
	Left bool   // not tried: signing in would end the connection of a running server
}

// TryBots signs in each bot that the configuration switches on, by calls that only read.
func TryBots(ctx context.Context, snap *config.Snapshot) []TriedBot {
	var all []TriedBot
	for _, p := range channels.Providers() {
		c, written := snap.File.Channel(p.Name)
		if !written || !c.Enabled {
			continue
		}
		t := TriedBot{App: p.Display}
		o := chat.Options{BaseURL: c.Text("base_url")}
		if o.BaseURL == "" {
			o.HTTP = &http.Client{Transport: guardedTransport(&netguard.Guard{})}
		}
		ch, err := p.Open(c, o)
		_, known := ch.(chat.Known)
		switch {
		case err != nil:
			t.Err = err
		case known:
			t.Left = true
		default:
			t.Tried = bots.Try(ctx, ch)
		}
		if o.HTTP != nil {
			o.HTTP.CloseIdleConnections()
		}
		all = append(all, t)
	}
	return all
}

// idleConns is the number of idle connections kept per host. Answers to several chats are sent concurrently.
const idleConns = 16

func guardedTransport(g *netguard.Guard) *http.Transport {
	t := http.DefaultTransport.(*http.Transport).Clone()
	t.MaxIdleConnsPerHost = idleConns
	t.DialContext, t.Proxy = g.DialContext, nil
	return t
}

// planResult returns the message that the chat of a task gets.
func (a *App) planResult(ctx context.Context, c store.Cron, thread, failed string) (store.Outbound, error) {
	d, _ := channels.ParseDestination(c.Deliver) // an invalid one belongs to no one
	return a.background.channels.Plan(ctx, d, channels.Result{Owner: c.Owner, Thread: thread, Failed: failed,
		Task: cmp.Or(c.Title, page.FirstWords(schedule.Prompt(c.Payload)), "Task")})
}

// takeUpload stores the files of a form in the uploads of a thread, as a request of the API would.
func (a *App) takeUpload(ctx context.Context, thread string, form *multipart.Reader) (r uploads.Result, err error) {
	if err := a.data.dirs.Create(thread); err != nil {
		return r, err
	}
	tree, err := a.data.dirs.Open(thread)
	if err != nil {
		return r, err
	}
	defer func() { err = errors.Join(err, tree.Close()) }()
	if r, err = uploads.Save(ctx, tree, thread, form, a.uploadLimits()); err != nil {
		return r, err
	}
	if err := a.data.dirs.Save(ctx, thread); err != nil {
		return r, err
	}
	var names []string
	for _, f := range r.Files {
		names = append(names, f.Filename)
	}
	return r, a.tools.documents.Add(ctx, thread, names...)
}

// transcribe writes down a voice message of a chat app.
func (a *App) transcribe(ctx context.Context, name string, audio io.Reader) (string, error) {
	m, err := a.engine.builder.Media().Transcription()
	if err != nil {
		return "", err
	}
	return m.Transcribe(ctx, name, audio, "")
}

// openOutput opens a file of a thread.
func (a *App) openOutput(thread, path string) (_ io.ReadCloser, size int64, err error) {
	tree, err := a.data.dirs.Open(thread)
	if err != nil {
		return nil, 0, err
	}
	defer func() { err = errors.Join(err, tree.Close()) }()
	f, info, err := tree.Open(path)
	if err != nil {
		return nil, 0, err
	}
	if !info.Mode().IsRegular() {
		return nil, 0, errors.Join(fmt.Errorf("%s isn't a file", path), f.Close())
	}
	return f, info.Size(), nil
}

// byStranger reports from a thread's metadata whether a stranger began it in an open chat.
func byStranger(metadata json.RawMessage) bool {
	var meta struct {
		Source struct {
			Open bool `json:"open"`
		} `json:"channel_source"`
	}
	return json.Unmarshal(metadata, &meta) == nil && meta.Source.Open
}

// harmless returns the tools that strangers' runs have.
func harmless(t *agent.Tool) bool { return t.Name == "web_search" }

// chatApps returns the service of bots for the API and the pages.
func (a *App) chatApps() *bots.Service {
	return &bots.Service{Hub: a.background.channels, DB: a.data.db, Config: a.config,
		Apply: func() { a.background.channels.Apply(a.channelSettings(a.config.Current())) },
		Open: func(p channels.Provider, k channels.Keys) (chat.Channel, error) {
			c, _ := a.config.Current().File.Channel(p.Name)
			return p.Open(k, a.chatOptions(c))
		},
		Options: func(p channels.Provider) chat.Options {
			c, _ := a.config.Current().File.Channel(p.Name)
			return a.chatOptions(c)
		}}
}
