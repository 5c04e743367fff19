package layout

import (
	"context"
	"slices"
	"strings"
	"unicode"

	"fawn/views"
	"fawn/views/i18n"
)

// command is an entry of the palette and of the list of keys.
type command struct {
	Label string // key of the catalogue
	Icon  string
	URL   string // link, or
	Do    string // action of the script
	Keys  string // displayed keys; the script replaces Ctrl by ⌘ where that is used
	Chat  bool   // only useful in a chat

	Also    string // catalogue key of further search words
	Section bool   // a settings section that its label doesn't mention
	Lang    string // the language it switches to

	Operator bool // only for administrators of the server
}

// text returns the label of the command.
func (c command) text(ctx context.Context) string {
	if c.Section {
		return i18n.C(ctx, "nav.settings") + ": " + i18n.C(ctx, c.Label)
	}
	return i18n.C(ctx, c.Label)
}

// commands returns all commands, those of the chat first.
func commands() []command {
	return []command{
		{Label: "cmd.copy", Icon: "copy", Do: "copy", Keys: "C", Chat: true, Also: "also.copy"},
		{Label: "cmd.edit", Icon: "pencil", Do: "edit", Keys: "E", Chat: true, Also: "also.edit"},
		{Label: "cmd.regenerate", Icon: "refresh-cw", Do: "regenerate", Keys: "R", Chat: true, Also: "also.regenerate"},
		{Label: "cmd.trail", Icon: "list-todo", Do: "trail", Keys: "T", Chat: true, Also: "also.trail"},
		{Label: "cmd.files", Icon: "panel-right", Do: "files", Keys: "F or Ctrl .", Chat: true, Also: "also.files"},
		{Label: "cmd.next", Icon: "arrow-down", Do: "next", Keys: "J", Chat: true},
		{Label: "cmd.prev", Icon: "arrow-up", Do: "prev", Keys: "K", Chat: true},
		{Label: "cmd.before", Icon: "arrow-up", Do: "before", Keys: "Alt ↑", Chat: true},
		{Label: "cmd.after", Icon: "arrow-down", Do: "after", Keys: "Alt ↓", Chat: true},
		{Label: "cmd.first", Icon: "arrow-up", Do: "first", Keys: "G", Chat: true, Also: "also.first"},
		{Label: "ask.about", Icon: "message-square", Do: "ask", Keys: "A", Chat: true, Also: "also.ask"},
		{Label: "nav.new", Icon: "plus", URL: views.NewChatURL, Keys: "Ctrl Shift O", Also: "also.new"},
		{Label: "nav.all", Icon: "list", URL: views.ChatsURL, Also: "also.all"},
		{Label: "cmd.write", Icon: "pencil", Do: "write", Keys: "/"},
		{Label: "cmd.side", Icon: "menu", Do: "side", Keys: "Ctrl B", Also: "also.side"},
		{Label: "projects.title", Icon: "folder", URL: views.ProjectsURL, Also: "also.projects"},
		{Label: "knowledge.title", Icon: "folder-search", URL: views.KnowledgeURL, Also: "also.knowledge"},
		{Label: "prompts.title", Icon: "text-search", URL: views.PromptsURL, Also: "also.prompts"},
		{Label: "agents.title", Icon: "bot", URL: views.AgentsURL, Also: "also.agents"},
		{Label: "tasks.title", Icon: "clock", URL: views.TasksURL, Also: "also.tasks"},
		{Label: "nav.settings", Icon: "settings", URL: views.SettingsURL("appearance"), Keys: "Ctrl ,",
			Also: "also.settings"},
		{Label: "cmd.keys", Icon: "key", Do: "keys", Keys: "Ctrl /", Also: "also.keys"},
	}
}

