package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	"fawn/agent/channels/chat"
	"fawn/agent/config"
	"fawn/agent/lead"
	"fawn/agent/llm"
	"fawn/sandbox/providers"
	"fawn/store"
	"fawn/web"
	"fawn/web/bots"
	"fawn/web/storage"
	"fawn/web/traceexport"
)

// Doctor checks everything needed for a start and reports the results line by line. Like a start it creates a missing
// data folder and migrates its database; nothing else changes. ok is false if Fawn wouldn't work.
func Doctor(ctx context.Context, o web.Options) (ok bool, err error) {
	d := &doctor{out: o.Out, ok: true}
	if o.Addr == "" {
		o.Addr = web.DefaultAddr
	}
	d.line("good", "version", o.Version)
	dir, err := config.DataDir(o.Data)
	if err != nil {
		return false, err
	}
	if err := web.Ready(dir, o.Log); err != nil {
		d.line("bad", "data folder", err.Error())
	} else {
		d.line("good", "data folder", dir)
		if d.postgreSQL(ctx, o, dir) {
			d.database(ctx, o, dir)
		}
	}
	d.address(ctx, o.Addr)
	snap, err := config.Load(config.Options{Config: o.Config, DataDir: dir, Classes: lead.Classes()})
	if err != nil {
		d.line("bad", "config", err.Error())
		return false, d.err
	}
	d.configuration(snap)
	d.accounts(o, snap)
	d.tls(ctx, snap, dir)
	d.files(ctx, snap)
	d.sandbox(ctx, snap, dir)
	d.models(ctx, snap)
	d.bots(ctx, snap)
	d.insight(ctx, snap)
	return d.ok, d.err
}

type doctor struct {
	out io.Writer
	ok  bool
	err error // error of writing
}

func (d *doctor) line(mark, what, text string) {
	sign := map[string]string{"good": "ok  ", "bad": "FAIL", "note": "note"}[mark]
	d.ok = d.ok && mark != "bad"
	text = strings.ReplaceAll(strings.TrimSpace(text), "\n", "\n                    ")
	if _, err := fmt.Fprintf(d.out, "%s  %-13s %s\n", sign, what, text); err != nil {
		d.err = err
	}
}

func (d *doctor) database(ctx context.Context, o web.Options, dir string) {
	db, _, err := web.OpenStore(ctx, o, dir)
	if errors.Is(err, config.ErrInvalid) {
		d.line("note", "database", "not checked, as the configuration does not say which")
		return
	}
	var locked *store.LockedError
	if errors.As(err, &locked) {
		d.line("note", "database", err.Error()+"; not checked")
		return
	}
	if err != nil {
		d.line("bad", "database", err.Error())
		return
	}
	defer db.Close()
	broken, err := db.Check(ctx)
	switch size, sizeErr := db.Size(ctx); {
	case err != nil || sizeErr != nil:
		d.line("bad", "database", errors.Join(err, sizeErr).Error())
	case len(broken) > 0:
		d.line("bad", "database", strings.Join(broken, "\n"))
	default:
		d.line("good", "database", fmt.Sprintf("%.1f MB, all references are intact", float64(size)/1e6))
	}
}

func (d *doctor) address(ctx context.Context, addr string) {
	l, err := new(net.ListenConfig).Listen(ctx, "tcp", addr)
	if err != nil {
		d.line("note", "address", fmt.Sprintf("%s is in use (by Fawn itself if it's running)", addr))
		return
	}
	if err := l.Close(); err != nil {
		d.line("bad", "address", err.Error())
		return
	}
	d.line("good", "address", addr+" is free")
}

func (d *doctor) configuration(s *config.Snapshot) {
	if s.ConfigPath == "" {
		d.line("good", "config",
			"none, which is fine; Fawn looks for ./config.yaml and "+s.DataDir+string(os.PathSeparator)+"config.yaml")
	} else {
		d.line("good", "config", s.ConfigPath)
	}
	for _, w := range s.Warnings {
		d.line("note", "config", w.String())
	}
	for _, x := range s.Disabled {
		d.line("note", "config", x.String())
	}
}

// sandbox tries the providers with a throw-away thread and shows every layer.
func (d *doctor) sandbox(ctx context.Context, s *config.Snapshot, dir string) {
	dirs, err := storage.Dirs(s, dir)
	if err != nil {
		d.line("bad", "sandbox", err.Error())
		return
	}
	c := lead.SandboxConfig(s.File.Sandbox, dirs, slog.New(slog.DiscardHandler))
	c.Provider = lead.SandboxProvider(s)
	p, err := providers.New(ctx, c)
	if err != nil {
		d.line("bad", "sandbox", err.Error())
		return
	}
	defer p.Close(ctx)
	r := p.Probe(ctx)
	for _, t := range r.Tried {
		d.line("note", "sandbox", strings.TrimSpace(fmt.Sprintf("%s does not work here: %s %s %s %s\n%s", t.Provider,
			t.Reason, t.Step, t.Errno, t.Detail, t.Hint)))
	}
	if !r.OK {
		d.line("note", "sandbox", "commands are disabled: "+r.Reason)
		return
	}
	d.line("good", "sandbox", r.Provider+": "+strings.Join(r.Layers, ", "))
	if r.Detail != "" {
		d.line("note", "sandbox", r.Detail)
	}
	for _, weak := range r.Degraded {
		d.line("note", "sandbox", "reduced isolation: "+weak)
	}
}

