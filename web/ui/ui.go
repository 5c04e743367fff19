// Package ui serves browsers: pages, their forms, and the live stream of a page. The pages of a chat and its actions
// are here; the packages below have all others. Package conversation shows a chat, and package page has the parts of
// every page.
//
// A handler reads the store and the runs, maps them to view models (package turns) and passes these to the components
// of package views. Every action is a plain form that ends in a redirect; the page's script sends the same form with
// "X-Fawn: 1" and gets a views.Frame as JSON.
//
// HTML belongs to the packages below views, the API of programs to package api. Begin with routes.go, then send.go (a
// message is sent) and thread.go (a chat is shown).
package ui

import (
	"context"
	"fmt"
	"net/http"

	"fawn/agent"
	"fawn/agent/community"
	collections "fawn/agent/knowledge"
	"fawn/agent/lead"
	"fawn/agent/llm"
	"fawn/agent/mcp"
	"fawn/agent/mcp/switches"
	"fawn/agent/profile"
	service "fawn/agent/projects"
	"fawn/agent/prompts"
	"fawn/agent/schedule"
	"fawn/agent/skills"
	"fawn/agent/skills/fetch"
	"fawn/agent/threads"
	"fawn/agent/tools"
	"fawn/agent/tracestore"
	"fawn/assets"
	"fawn/memory"
	"fawn/uploads"
	"fawn/views"
	accounts "fawn/web/account"
	"fawn/web/account/sso"
	"fawn/web/bots"
	"fawn/web/imports"
	"fawn/web/once"
	"fawn/web/openapi"
	"fawn/web/ui/account"
	"fawn/web/ui/agents"
	"fawn/web/ui/chats"
	"fawn/web/ui/conversation"
	"fawn/web/ui/export"
	"fawn/web/ui/files"
	"fawn/web/ui/insight"
	"fawn/web/ui/knowledge"
	"fawn/web/ui/page"
	"fawn/web/ui/projects"
	promptpages "fawn/web/ui/prompts"
	"fawn/web/ui/settings"
	"fawn/web/ui/share"
	"fawn/web/ui/tasks"
)

// Steps are the steps of signing in, shared by several servers.
type Steps = account.Steps

// Deps are the parts the pages show and change. All are required but Documents, Pictures and Draining.
type Deps struct {
	Site    *page.Site
	Steps   Steps                 // state of sign-ins shared by several servers
	Copier  *threads.Copier       // nil uses one that copies no files
	Uploads func() uploads.Config // the limits of this moment
	// Documents converts uploads; nil converts nothing.
	Documents uploads.Documents
	// Pictures creates thumbnails; nil creates none.
	Pictures uploads.Pictures
	Version  string
	Memory   *memory.Service     // facts about people; may be nil
	Spec     func() openapi.Spec // content of the API page; nil disables the page
	Tasks    *schedule.Tasks     // scheduled tasks; nil means no such page
	Agents   *profile.Library    // the custom agents; nil means none
	Projects *service.Service    // changes projects; nil creates one
	// Knowledge manages collections of documents; nil uses one that reads no web pages and converts nothing.
	Knowledge *collections.Service
	Skills    *skills.Library    // nil has no skills
	Fetch     *http.Client       // for skills at an address; nil reaches the public internet only
	Web       *community.Service // searches the web for agents; nil means none
	MCP       *mcp.Pool          // nil has no MCP servers
	Bots      *bots.Service      // bots of chat apps; nil means none
	// AppServer reports whether the apps of a server may be shown in a thread.
	AppServer func(ctx context.Context, owner, thread, server string) (bool, error)
	Apps      AppCalls                        // makes the calls of apps of MCP servers; nil with MCP
	Media     tools.Models                    // read aloud and transcribe; nil functions do neither
	Switches  *switches.Service               // tools switched off by thread; nil with MCP
	Aside     Aside                           // suggests next messages; may be nil
	Outward   lead.Outward                    // judges addresses that people have tried; nil judges none
	Window    func(name, provider string) int // tokens a model reads; nil = as configured
	Compact   Compactor                       // shortens conversations; may be nil
	Inspect   *tracestore.Service             // records of runs' calls; nil disables those pages
	// Backups describes the server's backups; nil omits it.
	Backups func() views.Backups
	// Print creates PDFs of chats; nil leaves that to the reader's browser.
	Print export.Printer
	// Restart ends every process of a thread's commands and reports whether there were any; nil without commands.
	Restart  func(ctx context.Context, thread string) (bool, error)
	SSO      *sso.Client     // signs in through other services; nil means none
	Draining context.Context // cancelled when live streams should end; nil means never
}

// AppCalls makes a call requested by an app of an MCP server, if permitted.
type AppCalls func(ctx context.Context, t *agent.Turn, tool *agent.Tool, c agent.ToolCall) (agent.Result, error)