// more returns commands listed only by a search. Those of the chat press the page's buttons; the script omits missing
// ones.
func more() []command {
	return []command{
		{Label: "skills.title", Icon: "graduation-cap", URL: views.SkillsURL, Also: "also.skills"},
		{Label: "skills.install", Icon: "download", URL: views.SkillsURL, Also: "also.skills.install", Operator: true},
		{Label: "agents.new", Icon: "bot", URL: views.NewAgentURL, Also: "also.agents.new"},
		{Label: "prompts.new", Icon: "text-search", URL: views.NewPromptURL, Also: "also.prompts.new"},
		{Label: "tasks.new", Icon: "clock", URL: views.TasksURL, Also: "also.tasks.new"},
		{Label: "cmd.fromapps", Icon: "message-square", URL: views.ChatsURL + "?from=" + views.FromApps,
			Also: "also.fromapps"},
		{Label: "compose.stop", Icon: "square", Do: "stop", Chat: true, Also: "also.stop"},
		{Label: "compose.model", Icon: "bot", Do: "model", Also: "also.model"},
		{Label: "compare.do", Icon: "panel-right", Do: "compare", Also: "also.compare"},
		{Label: "cmd.mode", Icon: "zap", Do: "mode", Also: "also.mode"},
		{Label: "compose.attach", Icon: "paperclip", Do: "attach", Also: "also.attach"},
		{Label: "tools.title", Icon: "wrench", Do: "tools", Chat: true, Also: "also.tools"},
		{Label: "turn.branch", Icon: "git-branch", Do: "branch", Chat: true, Also: "also.branch"},
		{Label: "turn.inspect", Icon: "search", Do: "inspect", Chat: true, Also: "also.inspect"},
		{Label: "turn.good", Icon: "thumbs-up", Do: "good", Chat: true, Also: "also.good"},
		{Label: "turn.bad", Icon: "thumbs-down", Do: "bad", Chat: true, Also: "also.bad"},
		{Label: "cmd.compact", Icon: "layout-template", Do: "usage", Chat: true, Also: "also.compact"},
		{Label: "thread.rename", Icon: "pencil", Do: "rename", Chat: true, Also: "also.rename"},
		{Label: "projects.move", Icon: "folder", Do: "project", Chat: true, Also: "also.projects.move"},
		{Label: "projects.new", Icon: "folder", URL: views.ProjectsURL + "?new=1", Also: "also.projects.new"},
		{Label: "knowledge.new", Icon: "folder-search", URL: views.KnowledgeURL + "?new=1", Also: "also.knowledge.new"},
		{Label: "thread.pin", Icon: "pin", Do: "pin", Chat: true, Also: "also.pin"},
		{Label: "thread.unpin", Icon: "pin", Do: "unpin", Chat: true, Also: "also.pin"},
		{Label: "temporary.title", Icon: "circle-dashed", URL: views.TemporaryURL, Also: "also.temporary"},
		{Label: "temporary.keep", Icon: "check", Do: "keep", Chat: true, Also: "also.keep"},
		{Label: "thread.archive", Icon: "archive", Do: "archive", Chat: true, Also: "also.archive"},
		{Label: "thread.unarchive", Icon: "archive", Do: "unarchive", Chat: true, Also: "also.archive"},
		{Label: "cmd.archived", Icon: "archive", URL: views.ChatsURL + "?show=" + views.ShowArchived, Also: "also.archived"},
		{Label: "tags.title", Icon: "tag", Do: "tags", Chat: true, Also: "also.tags"},
		{Label: "share.title", Icon: "share-2", Do: "share", Chat: true, Also: "also.share"},
		{Label: "cmd.usage.chat", Icon: "chart-line", Do: "usage", Chat: true, Also: "also.usage.chat"},
		{Label: "usage.all", Icon: "chart-line", URL: views.UsageHomeURL, Also: "also.usage"},
		{Label: "memory.chat", Icon: "lightbulb", Do: "memory", Chat: true, Also: "also.memory.chat"},
		{Label: "sandbox.restart", Icon: "refresh-cw", Do: "restart", Chat: true, Also: "also.restart"},
		{Label: "thread.export.pdf", Icon: "download", Do: "export-pdf", Chat: true, Also: "also.export.pdf"},
		{Label: "thread.export.md", Icon: "download", Do: "export-md", Chat: true, Also: "also.export"},
		{Label: "thread.export.json", Icon: "download", Do: "export-json", Chat: true, Also: "also.export"},
		{Label: "turn.raw", Icon: "code", Do: "raw", Chat: true, Also: "also.raw"},
		{Label: "cmd.zip", Icon: "download", Do: "zip", Chat: true, Also: "also.zip"},
		{Label: "thread.delete", Icon: "trash-2", Do: "delete", Chat: true, Also: "also.delete"},
		{Label: "cmd.theme.light", Icon: "sun", Do: "theme-light", Also: "also.theme.light"},
		{Label: "cmd.theme.dark", Icon: "moon", Do: "theme-dark", Also: "also.theme.dark"},
		{Label: "cmd.theme.system", Icon: "monitor", Do: "theme-system", Also: "also.theme"},
		{Label: "cmd.lang.en", Icon: "globe", Do: "lang-en", Lang: i18n.English, Also: "also.lang"},
		{Label: "cmd.lang.zh", Icon: "globe", Do: "lang-zh-CN", Lang: "zh-CN", Also: "also.lang"},
		{Label: "about.api.link", Icon: "code", URL: views.APIURL, Also: "also.api"},
	}
}

