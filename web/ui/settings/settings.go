package settings

import (
	"cmp"
	"net/http"
	"runtime"
	"slices"
	"strings"

	"github.com/labstack/echo/v4"

	"fawn/agent/browsing"
	"fawn/agent/community"
	"fawn/agent/lead"
	"fawn/agent/subagent"
	"fawn/agent/tools"
	"fawn/assets"
	"fawn/store"
	"fawn/views"
	"fawn/views/settings"
	"fawn/web/ui/page"
)

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
