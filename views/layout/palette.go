package layout

import (
	"context"
	"slices"
	"strings"

	"fawn/views"
	"fawn/views/i18n"
)

// command is an entry of the palette and of the list of keys.
type command struct {
	Label string // key of the catalogue
	Icon  string
	URL   string // where it leads, or
	Do    string // what the script does
	Keys  string // as they are shown; the script writes ⌘ for Ctrl where that is the key
	Chat  bool   // means something in a chat only

	Also    string // key of the other words it is found by
	Section bool   // of the settings, which its label does not say
	Lang    string // the language it switches to
}

// text is what the command is called.
func (c command) text(ctx context.Context) string {
	if c.Section {
		return i18n.C(ctx, "nav.settings") + ": " + i18n.C(ctx, c.Label)
	}
	return i18n.C(ctx, c.Label)
}

// commands are all of them, those of the chat first.
func commands() []command {
	return []command{
		{Label: "cmd.copy", Icon: "copy", Do: "copy", Keys: "C", Chat: true, Also: "also.copy"},
		{Label: "cmd.edit", Icon: "pencil", Do: "edit", Keys: "E", Chat: true, Also: "also.edit"},
		{Label: "cmd.regenerate", Icon: "refresh-cw", Do: "regenerate", Keys: "R", Chat: true, Also: "also.regenerate"},
		{Label: "cmd.trail", Icon: "list-todo", Do: "trail", Keys: "T", Chat: true, Also: "also.trail"},
		{Label: "cmd.files", Icon: "panel-right", Do: "files", Keys: "F or Ctrl .", Chat: true, Also: "also.files"},
		{Label: "cmd.next", Icon: "arrow-down", Do: "next", Keys: "J", Chat: true},
		{Label: "cmd.prev", Icon: "arrow-up", Do: "prev", Keys: "K", Chat: true},
		{Label: "nav.new", Icon: "plus", URL: views.NewChatURL, Keys: "Ctrl Shift O", Also: "also.new"},
		{Label: "nav.all", Icon: "list", URL: views.ChatsURL, Also: "also.all"},
		{Label: "cmd.write", Icon: "pencil", Do: "write", Keys: "/"},
		{Label: "cmd.side", Icon: "menu", Do: "side", Keys: "Ctrl B", Also: "also.side"},
		{Label: "agents.title", Icon: "bot", URL: views.AgentsURL, Also: "also.agents"},
		{Label: "tasks.title", Icon: "clock", URL: views.TasksURL, Also: "also.tasks"},
		{Label: "nav.settings", Icon: "settings", URL: views.SettingsURL("appearance"), Keys: "Ctrl ,",
			Also: "also.settings"},
		{Label: "cmd.keys", Icon: "key", Do: "keys", Keys: "Ctrl /", Also: "also.keys"},
	}
}

// more are commands that are listed only when somebody looks for them. Those of the chat press
// what the page has for it; the script leaves out what is not there.
func more() []command {
	return []command{
		{Label: "agents.new", Icon: "bot", URL: views.NewAgentURL, Also: "also.agents"},
		{Label: "cmd.fromapps", Icon: "message-square", URL: views.ChatsURL + "?from=" + views.FromApps,
			Also: "also.fromapps"},
		{Label: "compose.stop", Icon: "square", Do: "stop", Chat: true, Also: "also.stop"},
		{Label: "compose.model", Icon: "bot", Do: "model", Also: "also.model"},
		{Label: "thread.rename", Icon: "pencil", Do: "rename", Chat: true, Also: "also.rename"},
		{Label: "thread.pin", Icon: "pin", Do: "pin", Chat: true, Also: "also.pin"},
		{Label: "thread.unpin", Icon: "pin", Do: "unpin", Chat: true, Also: "also.pin"},
		{Label: "share.title", Icon: "share-2", Do: "share", Chat: true, Also: "also.share"},
		{Label: "usage.title", Icon: "chart-line", Do: "usage", Chat: true, Also: "also.usage"},
		{Label: "sandbox.restart", Icon: "refresh-cw", Do: "restart", Chat: true, Also: "also.restart"},
		{Label: "thread.export.md", Icon: "download", Do: "export-md", Chat: true, Also: "also.export"},
		{Label: "thread.export.json", Icon: "download", Do: "export-json", Chat: true, Also: "also.export"},
		{Label: "thread.delete", Icon: "trash-2", Do: "delete", Chat: true, Also: "also.delete"},
		{Label: "cmd.theme.light", Icon: "sun", Do: "theme-light", Also: "also.theme"},
		{Label: "cmd.theme.dark", Icon: "moon", Do: "theme-dark", Also: "also.theme"},
		{Label: "cmd.theme.system", Icon: "monitor", Do: "theme-system", Also: "also.theme"},
		{Label: "cmd.lang.en", Icon: "globe", Do: "lang-en", Lang: i18n.English, Also: "also.lang"},
		{Label: "cmd.lang.zh", Icon: "globe", Do: "lang-zh-CN", Lang: "zh-CN", Also: "also.lang"},
	}
}

