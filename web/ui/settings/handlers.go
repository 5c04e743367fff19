// Package settings serves the settings: models, MCP servers, memory, chat apps and personal preferences. Account
// settings are in package account.
package settings

import (
	"context"

	"fawn/agent/community"
	"fawn/agent/lead"
	"fawn/agent/llm"
	"fawn/agent/mcp"
	"fawn/agent/profile"
	"fawn/agent/skills"
	"fawn/memory"
	"fawn/uploads"
	"fawn/views"
	"fawn/web/bots"
	"fawn/web/imports"
	"fawn/web/ui/account"
	"fawn/web/ui/page"
)

// Deps are the parts that settings show and change. All but Documents and Discover may be nil.
type Deps struct {
	Agents    *profile.Library
	Skills    *skills.Library
	MCP       *mcp.Pool
	Memory    *memory.Service
	Bots      *bots.Service
	Documents uploads.Documents
	Web       *community.Service   // searches the web for agents
	Backups   func() views.Backups // returns the backup schedule and state
	Imports   *imports.Service
	Version   string
	// Discover finds model servers on this machine.
	Discover func(context.Context) []llm.Found
	// Outward judges addresses that people have tried; nil judges none.
	Outward lead.Outward
}

// Handlers serve the settings.
type Handlers struct {
	*page.Site
	Deps
	account *account.Handlers
	servers discovery
	probes  chan struct{} // holds one for each model that is being tried
}

// New returns the handlers.
func New(site *page.Site, a *account.Handlers, d Deps) *Handlers {
	return &Handlers{Site: site, Deps: d, account: a,
		probes: make(chan struct{}, maxProbes)}
}
