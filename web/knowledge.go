package web

import (
	"context"
	"errors"
	"io/fs"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"time"

	"fawn/agent"
	"fawn/agent/community"
	"fawn/agent/config"
	"fawn/agent/knowledge"
	"fawn/agent/lead"
	"fawn/agent/llm/embed"
	"fawn/agent/profile"
	"fawn/sandbox/netguard"
	"fawn/store"
	"fawn/uploads"
)

// Limits of a repository.
const (
	repositoryTime  = 10 * time.Minute
	repositoryBytes = 512 << 20
)

// openKnowledge starts the service of collections.
func (e *engine) openKnowledge(conf *config.Store, d *data, t *tools, n network, log *slog.Logger) {
	e.knowledge = knowledge.New(knowledge.Config{DB: d.db, Runs: e.runs, Dirs: d.dirs,
		Convert: t.converter.Convert,
		Page: func(ctx context.Context, address string) (knowledge.Page, error) {
			title, at, text, err := t.web.Page(ctx, address)
			if err != nil { // a person is told, who knows nothing of tools
				return knowledge.Page{}, errors.New(strings.TrimPrefix(err.Error(), community.WebFetch+": "))
			}
			return knowledge.Page{Title: title, Address: at, Text: text}, nil
		},
		Git:      func() *http.Client { return repositories(conf, n) },
		Folders:  func() []string { return conf.Current().File.Knowledge.Folders },
		Most:     func() int64 { return conf.Current().File.Knowledge.MaxBytes },
		Temp:     d.dirs.Root,
		Embedder: embedder(conf, log),
		Log:      log})
}

// repositories returns a client for git repositories with the network rules of web_fetch.
func repositories(conf *config.Store, n network) *http.Client {
	set := lead.WebSettings(conf.Current())
	limits := netguard.ClientLimits{Body: repositoryBytes, Time: repositoryTime}
	if len(set.Ports) > 0 {
		limits.Ports = append([]int{80, 443, 8080, 8443}, set.Ports...)
	}
	return netguard.Client(n.web(set.Private), limits)
}

// embedder returns a function for the configured embedding model, whose result is nil for none.
func embedder(conf *config.Store, log *slog.Logger) func() knowledge.Embedder {
	var mu sync.Mutex
	var made *embed.Client
	var of config.Endpoint
	return func() knowledge.Embedder {
		e := conf.Current().File.Embeddings
		mu.Lock()
		defer mu.Unlock()
		if e != of {
			var err error
			of, made = e, nil
			if e.Model != "" {
				if made, err = embed.New(embed.Config{Model: e.Model, BaseURL: e.BaseURL, APIKey: string(e.APIKey)}); err != nil {
					log.Error("embedding model unusable", "err", err)
				}
			}
		}
		if made == nil {
			return nil
		}
		return made
	}
}

// known is the collections of documents that a run names, or its project or agent, for its tools.
type known struct {
	db      *store.DB
	engine  *engine
	library *library
}

// named returns the collections with the given names that a person may read, in a chat of a project of owner; "" for
// none.
func (k known) named(ctx context.Context, person, owner string, names []string) ([]lead.Collection, error) {
	list, err := k.engine.knowledge.Named(ctx, person, names, owners(owner)...)
	out := make([]lead.Collection, 0, len(list))
	for _, c := range list {
		out = append(out, lead.Collection{Name: c.Name, About: c.About})
	}
	return out, err
}

// owners returns the owners whose collections take precedence for a name.
func owners(project string) []string {
	if project == "" {
		return nil
	}
	return []string{project}
}

// of returns the collections that a run may search now.
func (k known) of(ctx context.Context, t *agent.Turn) ([]store.Collection, error) {
	if t.Options.Guest {
		return nil, nil
	}
	p, err := k.db.ProjectOf(ctx, t.ThreadID)
	if err != nil {
		return nil, err
	}
	names := append(p.Settings.Knowledge, t.Options.Knowledge...)
	if name := t.Options.AgentName; name != "" && k.library.agents != nil {
		one, err := k.library.agents.Get(t.Owner, name)
		var bad *profile.Invalid
		if err != nil && !errors.Is(err, profile.ErrNotFound) && !errors.As(err, &bad) {
			return nil, err
		}
		names = append(names, one.Knowledge...)
	}
	return k.engine.knowledge.Named(ctx, t.Owner, names, owners(p.Owner)...)
}

// Search implements [tools.Knowledge].
func (k known) Search(ctx context.Context, t *agent.Turn, q uploads.Query) ([]uploads.Passage, int, error) {
	list, err := k.of(ctx, t)
	if err != nil || len(list) == 0 {
		return nil, 0, err
	}
	hits, err := k.engine.knowledge.Search(ctx, list, q.Words, q.Files, q.Limit)
	found := make([]uploads.Passage, 0, len(hits))
	for _, h := range hits {
		found = append(found, h.Passage)
	}
	return found, len(list), err
}

// Text implements [tools.Knowledge].
func (k known) Text(ctx context.Context, t *agent.Turn, path string) (string, error) {
	list, err := k.of(ctx, t)
	if err != nil {
		return "", err
	}
	_, _, text, err := k.engine.knowledge.FindIn(ctx, list, path)
	if errors.Is(err, store.ErrNotFound) {
		err = fs.ErrNotExist
	}
	return text, err
}