// UI serves the pages of chats and of the packages below. Its only state is which follow-ups are being made.
type UI struct {
	Deps
	*conversation.Handlers
	speeches  speeches
	account   *account.Handlers
	settings  *settings.Handlers
	imports   *imports.Service
	agents    *agents.Handlers
	chats     *chats.Handlers
	projects  *projects.Handlers
	knowledge *knowledge.Handlers
	export    *export.Handlers
	files     *files.Handlers
	insight   *insight.Handlers
	share     *share.Handlers
	tasks     *tasks.Handlers
	prompts   *promptpages.Handlers

	keys       *once.Keys // keys of messages that may be sent again
	suggesting turnstile  // threads with follow-ups in the making
}

// Discarded notifies the trash of new chats.
func (u *UI) Discarded() { u.chats.Discarded() }

// EmptyTrash removes deleted threads of all owners when their time is up, until ctx ends.
func (u *UI) EmptyTrash(ctx context.Context) { u.chats.EmptyTrash(ctx) }

// Providers returns the services that people can sign in with, for clients of the API.
func (u *UI) Providers() []accounts.Provider { return u.account.Providers() }

// Export creates files of chats, for clients of the API.
func (u *UI) Export() *export.Handlers { return u.export }

// Imports creates chats from exports of other apps, for clients of the API.
func (u *UI) Imports() *imports.Service { return u.imports }

// New checks that everything the pages load is embedded.
func New(d Deps) (*UI, error) {
	if err := assets.Check(); err != nil {
		return nil, fmt.Errorf("pages: %w", err)
	}
	if d.Copier == nil {
		d.Copier = &threads.Copier{DB: d.Site.DB, Log: d.Site.Log}
	}
	if d.Documents == nil {
		d.Documents = uploads.NoDocuments{}
	}
	if d.Pictures == nil {
		d.Pictures = uploads.NoPictures{}
	}
	if d.Fetch == nil {
		d.Fetch = fetch.Client()
	}
	u := &UI{Deps: d, keys: once.New(d.Site.DB, d.Site.Log), Handlers: conversation.New(d.Site,
		conversation.Deps{Window: d.Window, MCP: d.MCP, Suggests: d.Aside != nil, Draining: d.Draining})}
	var err error
	if u.account, err = account.New(d.Site, d.SSO, d.Steps); err != nil {
		return nil, fmt.Errorf("pages: %w", err)
	}
	u.account.Names = u.names
	u.imports = &imports.Service{DB: d.Site.DB, Runs: d.Site.Runs, Dirs: d.Site.Dirs, Documents: d.Documents,
		Uploads: d.Uploads, Log: d.Site.Log}
	u.settings = settings.New(d.Site, u.account, settings.Deps{Agents: d.Agents, Skills: d.Skills, MCP: d.MCP,
		Memory: d.Memory, Bots: d.Bots, Documents: d.Documents, Backups: d.Backups, Web: d.Web, Version: d.Version,
		Discover: llm.Discover, Imports: u.imports, Outward: d.Outward})
	u.agents = &agents.Handlers{Site: d.Site,
		Deps: agents.Deps{Agents: d.Agents, Skills: d.Skills, Fetch: d.Fetch, Talk: u.beginMaking}}
	u.export = export.New(u.Handlers, d.Memory, d.Agents)
	u.export.Print = d.Print
	if d.Knowledge == nil {
		d.Knowledge = collections.New(collections.Config{DB: d.Site.DB, Runs: d.Site.Runs, Dirs: d.Site.Dirs, Log: d.Site.Log})
	}
	u.knowledge = &knowledge.Handlers{Site: d.Site, Knowledge: d.Knowledge, Uploads: d.Uploads}
	u.files = &files.Handlers{Handlers: u.Handlers, Archives: u.export, Uploads: d.Uploads, Documents: d.Documents, Knowledge: d.Knowledge,
		Pictures: d.Pictures, BackToBox: u.backToBox, Key: d.Steps.Key}
	u.share = &share.Handlers{Handlers: u.Handlers, Files: u.files}
	if d.Projects == nil {
		d.Projects = service.New(service.Config{DB: d.Site.DB, Runs: d.Site.Runs, Dirs: d.Site.Dirs, Documents: d.Documents, Log: d.Site.Log})
	}
	u.projects = &projects.Handlers{Site: d.Site, Projects: d.Projects, Agents: d.Agents, Skills: d.Skills,
		Memory: d.Memory, Uploads: d.Uploads}
	u.prompts = &promptpages.Handlers{Site: d.Site, Prompts: &prompts.Service{DB: d.Site.DB, Shares: d.Site.Guarded}}
	u.chats = chats.New(d.Site, d.Bots, u.runsCommands)
	u.chats.Prompts = u.savedPrompts
	u.insight = &insight.Handlers{Site: d.Site, Inspect: d.Inspect, Spec: d.Spec, Version: d.Version}
	u.tasks = &tasks.Handlers{Site: d.Site, Tasks: d.Tasks, Agents: d.Agents, Bots: d.Bots}
	return u, nil
}