// sections are those of the settings. They come below the commands, so that the list without
// a query stays short.
func sections(who *views.Who) (list []command) {
	for _, s := range views.SectionsOf(views.Shell{Who: who}) {
		list = append(list, command{Label: views.SectionKey(views.Shell{Who: who}, s), Icon: SectionIcon(s),
			URL: views.SettingsURL(s), Section: true, Also: "also.settings." + s})
	}
	return list
}

// SectionIcon is the icon of a section of the settings.
func SectionIcon(section string) string {
	switch section {
	case "appearance":
		return "sun"
	case "account", "users":
		return "user"
	case "sessions":
		return "monitor"
	case "tokens":
		return "key"
	case "models":
		return "bot"
	case "tools":
		return "wrench"
	case "channels":
		return "message-square"
	case "sandbox":
		return "square-terminal"
	case "personal":
		return "sparkles"
	case "memory":
		return "lightbulb"
	case "data":
		return "download"
	case "notifications":
		return "bell"
	}
	return "info"
}

// typed are keys that are no commands.
func typed() []command {
	return []command{
		{Label: "cmd.palette", Keys: "Ctrl K"},
		{Label: "key.send", Keys: "Enter"},
		{Label: "key.line", Keys: "Shift Enter"},
		{Label: "key.earlier", Keys: "↑"},
		{Label: "key.stop", Keys: "Esc Esc"},
		{Label: "key.close", Keys: "Esc"},
		{Label: "key.option", Keys: "1 … 9"},
		{Label: "key.follow", Keys: "Alt 1 … 3"},
	}
}

// offered are the commands with the words of the query in their label or among their other words,
// those with more of them in the label first.
func offered(ctx context.Context, p views.Palette) (list []command) {
	words := strings.Fields(strings.ToLower(p.Query))
	all := commands()
	if len(words) > 0 {
		all = append(append(all, more()...), sections(p.Who)...)
	}
	named := map[string]int{} // by label, how many of the words are in it
next:
	for _, c := range all {
		if c.Chat && !p.InChat || c.Lang != "" && c.Lang == i18n.Lang(ctx) {
			continue
		}
		label := strings.ToLower(c.text(ctx))
		other := ""
		if c.Also != "" {
			other = i18n.C(ctx, c.Also)
		}
		n := 0
		for _, w := range words {
			switch {
			case strings.Contains(label, w):
				n++
			case !strings.Contains(other, w):
				continue next
			}
		}
		named[c.Label] = n
		list = append(list, c)
	}
	slices.SortStableFunc(list, func(a, b command) int { return named[b.Label] - named[a.Label] })
	return list
}

// combinations are the keys of a command, each as its parts.
func combinations(keys string) (list [][]string) {
	for _, k := range strings.Split(keys, " or ") {
		if k != "" {
			list = append(list, strings.Fields(k))
		}
	}
	return list
}
