package layout

import (
	"context"
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

	Section bool // of the settings, which its label does not say
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
		{Label: "cmd.copy", Icon: "copy", Do: "copy", Keys: "C", Chat: true},
		{Label: "cmd.edit", Icon: "pencil", Do: "edit", Keys: "E", Chat: true},
		{Label: "cmd.regenerate", Icon: "refresh-cw", Do: "regenerate", Keys: "R", Chat: true},
		{Label: "cmd.trail", Icon: "list-todo", Do: "trail", Keys: "T", Chat: true},
		{Label: "cmd.files", Icon: "panel-right", Do: "files", Keys: "F or Ctrl .", Chat: true},
		{Label: "cmd.next", Icon: "arrow-down", Do: "next", Keys: "J", Chat: true},
		{Label: "cmd.prev", Icon: "arrow-up", Do: "prev", Keys: "K", Chat: true},
		{Label: "nav.new", Icon: "plus", URL: views.NewChatURL, Keys: "Ctrl Shift O"},
		{Label: "nav.all", Icon: "list", URL: views.ChatsURL},
		{Label: "cmd.write", Icon: "pencil", Do: "write", Keys: "/"},
		{Label: "cmd.side", Icon: "menu", Do: "side", Keys: "Ctrl B"},
		{Label: "agents.title", Icon: "bot", URL: views.AgentsURL},
		{Label: "tasks.title", Icon: "clock", URL: views.TasksURL},
		{Label: "nav.settings", Icon: "settings", URL: views.SettingsURL("appearance"), Keys: "Ctrl ,"},
		{Label: "cmd.keys", Icon: "key", Do: "keys", Keys: "Ctrl /"},
	}
}

// sections are those of the settings. They come below the commands, so that the list without
// a query stays short.
func sections() (list []command) {
	for _, s := range views.Sections() {
		list = append(list, command{Label: "settings." + s, Icon: SectionIcon(s), URL: views.SettingsURL(s), Section: true})
	}
	return list
}

// SectionIcon is the icon of a section of the settings.
func SectionIcon(section string) string {
	switch section {
	case "appearance":
		return "sun"
	case "account":
		return "user"
	case "models":
		return "bot"
	case "memory":
		return "lightbulb"
	case "tools":
		return "wrench"
	case "sandbox":
		return "square-terminal"
	case "skills":
		return "graduation-cap"
	case "notifications":
		return "bell"
	case "channels":
		return "message-square"
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

// offered are the commands with the words of the query in their label.
func offered(ctx context.Context, p views.Palette) (list []command) {
	words := strings.Fields(strings.ToLower(p.Query))
	all := commands()
	if len(words) > 0 {
		all = append(all, sections()...)
	}
next:
	for _, c := range all {
		if c.Chat && !p.InChat {
			continue
		}
		label := strings.ToLower(c.text(ctx))
		for _, w := range words {
			if !strings.Contains(label, w) {
				continue next
			}
		}
		list = append(list, c)
	}
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
