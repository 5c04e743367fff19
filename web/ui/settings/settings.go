// Package settings serves the settings: models, MCP servers, memory, chat apps and personal preferences. Account
// settings are in package account.
package settings

import (
	"cmp"
	"context"
	"net/http"
	"runtime"
	"slices"
	"strings"

	"github.com/labstack/echo/v4"

	"fawn/agent/browsing"
	"fawn/agent/community"
	"fawn/agent/lead"
	"fawn/agent/llm"
	"fawn/agent/mcp"
	"fawn/agent/profile"
	"fawn/agent/skills"
	"fawn/agent/subagent"
	"fawn/agent/tools"
	"fawn/assets"
	"fawn/memory"
	"fawn/store"
	"fawn/uploads"
	"fawn/views"
	"fawn/views/settings"
	"fawn/web/bots"
	"fawn/web/httpx"
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

// Routes returns the settings and their actions.
func (h *Handlers) Routes() []page.Route {
	return []page.Route{
		page.Post("/ui/web/by-name/:name/save", page.Operator, h.onService(h.saveService)),
		page.Post("/ui/web/by-name/:name/move", page.Operator, h.onService(h.moveService)),
		page.Post("/ui/web/by-name/:name/try", page.Operator, h.onService(h.tryService)),
		page.Post("/ui/media/by-name/:name", page.Operator, h.saveMedia),
		page.Post("/ui/web/fallback", page.Operator, h.switchFallback),
		page.Post("/ui/tools/by-name/:name/switch", page.Operator, h.switchTool),
		page.Post("/ui/mcp/add", page.Operator, h.withMCP(h.addServers)),
		page.Post("/ui/mcp/by-name/:name/switch", page.Operator, h.onServer(h.switchServer)),
		page.Post("/ui/mcp/by-name/:name/reconnect", page.Operator, h.onServer(h.reconnectServer)),
		page.Post("/ui/mcp/by-name/:name/approve", page.Operator, h.onServer(h.approveServer)),
		page.Post("/ui/mcp/by-name/:name/remove", page.Operator, h.onServer(h.removeServer)),
		page.Post("/ui/mcp/by-name/:name/login", page.Operator, h.withMCP(h.beginLogin)),
		page.Post("/ui/mcp/by-name/:name/logout", page.Operator, h.onServer(h.logout)),
		page.Get(httpx.MCPCallback, page.Operator, h.withMCP(h.endLogin)),
		page.Post("/ui/channels/by-name/:name/save", page.Operator, h.onApp(h.saveChannel)),
		page.Post("/ui/channels/by-name/:name/test", page.Operator, h.onApp(h.testChannel)),
		page.Post("/ui/channels/by-name/:name/remove", page.Operator, h.onApp(h.removeChannel)),
		page.Post("/ui/channels/by-name/:name/restart", page.Operator, h.onApp(h.restartChannel)),
		page.Post("/ui/channels/by-name/:name/scan", page.Operator, h.onApp(h.startScan)),
		page.Post("/ui/channels/by-name/:name/scanned", page.Operator, h.onApp(h.pollScan)),
		page.Post("/ui/channels/by-name/:name/unscan", page.Operator, h.onApp(h.cancelScan)),
		page.Post("/ui/channels/by-name/:name/group", page.Operator, h.onApp(h.changeGroup)),
		page.Post("/ui/channels/by-name/:name/pair", page.User, h.onApp(h.pairChannel)),
		page.Get("/ui/channels/by-name/:name/paired", page.User, h.onApp(h.pairedChannel)),
		page.Post("/ui/channels/connections/:id", page.User, h.revokeChannel),
		page.Post("/ui/channels/deliveries/:run", page.Operator, h.retryDelivery),
		page.Get("/workspace/settings", page.User, h.settings),
		page.Post("/ui/personal", page.User, h.savePersonal),
		page.Post("/ui/memory", page.User, h.changeMemory),
		page.Post("/ui/memory/import", page.User, h.importMemory),
		page.Post("/ui/import", page.User, h.previewImport),
		page.Post("/ui/import/confirm", page.User, h.confirmImport),
		page.Post("/ui/import/undo", page.User, h.undoImport),
		page.Get("/workspace/settings/:section", page.User, h.settings),
		page.Post("/ui/prefs", page.User, h.SavePrefs),
		page.Post("/ui/models", page.Operator, h.addModel),
		page.Post("/ui/models/change", page.Operator, h.changeModel),
		page.Post("/ui/models/found", page.Operator, h.useFound),
		page.Post("/ui/models/probe", page.Operator, h.probeModel),
		page.Post("/ui/models/remove", page.Operator, h.removeModel),
		page.Post("/ui/models/default", page.Operator, h.makeDefault),
		page.Post("/ui/hosts", page.Operator, h.closeHost),
	}
}

// settings handles GET /workspace/settings/:section: a page, or the inside of a dialog when a part is asked for.
func (h *Handlers) settings(c echo.Context) error {
	section := page.Param(c, "section")
	switch section {
	case "":
		if section = c.QueryParam("section"); section == "usage" { // a page of its own
			return c.Redirect(http.StatusFound, views.UsageHomeURL)
		}
		if !slices.Contains(h.sections(c), section) {
			section = "appearance"
		}
		return c.Redirect(http.StatusFound, views.SettingsURL(section))
	case "skills":
		return c.Redirect(http.StatusFound, views.SkillsURL)
	}
	locked := !page.MayChange(c) && slices.Contains(views.OperatorSections(), section)
	if !locked && !slices.Contains(h.sections(c), section) {
		return store.ErrNotFound
	}
	p, err := h.Settings(c, section)
	if err != nil {
		return err
	}
	if locked {
		p.Locked = true
		return page.HTML(c, http.StatusOK, settings.Page(p))
	}
	switch section {
	case "account", "about":
		p.About = h.about(c)
		p.Config = cmp.Or(p.Config, h.configWarnings(c))
		if section == "account" && p.Shell.Who != nil {
			p.Config = nil
			if p.Account, err = h.account.Section(c); err != nil {
				return err
			}
		}
	case "sessions":
		if p.Sessions, err = h.account.Sessions(c); err != nil {
			return err
		}
	case "tokens":
		if p.Tokens, err = h.account.Tokens(c); err != nil {
			return err
		}
	case "users":
		if p.Users, err = h.account.Users(c); err != nil {
			return err
		}
	case "groups":
		if p.Groups, err = h.account.Groups(c); err != nil {
			return err
		}
	case "announcements":
		if p.News, err = h.account.Announcements(c); err != nil {
			return err
		}
	case "models":
		if p.Models, err = h.modelsSection(c); err != nil {
			return err
		}
	case "notifications":
		chosen := page.ReadPrefs(c.Request())
		p.Notify = views.Notify{On: chosen.Notify == "on", Quiet: chosen.Quiet}
	case "personal":
		if p.Personal, err = h.personalSection(c); err != nil {
			return err
		}
	case "data":
		if p.Data, err = h.dataSection(c); err != nil {
			return err
		}
	case "memory":
		if p.Memory, err = h.memorySection(c); err != nil {
			return err
		}
	case "tools":
		p.Tools, p.Web, p.Media = h.toolList(c), h.webServices(), h.mediaModels()
	case "mcp":
		p.Servers, p.MayAdd, p.Known = h.mcpServers(), h.MCP != nil, h.knownToAdd()
	case "channels":
		if p.Channels, err = h.channelsSection(c); err != nil {
			return err
		}
	case "sandbox":
		p.Sandbox = h.Box()
		if p.Hosts, err = h.openHosts(c.Request().Context()); err != nil {
			return err
		}
	}
	return page.HTML(c, http.StatusOK, settings.Page(p))
}

// sections returns the sections that the reader may see.
func (h *Handlers) sections(c echo.Context) []string {
	return views.SectionsOf(views.Shell{Who: h.Who(c)})
}

// showModels answers an action on models with the section it was on.
func (h *Handlers) showModels(c echo.Context, status int, m views.Models) error {
	p, err := h.Settings(c, "models")
	if err != nil {
		return err
	}
	p.Models = m
	return page.HTML(c, status, settings.Page(p))
}

func (h *Handlers) about(c echo.Context) views.About {
	snap := h.Config.Current()
	a := views.About{Version: h.Version, Go: runtime.Version(), Platform: runtime.GOOS + "/" + runtime.GOARCH,
		Sandbox: h.Box(), Parts: assets.Notices()}
	if page.MayChange(c) {
		a.Address, a.DataDir, a.ConfigPath, a.Bundle, a.Operator = h.Addr, snap.DataDir, snap.ConfigPath, true, true
		if shared, _ := h.Config.Shared(); !shared { // otherwise they are in the database
			a.SettingsPath = snap.SettingsPath()
		}
	}
	return a
}

// toolList lists built-in tools in the order in which models see them.
func (h *Handlers) toolList(c echo.Context) []views.ToolInfo {
	f := h.Config.Current().File
	off := func(on bool, key string) string {
		if on {
			return ""
		}
		return page.Say(c, "settings.tool.switched", key)
	}
	var out []views.ToolInfo
	for _, t := range tools.Builtin(h.Dirs.Open, tools.DefaultLimits(), h.Documents) {
		out = append(out, views.ToolInfo{Name: t.Name})
	}
	bash := views.ToolInfo{Name: "bash"}
	if box := h.Box(); box.State == views.SandboxOff {
		bash.Reason = cmp.Or(box.Reason, box.Provider)
	}
	out = append(out, bash)
	for _, name := range community.Names() {
		out = append(out, views.ToolInfo{Name: name, Reason: off(f.Web.Enabled, "web.enabled")})
	}
	if h.Browsers != nil && h.Browsers.Ready() {
		for _, name := range browsing.Names() {
			out = append(out, views.ToolInfo{Name: name, Reason: off(f.Browser.Enabled, "browser.enabled")})
		}
	}
	for _, t := range tools.Media(h.Dirs.Open, tools.Models{}) {
		if !lead.Modelless(f, t) {
			out = append(out, views.ToolInfo{Name: t.Name})
		}
	}
	out = append(out, views.ToolInfo{Name: subagent.Tool, Reason: off(f.Subagents.Enabled, "subagents.enabled")},
		views.ToolInfo{Name: tools.Todos().Name, Fixed: true})
	if f.SkillEvolution.Enabled && h.Skills != nil {
		out = append(out, views.ToolInfo{Name: tools.SkillManage})
	}
	for _, d := range h.Config.Current().Disabled {
		if d.Kind == "tool" && !slices.ContainsFunc(out, func(t views.ToolInfo) bool { return t.Name == d.Name }) {
			out = append(out, views.ToolInfo{Name: d.Name, Reason: d.Reason, Fixed: true})
		}
	}
	for i := range out {
		out[i].Off = slices.Contains(f.DisabledTools, out[i].Name)
	}
	return out
}

// configWarnings lists settings without effect; nil if there are none.
func (h *Handlers) configWarnings(c echo.Context) *views.Notice {
	if !page.MayChange(c) {
		return nil
	}
	snap := h.Config.Current()
	var lines []string
	for _, w := range snap.Warnings {
		lines = append(lines, strings.TrimPrefix(w.Place()+": "+w.Message, ": "))
	}
	for _, d := range snap.Disabled {
		lines = append(lines, d.String())
	}
	if len(lines) == 0 {
		return nil
	}
	return &views.Notice{Kind: views.NoticeInfo, Text: page.Say(c, "config.warnings"),
		Detail: strings.Join(lines, "\n")}
}