// sections returns the sections of the settings. They come after the commands, which keeps the list without a query
// short.
func sections(who *views.Who) (list []command) {
	for _, s := range views.SectionsOf(views.Shell{Who: who}) {
		list = append(list, command{Label: views.SectionKey(views.Shell{Who: who}, s), Icon: SectionIcon(s),
			URL: views.SettingsURL(s), Section: true, Also: "also.settings." + s})
	}
	return list
}

// SectionIcon returns the icon of a section of the settings.
func SectionIcon(section string) string {
	switch section {
	case "appearance":
		return "sun"
	case "groups":
		return "list"
	case "announcements":
		return "bell"
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
	case "mcp":
		return "plug"
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

// typed returns keyboard shortcuts that aren't commands.
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
		{Label: "key.row", Keys: "→"},
	}
}

// offered returns the commands that match the query, best matches first. If no command has all its words, it returns
// the few with at least half of them, and whole is false.
func offered(ctx context.Context, p views.Palette) (list []command, whole bool) {
	query := strings.ToLower(strings.TrimSpace(p.Query))
	all := commands()
	if query != "" {
		all = append(append(all, more()...), sections(p.Who)...)
	}
	fits := map[string]int{} // scores by action
	var part []command
	for _, c := range all {
		if c.Chat && !p.InChat || c.Lang != "" && c.Lang == i18n.Lang(ctx) || c.Operator && p.Who != nil && !p.Who.Operator {
			continue
		}
		other := ""
		if c.Also != "" {
			other = i18n.C(ctx, c.Also)
		}
		n, missed := 1, 0
		if query != "" {
			n, missed = fit(query, strings.ToLower(c.text(ctx)), strings.ToLower(other))
		}
		fits[c.key()] = n
		switch {
		case n > 0 && missed == 0:
			list = append(list, c)
		case n > 0:
			part = append(part, c)
		}
	}
	if whole = len(list) > 0 || len(part) == 0; !whole {
		list = part
	}
	slices.SortStableFunc(list, func(a, b command) int { return fits[b.key()] - fits[a.key()] })
	if !whole {
		list = list[:min(len(list), someCommands)]
	}
	return list, whole
}

// someCommands limits the offered commands that match only some of the words.
const someCommands = 4

func (c command) key() string { return c.Label + c.Do + c.URL }