func (d *doctor) models(ctx context.Context, s *config.Snapshot) {
	usable := s.UsableModels()
	probed := make([]llm.Probed, len(usable))
	var calls errgroup.Group
	calls.SetLimit(4)
	for i, m := range usable {
		calls.Go(func() error { probed[i] = lead.Probe(ctx, m); return nil })
	}
	_ = calls.Wait() // they return no errors
	for i, m := range usable {
		d.model(m, probed[i])
	}
	if len(usable) == 0 {
		d.line("note", "model", "none configured: the built-in offline model answers. It isn't an AI; see the README for how to connect one")
	}
	for _, k := range llm.KeysInEnv() {
		d.line("note", "found", k+" is set in the environment")
	}
	for _, f := range llm.Discover(ctx) {
		d.line("note", "found", fmt.Sprintf("%s at %s with %s", f.Name, f.BaseURL, strings.Join(f.Models, ", ")))
	}
}

// model reports the outcome of a real call to a model, quoting the provider if it failed.
func (d *doctor) model(m config.Model, p llm.Probed) {
	what := fmt.Sprintf("%s (%s)", m.Name, m.Use)
	if p.OK {
		d.line("good", "model", fmt.Sprintf("%s answered in %s", what, p.Took.Round(time.Millisecond)))
		if p.BaseURL != m.BaseURL && len(p.Tried) > 1 {
			d.line("bad", "model",
				fmt.Sprintf("%s answers at a different address than configured; set base_url: %s", m.Name, p.BaseURL))
		}
		return
	}
	text, class, status := llm.Words(p.Err)
	at := ""
	if p.BaseURL != "" {
		at = " at " + p.BaseURL
	}
	if status != 0 {
		class = fmt.Sprintf("%s, status %d", class, status)
	}
	d.line("bad", "model", fmt.Sprintf("%s doesn't answer%s (%s):\n%s", what, at, class, text))
}

// bots reports whether the chat apps' bots can sign in, and the effect of missing permissions.
func (d *doctor) bots(ctx context.Context, s *config.Snapshot) {
	for _, b := range web.TryBots(ctx, s) {
		switch {
		case b.Left:
			d.line("note", "bot", b.App+" is not tried: to sign in would end the connection of a running server")
		case b.Err != nil:
			d.line("bad", "bot", b.App+" doesn't work: "+bots.Explain(b.Err))
		default:
			d.line("good", "bot", b.App+" signs in as "+b.Me.Name)
		}
		for _, l := range b.Lacks {
			mark := "note"
			if l.Loses == chat.LosesAll {
				mark = "bad"
			}
			d.line(mark, "bot", fmt.Sprintf("%s, %s: %s", b.App, l.Need, bots.Prevents(l.Loses)))
		}
	}
}

// tryTime limits the wait for a collector's response.
const tryTime = 5 * time.Second

// insight reports access to metrics and traces.
func (d *doctor) insight(ctx context.Context, s *config.Snapshot) {
	switch m := s.File.Metrics; {
	case !m.Enabled:
		d.line("note", "metrics", "off")
	case m.Token == "":
		d.line("good", "metrics", "/metrics answers whoever runs the installation")
	default:
		d.line("good", "metrics", "/metrics answers whoever runs the installation, or sends metrics.token")
	}
	for _, t := range web.TraceTargets(s) {
		ctx, cancel := context.WithTimeout(ctx, tryTime)
		err := traceexport.Try(ctx, t)
		cancel()
		if err != nil {
			d.line("note", "tracing", fmt.Sprintf("%s doesn't take traces: %v", t.Name, err))
		} else {
			d.line("good", "tracing", fmt.Sprintf("%s at %s takes traces", t.Name, t.URL))
		}
	}
}

// accounts reports who may use the server, with common mistakes.
func (d *doctor) accounts(o web.Options, s *config.Snapshot) {
	host, _, err := net.SplitHostPort(o.Addr)
	local := err == nil && web.IsLoopback(host)
	server := s.File.Server
	switch mode := s.File.Auth.Required; {
	case mode == "never" && !local:
		d.line("note", "accounts",
			"off: whoever can reach "+o.Addr+" has the owner's rights; remove auth.required: never")
	case mode == "never" || mode == "auto" && local:
		if len(server.TrustedProxies)+len(server.Hosts) > 0 || server.BasePath != "" {
			d.line("note", "accounts", "off, but the configuration is for a reverse proxy: whoever reaches that has the owner's "+
				"rights. Set auth.required: always, unless the proxy controls access")
			return
		}
		d.line("good", "accounts", "not needed: only this machine can reach "+o.Addr)
	case len(server.TrustedProxies) == 0 && local:
		d.line("note", "accounts", "needed. If a reverse proxy is in front, name it in server.trusted_proxies: otherwise all "+
			"visitors share its address")
	default:
		d.line("good", "accounts", "needed")
	}
}

// files tests the object store with the files of threads, if there is one.
func (d *doctor) files(ctx context.Context, snap *config.Snapshot) {
	b, err := storage.Bucket(snap, nil)
	if b == nil && err == nil {
		return
	}
	if err == nil {
		defer b.Close()
		err = storage.Try(ctx, b)
	}
	if err != nil {
		d.line("bad", "files", err.Error())
		return
	}
	d.line("good", "files", snap.File.Files.URL+" takes objects, returns them and removes them")
}
