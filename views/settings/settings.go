package settings

import (
	"context"
	"strings"

	"github.com/a-h/templ"

	"fawn/views"
	"fawn/views/i18n"
)

// Page renders the settings page, or the inside of the dialog.
func Page(p views.SettingsPage) templ.Component {
	if p.Modal {
		return i18n.In(p.Shell.Lang, modal(p))
	}
	return i18n.In(p.Shell.Lang, page(p))
}

// memoryChoices returns the categories that people can choose.
func memoryChoices() []string {
	return []string{"preference", "knowledge", "context", "behavior", "goal", "correction"}
}

// memoryCategory returns the name of a category; others have invented more.
func memoryCategory(ctx context.Context, category string) string {
	key := "memory.category." + category
	if s := i18n.C(ctx, key); s != key {
		return s
	}
	return views.Safe(category)
}

// memoryDraft returns the content of the form for an existing or new fact.
func memoryDraft(m views.Memory, text string) string {
	if m.Draft != "" && (text == "") == (m.Edit == "") {
		return m.Draft
	}
	return text
}

func state(ctx context.Context, off bool) string {
	if off {
		return i18n.C(ctx, "settings.off")
	}
	return i18n.C(ctx, "settings.on")
}

func size(p views.SettingsPage) int {
	if p.Size == 0 {
		return 16
	}
	return p.Size
}

// toolName returns a tool's name for people, by default its own.
func toolName(ctx context.Context, name string) string {
	key := "settings.toolname." + name
	if s := i18n.C(ctx, key); s != key {
		return s
	}
	return views.Safe(name)
}

// ready reports whether a service could be asked.
func ready(s views.WebService) bool {
	return s.Place > 0 || !s.Search && (!s.NeedsKey || s.KeyFrom != "")
}

func readyKey(s views.WebService) string {
	switch {
	case ready(s):
		return "settings.on"
	case s.Own:
		return "web.needs.address"
	case s.NeedsKey && s.KeyFrom == "":
		return "web.needs.key"
	}
	return "settings.off"
}

// serviceDoes describes a service's strengths and limits.
func serviceDoes(ctx context.Context, s views.WebService) string {
	var parts []string
	if s.Search {
		parts = append(parts, i18n.C(ctx, "web.does.search"))
	}
	if s.Images {
		parts = append(parts, i18n.C(ctx, "web.does.images"))
	}
	if s.Read {
		parts = append(parts, i18n.C(ctx, "web.does.read"))
	}
	text := strings.Join(parts, ", ")
	if !ready(s) {
		text += " · " + i18n.C(ctx, readyKey(s))
	}
	return text
}

func serviceKeyHint(ctx context.Context, s views.WebService) string {
	switch s.KeyFrom {
	case "here":
		return i18n.C(ctx, "models.key.stored")
	case "environment":
		return i18n.C(ctx, "web.key.env", s.Key)
	}
	if !s.NeedsKey {
		return i18n.C(ctx, "web.key.optional")
	}
	return i18n.C(ctx, "models.key.hint")
}

// toolText describes a tool, by default by its name.
func toolText(ctx context.Context, name string) string {
	key := "settings.tool." + name
	if s := i18n.C(ctx, key); s != key {
		return s
	}
	return ""
}

func badgeColour(s views.SandboxState) string {
	switch s {
	case views.SandboxGood:
		return "pine"
	case views.SandboxWeak:
		return "amber"
	}
	return "rose"
}

func badgeIcon(s views.SandboxState) string {
	switch s {
	case views.SandboxGood:
		return "check"
	case views.SandboxWeak:
		return "triangle-alert"
	}
	return "circle-alert"
}

func badgeText(ctx context.Context, s views.Sandbox) string {
	if s.State == views.SandboxOff {
		return i18n.C(ctx, "sandbox.badge.off")
	}
	return views.Safe(s.Provider) + " · " + i18n.C(ctx, "sandbox.badge."+string(s.State))
}

func network(s views.Sandbox) string {
	switch s.Network {
	case "none", "host":
		return s.Network
	}
	return "proxy"
}

func disk(ctx context.Context, s views.Sandbox) string {
	if s.Disk <= 0 {
		return i18n.C(ctx, "sandbox.disk.none")
	}
	return views.Bytes(s.Disk)
}

func themeIcon(t views.Theme) string {
	switch t {
	case views.ThemeLight:
		return "sun"
	case views.ThemeDark:
		return "moon"
	}
	return "monitor"
}

func isTheme(s views.Shell, t views.Theme) bool {
	return s.Theme == t || t == views.ThemeSystem && s.Theme == ""
}

func currentPage(yes bool) string {
	if yes {
		return "page"
	}
	return "false"
}

func langs(p views.SettingsPage) []string {
	if len(p.Langs) > 0 {
		return p.Langs
	}
	return i18n.Languages()
}

// langName returns the name of a language in that language.
func langName(code string) string {
	if code == "zh-CN" {
		return "简体中文"
	}
	return "English"
}

func version(a views.About) string {
	if a.Commit == "" {
		return a.Version
	}
	return a.Version + " (" + a.Commit + ")"
}

func platform(a views.About) string { return strings.TrimSpace(a.Platform + " " + a.Go) }

// serverState names how an MCP server is.
func serverState(s views.ServerInfo) string {
	switch {
	case s.Off:
		return "settings.off"
	case s.State == "connecting":
		return "mcp.connecting"
	case s.State == "ready":
		return "mcp.ready"
	case s.State == "failed":
		return "mcp.failed"
	case s.State == "login":
		return "mcp.out"
	}
	return "mcp.unavailable"
}

func serverFailed(s views.ServerInfo) bool {
	return !s.Off && (s.State == "" || s.State == "failed" || s.State == "login" || s.State == "unavailable")
}

func serverVerb(s views.ServerInfo) string {
	if s.Off {
		return "skills.on"
	}
	return "skills.off"
}

// mediaExample returns an example name of a model of this kind.
func mediaExample(kind string) string {
	switch kind {
	case "images":
		return "gpt-image-1"
	case "speech":
		return "gpt-4o-mini-tts"
	}
	return "gpt-4o-mini-transcribe"
}

// muting returns the next action of the memory switch.
func muting(m views.Memory) string {
	if m.Muted {
		return "unmute"
	}
	return "mute"
}