// Scores of a query word by the kind of match: in the name or the other words, as a whole word, a prefix, or a
// substring.
const (
	wholeName  = 12
	beginsName = 9
	insideName = 6
	wholeAlso  = 8
	beginsAlso = 5
	insideAlso = 2
	sameName   = 40 // the query is the name
	samePhrase = 16 // the query occurs verbatim among the other words
)

// fit returns how well a command matches a query, 0 for not at all, and the number of missed words: at most half. Small
// words may be missing.
func fit(query, name, also string) (n, missed int) {
	words := strings.Fields(query)
	if rest := slices.DeleteFunc(slices.Clone(words), small); len(rest) > 0 {
		words = rest
	}
	for _, w := range words {
		one := 0
		if hasHan(w) {
			one = fitHan(w, name, also)
		} else {
			one = max(place(w, name, wholeName, beginsName, insideName), place(w, also, wholeAlso, beginsAlso, insideAlso))
		}
		if one == 0 {
			missed++
		}
		n += one
	}
	if 2*missed > len(words) {
		return 0, missed
	}
	bare := strings.Join(words, " ")
	switch {
	case query == name || bare == name:
		n += sameName
	case len(words) > 1 && strings.Contains(name, bare):
		n += samePhrase
	case len(words) > 1 && strings.Contains(also, bare):
		n += samePhrase / 2
	}
	if strings.HasSuffix(name, ": "+bare) { // a settings section with the same name
		n += sameName / 2
	}
	if n *= 4; strings.Contains(name, words[0]) { // the shorter of two names with the word wins
		n -= min(len(strings.Fields(name)), 3)
	}
	return n, missed
}

// small reports whether a word is insignificant for a search.
func small(w string) bool {
	return slices.Contains([]string{"the", "a", "an", "my", "to", "of", "in", "on", "as", "for", "this", "how", "do", "i",
		"with", "and", "from", "is", "are", "it", "you", "your", "what", "where", "can", "did", "does", "much", "many",
		"about", "use", "turn", "please"}, w)
}

// place returns the score of a word in a text.
func place(w, text string, whole, begins, inside int) int {
	best := 0
	for _, t := range strings.FieldsFunc(text, func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) }) {
		switch {
		case t == w:
			return whole
		case strings.HasPrefix(t, w) || len(w) > 4 && strings.TrimSuffix(w, "s") == t:
			best = max(best, begins)
		case len(w) > 2 && strings.Contains(t, w):
			best = max(best, inside)
		}
	}
	return best
}

func hasHan(s string) bool {
	return strings.ContainsFunc(s, func(r rune) bool { return unicode.Is(unicode.Han, r) })
}

// fitHan is the same for Chinese, which has no spaces between words: the whole query counts most, otherwise each pair
// of characters found, of which at least half are required.
func fitHan(w, name, also string) int {
	best := 0
	switch {
	case strings.HasPrefix(name, w):
		best = wholeName
	case strings.Contains(name, w):
		best = beginsName + 1
	}
	if slices.Contains(strings.Fields(also), w) {
		best = max(best, beginsName) + 1
	}
	switch {
	case best > 0:
		return best
	case strings.Contains(also, w):
		return wholeAlso
	}
	signs := []rune(w)
	pairs, score := 0, 0
	for i := 0; i+1 < len(signs); i++ {
		two := string(signs[i : i+2])
		switch {
		case strings.Contains(name, two):
			pairs, score = pairs+1, score+insideName
		case strings.Contains(also, two):
			pairs, score = pairs+1, score+insideName-1
		}
	}
	if pairs == 0 || 2*pairs < len(signs)-1 {
		return 0
	}
	return max(1, score/(len(signs)-1))
}

// combinations returns the keys of a command, each as its parts.
func combinations(keys string) (list [][]string) {
	for _, k := range strings.Split(keys, " or ") {
		if k != "" {
			list = append(list, strings.Fields(k))
		}
	}
	return list
}
