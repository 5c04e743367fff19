package ui

import (
	"cmp"
	"net"
	"net/http"
	"runtime"
	"slices"
	"strings"

	"github.com/labstack/echo/v4"

	"fawn/agent/community"
	"fawn/agent/config"
	"fawn/agent/subagent"
	"fawn/agent/tools"
	"fawn/assets"
	"fawn/store"
	"fawn/views"
	"fawn/views/i18n"
	"fawn/views/settings"
)

// settings is GET /workspace/settings/:section: a page, or the inside of a dialog when a part is
// asked for.
func (u *UI) settings(c echo.Context) error {
	section := param(c, "section")
	switch section {
	case "":
		if section = c.QueryParam("section"); !slices.Contains(u.sections(c), section) {
			section = "appearance"
		}
		return c.Redirect(http.StatusFound, views.SettingsURL(section))
	case "skills":
		return c.Redirect(http.StatusFound, views.SkillsURL)
	case "channels": // a place of DeerFlow's that has nothing in it yet
		return c.Redirect(http.StatusFound, views.SettingsURL("about"))
	}
	if !slices.Contains(u.sections(c), section) {
		return store.ErrNotFound
	}
	p, err := u.settingsPage(c, section)
	if err != nil {
		return err
	}
	switch section {
	case "account", "about":
		p.About = u.about(c)
		p.Config = cmp.Or(p.Config, u.configWarnings(c))
		if section == "account" && p.Shell.Who != nil {
			p.Config = nil
			if p.Account, err = u.accountSection(c); err != nil {
				return err
			}
		}
	case "sessions":
		if p.Sessions, err = u.sessionsSection(c); err != nil {
			return err
		}
	case "tokens":
		if p.Tokens, err = u.tokensSection(c); err != nil {
			return err
		}
	case "users":
		if p.Users, err = u.usersSection(c); err != nil {
			return err
		}
	case "models":
		if p.Models, err = u.modelsSection(c); err != nil {
			return err
		}
	case "notifications":
		chosen := readPrefs(c.Request())
		p.Notify = views.Notify{On: chosen.Notify == "on", Quiet: chosen.Quiet}
	case "personal":
		if p.Personal, err = u.personalSection(c); err != nil {
			return err
		}
	case "data":
		p.Data = views.Data{Lang: readPrefs(c.Request()).Lang}
		if u.Backups != nil && mayChange(c) {
			b := u.Backups()
			p.Data.Backups = &b
		}
	case "memory":
		if p.Memory, err = u.memorySection(c); err != nil {
			return err
		}
	case "tools":
		p.Tools, p.MayAdd = u.toolList(c), u.MCP != nil && mayChange(c)
		if mayChange(c) { // commands and addresses are the installation's
			p.Servers = u.mcpServers()
		}
		p.Known = u.knownToAdd()
	case "sandbox":
		p.Sandbox = u.box()
		if mayChange(c) {
			if p.Hosts, err = u.openHosts(c.Request().Context()); err != nil {
				return err
			}
		}
	}
	return html(c, http.StatusOK, settings.Page(p))
}

// sections are those that whoever asks may see.
func (u *UI) sections(c echo.Context) []string { return views.SectionsOf(views.Shell{Who: u.who(c)}) }

func (u *UI) settingsPage(c echo.Context, section string) (views.SettingsPage, error) {
	chosen := readPrefs(c.Request())
	p := views.SettingsPage{Section: section, Modal: fragment(c.Request()),
		Saved: c.QueryParam("saved") != "", Langs: i18n.Languages(),
		Size: chosen.Size, Loopback: u.loopback()}
	var err error
	p.Config = cmp.Or(u.configNotice(c), u.restartNotice(c))
	p.Shell, err = u.shell(c, views.NavSettings, "")
	return p, err
}

// showModels answers an action on models with the section it was on.
func (u *UI) showModels(c echo.Context, status int, m views.Models) error {
	p, err := u.settingsPage(c, "models")
	if err != nil {
		return err
	}
	p.Models = m
	return html(c, status, settings.Page(p))
}

func (u *UI) loopback() bool {
	host, _, err := net.SplitHostPort(u.Addr)
	ip := net.ParseIP(host)
	return err == nil && (host == "localhost" || ip != nil && ip.IsLoopback())
}

func (u *UI) about(c echo.Context) views.About {
	snap := u.Config.Current()
	a := views.About{Version: u.Version, Go: runtime.Version(), Platform: runtime.GOOS + "/" + runtime.GOARCH,
		Sandbox: u.box(), Parts: assets.Notices()}
	if mayChange(c) {
		a.Address, a.DataDir, a.ConfigPath, a.SettingsPath = u.Addr, snap.DataDir, snap.ConfigPath, snap.SettingsPath()
		a.Bundle = true
	}
	return a
}

// toolList is what of ours models can call, in the order they are told about it.
func (u *UI) toolList(c echo.Context) []views.ToolInfo {
	f := u.Config.Current().File
	off := func(on bool, key string) string {
		if on {
			return ""
		}
		return say(c, "settings.tool.switched", key)
	}
	var out []views.ToolInfo
	for _, t := range tools.Builtin(u.Dirs.Open, tools.DefaultLimits(), u.Documents) {
		out = append(out, views.ToolInfo{Name: t.Name})
	}
	bash := views.ToolInfo{Name: "bash"}
	if box := u.box(); box.State == views.SandboxOff {
		bash.Reason = cmp.Or(box.Reason, box.Provider)
	}
	out = append(out, bash)
	for _, name := range community.Names() {
		out = append(out, views.ToolInfo{Name: name, Reason: off(f.Web.Enabled, "web.enabled")})
	}
	out = append(out, views.ToolInfo{Name: subagent.Tool, Reason: off(f.Subagents.Enabled, "subagents.enabled")},
		views.ToolInfo{Name: tools.Todos().Name})
	if f.SkillEvolution.Enabled && u.Skills != nil {
		out = append(out, views.ToolInfo{Name: tools.SkillManage})
	}
	for _, d := range u.Config.Current().Disabled {
		if d.Kind == "tool" {
			out = append(out, views.ToolInfo{Name: d.Name, Reason: d.Reason})
		}
	}
	return out
}

// configWarnings lists what the configuration says in vain; nil when there is nothing.
func (u *UI) configWarnings(c echo.Context) *views.Notice {
	if !mayChange(c) {
		return nil
	}
	snap := u.Config.Current()
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
	return &views.Notice{Kind: views.NoticeInfo, Text: say(c, "config.warnings"), Detail: strings.Join(lines, "\n")}
}

// restartNotice names settings that were changed but are not in force yet; nil without any.
func (u *UI) restartNotice(c echo.Context) *views.Notice {
	if !mayChange(c) {
		return nil
	}
	keys := u.Config.Restart()
	if keys == "" {
		return nil
	}
	return &views.Notice{Kind: views.NoticeInfo, Text: say(c, "config.restart"), Detail: keys}
}

// configNotice says that the configuration cannot be used as it is now; nil when it can.
func (u *UI) configNotice(c echo.Context) *views.Notice {
	if !mayChange(c) {
		return nil
	}
	problem := u.Config.Problem()
	if problem == "" {
		return nil
	}
	return &views.Notice{Kind: views.NoticeWarn, Text: say(c, "config.problem"),
		Detail: strings.TrimPrefix(problem, config.KeptLastGood)}
}
