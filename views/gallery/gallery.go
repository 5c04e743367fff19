// Package gallery shows the components in all their states, with data made up
// for it. It is served under /__ui when a developer asks for it, and the
// screenshots and accessibility checks run on it.
package gallery

import (
	"encoding/json"
	"time"

	"github.com/a-h/templ"

	"fawn/views"
	"fawn/views/agents"
	"fawn/views/apidocs"
	"fawn/views/chat"
	"fawn/views/files"
	"fawn/views/i18n"
	"fawn/views/settings"
	"fawn/views/tasks"
)

// Gallery renders one page with every component in every state.
func Gallery(theme views.Theme) templ.Component {
	s := shell(views.Shell{Theme: theme})
	return i18n.In(s.Lang, states(s))
}

// Look selects how a sample page is shown.
type Look struct {
	Theme views.Theme
	Lang  string
}

// Pages returns whole sample pages by name.
func Pages(l Look) map[string]templ.Component {
	base := views.Shell{Theme: l.Theme, Lang: l.Lang}
	with := func(nav views.Nav, current string) views.Shell {
		s := base
		s.Nav, s.Current = nav, current
		return shell(s)
	}
	running, done := Running(), Done()
	return map[string]templ.Component{
		"welcome": chat.WelcomePage(views.WelcomePage{Shell: with(views.NavNew, ""),
			Composer: composer("new1", true, false)}),
		"first": chat.WelcomePage(views.WelcomePage{Shell: shell(views.Shell{Theme: l.Theme, Lang: l.Lang,
			Nav: views.NavNew, Now: now(), Threads: []views.ThreadRow{}}), Composer: offline("new1"),
			FirstRun: firstRun()}),
		"running": chat.ThreadPage(views.ThreadPage{Shell: with("", "t1"), Thread: running,
			Composer: composer("t1", false, true)}),
		"done": chat.ThreadPage(views.ThreadPage{Shell: with("", "t1"), Thread: done,
			Composer: composer("t1", false, false), Panel: markdownPanel()}),
		"thread": chat.ThreadPage(views.ThreadPage{Shell: with("", "t1"), Thread: done,
			Composer: withFiles(composer("t1", false, false))}),
		"failed": chat.ThreadPage(views.ThreadPage{Shell: with("", "t3"), Thread: Troubled(),
			Composer: composer("t3", false, false)}),
		"empty": chat.ThreadPage(views.ThreadPage{Shell: with("", "t4"), Thread: views.Thread{ID: "t4"},
			Composer: composer("t4", false, false), Panel: &views.Panel{ThreadID: "t4"}}),
		"chats": chat.ChatsPage(views.ChatsPage{Shell: with(views.NavChats, ""), List: chatList(), Total: 132,
			Apps: []views.Source{{Name: "telegram", Label: "Telegram"}, {Name: "slack", Label: "Slack"}}}),
		"nochats": chat.ChatsPage(views.ChatsPage{Shell: shell(views.Shell{Theme: l.Theme, Lang: l.Lang,
			Nav: views.NavChats, Threads: []views.ThreadRow{}})}),
		"delete": chat.ConfirmPage(views.ConfirmPage{Shell: with("", "t1"),
			ThreadID: "t1", Title: "Heat pumps against gas boilers", Files: 3}),
		"share": chat.SharePage(views.SharePage{Shell: with("", "t1"),
			ThreadID: "t1", Title: "Heat pumps against gas boilers"}),
		"sharing": chat.SharePage(views.SharePage{Shell: with("", "t1"),
			ThreadID: "t1", Title: "Heat pumps against gas boilers",
			Share: &views.Share{Path: "/share/x", URL: "http://127.0.0.1:2026/share/x", At: now(), Stale: true}}),
		"usage": chat.UsagePage(usage(with("", "t1"))),
		"shared": chat.SharedPage(views.SharedPage{Shell: base, Token: "x", Title: "Heat pumps against gas boilers",
			At: now(), Turns: done.Turns}),
		"gone":  chat.ErrorPage(views.ErrorPage{Shell: base, Bare: true, Public: true, Status: 404}),
		"error": chat.ErrorPage(views.ErrorPage{Shell: with("", ""), Status: 404, RequestID: "0192f3c8"}),
		"crash": chat.ErrorPage(views.ErrorPage{Shell: views.Shell{Theme: l.Theme, Lang: l.Lang}, Bare: true,
			Status: 500, RequestID: "0192f3c8"}),
		"step":     chat.StepPage(views.StepBody{Shell: with("", "t1"), Thread: "t1", Step: steps()[3], Cut: true, Raw: "#"}),
		"settings": settings.Page(views.SettingsPage{Shell: with(views.NavSettings, ""), Section: "appearance", Saved: true}),
		"about":    settings.Page(views.SettingsPage{Shell: with(views.NavSettings, ""), Section: "about", About: about()}),
		"models": settings.Page(views.SettingsPage{Shell: with(views.NavSettings, ""),
			Section: "models", Models: models(nil)}),
		"model": settings.Page(views.SettingsPage{Shell: with(views.NavSettings, ""),
			Section: "models", Models: models(&views.ModelForm{Preset: views.Preset{Name: "compatible", Label: "Other"},
				Wrong: "base_url", Problem: "an address looks like https://host/v1"})}),
		"tools": settings.Page(views.SettingsPage{Shell: with(views.NavSettings, ""),
			Section: "tools", Tools: []views.ToolInfo{{Name: "read_file"}, {Name: "bash", Reason: "no sandbox"},
				{Name: "image_search", Off: true}, {Name: "write_todos", Fixed: true}}, Web: webServices()}),
		"mcp": settings.Page(views.SettingsPage{Shell: with(views.NavSettings, ""), Section: "mcp",
			Servers: []views.ServerInfo{{Name: "github"}, {Name: "old", Off: true}}}),
		"locked": settings.Page(views.SettingsPage{Shell: with(views.NavSettings, ""), Section: "models", Locked: true}),
		"account": settings.Page(views.SettingsPage{Shell: with(views.NavSettings, ""), Section: "account",
			Loopback: true, About: about()}),
		"tasks": tasks.Page(views.TasksPage{Shell: with(views.NavTasks, ""), Tasks: scheduled(), Off: true,
			Form: views.TaskForm{Every: "day", At: "08:00", Zone: "UTC", Problem: "a task needs a title"}}),
		"agents": agents.Gallery(views.AgentsPage{Shell: with(views.NavAgents, ""),
			Agents: []views.AgentInfo{{Name: "code-reviewer", Text: "Reads pull requests", Model: "GPT-5"},
				{Name: "torn", Problem: "config.yaml, line 2: tool_groups must be a list of names"}},
			Assistants: []views.AssistantInfo{{ID: "0192f3c8-8a1c-7000-8000-000000000001", Name: "Careful reviewer",
				Text: "Plans first"}}, More: true}),
		"newagent": agents.New(views.NewAgentPage{Shell: with(views.NavAgents, ""), Open: "form", Form: agentForm(true)}),
		"agent": agents.Edit(views.AgentPage{Shell: with(views.NavAgents, ""), Form: agentForm(false),
			Config: "model: gpt-5\n", Soul: "Be strict.", Files: true}),
		"noagent": agents.Missing(views.MissingPage{Shell: with(views.NavAgents, ""), Name: "analyst"}),
		"noskill": agents.Missing(views.MissingPage{Shell: with(views.NavSkills, ""), Name: "slides", Skill: true}),
		"menu":    chat.MenuPage(views.MenuPage{Shell: with("", "t1"), Row: rows()[0]}),
		"notify": settings.Page(views.SettingsPage{Shell: with(views.NavSettings, ""),
			Section: "notifications", Notify: views.Notify{On: true, Quiet: []string{views.NotifyFailed}}}),
		"skills": agents.Skills(views.SkillsPage{Shell: with(views.NavSkills, ""), Operator: true,
			Skills: []views.SkillInfo{
				{Name: "sales-report", Text: "Turns the monthly sales table into a report with charts.", Custom: true, On: true},
				{Name: "torn", Problem: "SKILL.md, line 1: the file must begin with front matter between two lines of ---"},
				{Name: "web-page", Text: "Builds a page from a description."}}}),
		"asks": chat.ThreadPage(views.ThreadPage{Shell: with("", "t1"), Thread: asking(running),
			Composer: composer("t1", false, true), Sandbox: weak()}),
		"sandbox": settings.Page(views.SettingsPage{Shell: with(views.NavSettings, ""), Section: "sandbox",
			Sandbox: weak(), Hosts: []string{"203.0.113.7", "xn--bcher-kva.example"}}),
		"channels": settings.Page(views.SettingsPage{Shell: with(views.NavSettings, ""), Section: "channels",
			Channels: channels()}),
		"api":   apidocs.Page(views.ReferencePage{Shell: with("", ""), Groups: routes()}),
		"file":  files.FilePage(views.FilePage{Shell: with("", "t1"), Panel: codePanel()}),
		"table": files.FilePage(views.FilePage{Shell: with("", "t1"), Panel: tablePanel()}),
		"files": files.FilePage(views.FilePage{Shell: with("", "t1"), Panel: views.Panel{ThreadID: "t1", Files: outputs()}}),
	}
}

// asking returns a thread whose agent asks to reach hosts.
func asking(t views.Thread) views.Thread {
	t.Asks = []views.NetworkQuestion{{ThreadID: t.ID, Host: "api.weather.example", Port: 443},
		{ThreadID: t.ID, Host: "a-very-long-name-of-a-host-that-does-not-fit-on-a-phone.downloads.example.org", Port: 80}}
	return t
}

// webServices returns two services that searches use, and one without a key.
func webServices() views.WebServices {
	return views.WebServices{Fallback: true, Wrong: "searxng", Problem: "an address looks like http://host:8080",
		List: []views.WebService{
			{Name: "brave", Label: "Brave Search", Search: true, Images: true, Place: 1, Key: "BRAVE_SEARCH_API_KEY",
				KeyFrom: "here", NeedsKey: true, KeyPage: "https://example.org"},
			{Name: "duckduckgo", Label: "DuckDuckGo", Search: true, Place: 2, Last: true},
			{Name: "searxng", Label: "SearXNG", Search: true, Own: true, Address: "searx"},
			{Name: "tavily", Label: "Tavily", Search: true, Read: true, Key: "TAVILY_API_KEY", NeedsKey: true}},
		Trial: &views.WebTrial{Name: "brave", Label: "Brave Search", Took: "0.4 s", Titles: []string{"Weather"}}}
}

func weak() views.Sandbox {
	return views.Sandbox{State: views.SandboxWeak,
		Provider: "namespace", Layers: []string{"userns", "mountns", "pidns", "netns", "seccomp", "landlock"},
		Degraded: []string{"the process list of the host is visible"}, Network: "proxy", Disk: 2 << 30}
}

func routes() []views.RouteGroup {
	return []views.RouteGroup{{Name: "Threads", Routes: []views.Route{
		{ID: "createThread", Method: "POST", Path: "/threads", Text: "Create a thread",
			More: "Under /api a thread that exists is returned.", BodyType: "object",
			Body: []views.RouteField{{Name: "thread_id", Type: "string | null", Text: "Id of the thread"},
				{Name: "metadata", Type: "object | null"}},
			Answers: []views.RouteAnswer{{Status: 200, Text: "The thread", Type: "Thread"},
				{Status: 409, Text: "There already"}}},
		{ID: "getThread", Method: "GET", Path: "/threads/{thread_id}", Text: "Get a thread",
			Params:  []views.RouteField{{Name: "thread_id", Type: "string", Where: "path", Required: true}},
			Answers: []views.RouteAnswer{{Status: 200, Text: "The thread", Type: "Thread"}}}}}}
}

func now() time.Time { return time.Now().Truncate(time.Minute) }

func shell(s views.Shell) views.Shell {
	s.Now = now()
	if s.Threads == nil {
		s.Threads, s.More = rows()[:6], true
	}
	return s
}

func rows() []views.ThreadRow {
	n := now()
	return []views.ThreadRow{
		{ID: "t1", Title: "Heat pumps against gas boilers", UpdatedAt: n, State: views.ThreadRunning, Turns: 3},
		{ID: "t2", Title: "Quarterly churn from exports.csv", UpdatedAt: n.Add(-time.Minute), State: views.ThreadUnread,
			Turns: 1},
		{ID: "t3", Title: "A very long title which does not fit into the side bar and has to be cut",
			UpdatedAt: n.AddDate(0, 0, -1), State: views.ThreadFailed, Turns: 12},
		{ID: "t4", UpdatedAt: n.AddDate(0, 0, -2)},
		{ID: "t5", Title: "Slides for the board meeting in Lyon", UpdatedAt: n.AddDate(0, 0, -3),
			State: views.ThreadWaiting, Turns: 4},
		{ID: "t6", Title: "将采集脚本移植到 Go", UpdatedAt: n.AddDate(0, 0, -20), Turns: 2},
		{ID: "t7", Title: "שלום עולם", UpdatedAt: n.AddDate(0, 0, -90), Turns: 2},
	}
}

func chatList() views.ChatList {
	l := views.ChatList{Now: now(), Query: "heat pump", More: "?before=x", MoreRows: "/ui/threads?before=x"}
	for _, r := range rows() {
		l.Rows = append(l.Rows, views.ChatRow{ThreadRow: r})
	}
	l.Rows[1].Message, l.Rows[1].Excerpt = "m1", "… the cost of a heat pump over ten years, and of the gas boiler …"
	return l
}

func composer(id string, isNew, running bool) views.Composer {
	return views.Composer{ThreadID: id, New: isNew, Running: running, Autofocus: isNew,
		Model: "gpt-5.2", Mode: views.ModePro,
		Models: []views.ModelChoice{{Name: "gpt-5.2", Text: "Thinks, sees pictures", Thinks: true, Effort: true},
			{Name: "qwen3:8b", Label: "Qwen 3 8B (local)"}, {Name: views.OfflineModel}},
		Limits: views.UploadLimits{FileBytes: 50 << 20, TotalBytes: 100 << 20, Files: 10}}
}

func offline(id string) views.Composer {
	c := composer(id, true, false)
	c.Models, c.Model = c.Models[2:], views.OfflineModel
	return c
}

func withFiles(c views.Composer) views.Composer {
	c.Attachments = []views.Attachment{
		{Name: "exports.csv", Path: "mnt/user-data/uploads/exports.csv", Bytes: 81_200},
		{Name: "plan of the whole house with a long name.pdf", Bytes: 2_400_000},
		{Name: "movie.mov", Error: "too large"},
	}
	return c
}

func firstRun() *views.FirstRun {
	return &views.FirstRun{
		Keys: []views.FoundKey{{Env: "OPENAI_API_KEY", Provider: "OpenAI", Preset: "openai"}},
		Servers: []views.FoundServer{{Name: "Ollama", URL: "http://127.0.0.1:11434",
			Models: []string{"qwen3:8b", "gemma3"}}},
		ConfigPath: "~/.config/fawn/config.yaml"}
}

func about() views.About {
	return views.About{Version: "0.1.0", Commit: "f00dfeed", Go: "go1.26.8", Platform: "linux/amd64",
		Address: "127.0.0.1:2026", DataDir: "~/.fawn"}
}

func outputs() []views.File {
	const dir = "mnt/user-data/outputs/"
	return []views.File{
		{ThreadID: "t1", Path: dir + "heat-pump-report.md", Bytes: 18_200, New: true},
		{ThreadID: "t1", Path: dir + "report.html", Bytes: 24_000, New: true},
		{ThreadID: "t1", Path: dir + "prices.csv", Bytes: 3_100},
		{ThreadID: "t1", Path: dir + "model.py", Bytes: 1_900},
		{ThreadID: "t1", Path: dir + "chart.svg", Bytes: 900},
		{ThreadID: "t1", Path: dir + "archive.zip", Bytes: 1_200_000},
	}
}

func raw(v any) json.RawMessage {
	b, err := json.Marshal(v)
	if err != nil {
		return nil
	}
	return b
}

func markdownPanel() *views.Panel {
	return &views.Panel{ThreadID: "t1", Files: outputs(), File: &views.FileView{File: outputs()[0],
		Text: "# Heat pump or gas boiler?\n\nA one-page comparison for a 120 m² house in Lyon, ten years, 3% discount rate.\n\n| Item | Heat pump | Gas boiler |\n|---|---:|---:|\n| Installed, after aid | €9,200 | €5,400 |\n| Energy, 10 years | €8,300 | €16,200 |\n\n- Seasonal performance of **3.1** in the Lyon climate\n- Subsidy of €5,000 in the middle income band\n"}}
}

func codePanel() views.Panel {
	return views.Panel{ThreadID: "t1", Files: outputs(), File: &views.FileView{File: outputs()[3],
		Text: "\"\"\"Ten-year cost of two heating systems.\"\"\"\n\ndef npv(flows, rate=0.03):\n    # discount yearly flows\n    return sum(f / (1 + rate) ** t for t, f in enumerate(flows))\n\n\nif __name__ == \"__main__\":\n    print(npv([9200] + [830] * 10))\n"}}
}

func tablePanel() views.Panel {
	return views.Panel{ThreadID: "t1", Files: outputs(), File: &views.FileView{File: outputs()[2],
		Text: "year,gas,electricity,note\n2026,0.121,0.252,\"base, as published\"\n2027,0.126,0.249,\n2028,0.131,0.247,tax step\n"}}
}

func models(form *views.ModelForm) views.Models {
	return views.Models{Form: form,
		File: "~/.fawn/settings.yaml", Probe: &views.Probe{Name: "claude", Error: "invalid x-api-key", Status: 401},
		List: []views.ModelInfo{{Name: "gpt-5.2", Provider: "OpenAI", Default: true, Ours: true,
			Values: []views.Value{{Key: "model", Value: "gpt-5.2", Source: "settings.yaml"},
				{Key: "api_key", Source: "secrets.env"}}},
			{Name: "claude", Provider: "Anthropic", Problem: "ANTHROPIC_API_KEY is not set"},
			{Name: views.OfflineModel, BuiltIn: true}},
		Found: []views.FoundServer{{Name: "Ollama", URL: "http://127.0.0.1:11434/v1",
			Models: []string{"qwen3:8b", "gemma3"}}},
		Keys:    []views.FoundKey{{Env: "DEEPSEEK_API_KEY", Provider: "DeepSeek", Preset: "deepseek"}},
		Presets: []views.Preset{{Name: "openai", Label: "OpenAI"}, {Name: "ollama", Label: "Ollama", Local: true}}}
}

func scheduled() []views.Task {
	return []views.Task{{ID: "a", Title: "Morning report", Prompt: "Write a report", Schedule: "0 8 * * *",
		Zone: "Europe/Berlin", Next: now().Add(time.Hour),
		Runs: []views.TaskRun{{Status: "success", ThreadID: "t1", At: now()},
			{Status: "failed", At: now(), Error: "no credit"}}}, {ID: "b", Paused: true}}
}

// agentForm returns the form of a custom agent.
func agentForm(fresh bool) views.AgentForm {
	return views.AgentForm{New: fresh, Name: "code-reviewer", Description: "Reads pull requests",
		Soul: "You are strict about tests.", Models: []views.ModelChoice{{Name: "gpt-5", Label: "GPT-5"}},
		Groups:      []views.AgentGroup{{Name: "file:read", On: true}, {Name: "bash"}},
		Temperature: "3", Wrong: "temperature", Problem: "Enter a number from 0 to 2."}
}

// usage returns the usage of a just compacted chat.
func usage(s views.Shell) views.UsagePage {
	usd := func(n float64) []views.Money { return []views.Money{{Amount: n, Currency: "USD"}} }
	run := func(id, text string, ago time.Duration, in, out, cached int, cost float64) views.RunSpent {
		part := views.Spent{Name: "gpt-5.2", Calls: 7, Input: in, Output: out, Cached: cached, Money: usd(cost)}
		return views.RunSpent{ID: id, Text: text, At: now().Add(-ago), State: views.TurnDone, Sum: part,
			Parts: []views.Spent{part,
				{Purpose: "title", Calls: 1, Input: 310, Output: 9, Money: usd(0.0004)},
				{Purpose: "suggestions", Calls: 1, Input: 900, Output: 60}}}
	}
	return views.UsagePage{Shell: s, ThreadID: "t1", Title: "Heat pumps against gas boilers",
		Gauge: views.Gauge{Tokens: 11_300, Window: 128_000, About: true}, Hidden: 42,
		Notice: &views.Notice{Kind: views.NoticeGood,
			Text: "Compacted. 42 messages are now summarised; later ones are sent in full."},
		Sum: views.Spent{Calls: 31, Input: 412_000, Output: 23_100, Cached: 301_000, Money: usd(1.73)}, Unpriced: true,
		More: 3,
		Runs: []views.RunSpent{run("r2",
			"Compare the 10-year cost of a heat pump and a gas boiler for a 120 m² house in Lyon", 2*time.Minute,
			401_000, 22_400, 300_000, 1.7),
			run("r1", "", time.Hour, 11_000, 700, 1000, 0.03)},
		Beside: []views.Spent{{Purpose: "summary", Calls: 1, Input: 9000, Output: 600, Money: usd(0.02)}}}
}

// channels returns chat apps in all their states.
func channels() views.Channels {
	token := []views.ChannelField{{Name: "bot_token", Label: "Bot token", Secret: true, Saved: true},
		{Name: "bot_username", Label: "Bot username", Optional: true}}
	return views.Channels{MayChange: true, Apps: []views.ChannelApp{
		{Name: "telegram", Label: "Telegram", State: views.ChannelConnected, MayChange: true, Open: true,
			Bot: "@FawnBot", Fields: token, Since: now().Add(-3 * time.Hour), LastIn: now().Add(-time.Minute),
			LastOut: now(), Reconnects: 2,
			People: []views.ChannelPerson{{ID: "p1", Name: "Ada Lovelace", Account: "7", Since: now()}},
			Groups: []views.ChannelGroup{{Chat: "-100", Name: "Analytical engine", On: true},
				{Chat: "-101", Name: "Off topic"}},
			Offer: &views.ChannelOffer{Code: "J7Q2M4X6B3N5V8C1Z9K0L2P4R6", Minutes: 10, Since: 1,
				Link: "https://t.me/FawnBot?start=J7Q2M4X6B3N5V8C1Z9K0L2P4R6"}},
		{Name: "slack", Label: "Slack", State: views.ChannelNew, MayChange: true, Open: true,
			Fields: []views.ChannelField{{Name: "bot_token", Secret: true}, {Name: "app_token", Secret: true}},
			Test: &views.ChannelTest{OK: true, Bot: "fawn", Took: "120", App: "slack", Lacks: []views.ChannelLack{
				{Need: "files:read", Loses: "filesin"}, {Need: "reactions:read", Loses: "stop"}}}},
		{Name: "discord", Label: "Discord", State: views.ChannelFailed, MayChange: true, Open: true, Public: true,
			Fields: token[:1], Error: &views.Trouble{App: "discord", Label: "Discord", Cause: "token",
				Raw: "Discord does not accept the bot token."},
			Test: &views.ChannelTest{Why: &views.Trouble{App: "discord", Label: "Discord", Cause: "token",
				Need: "bot_token", Raw: "users/@me: 401: Unauthorized"}}},
		{Name: "feishu", Label: "Feishu", State: views.ChannelOff, MayChange: true, InFile: true},
		{Name: "wechat", Label: "WeChat", State: views.ChannelNew, MayChange: true, Open: true, Fields: token[:1], Trial: true,
			Test: &views.ChannelTest{OK: true, Bot: "fawn", Took: "120", App: "wechat"}},
	}, Undelivered: []views.Undelivered{{Run: "r1", App: "Telegram", Chat: "Ada Lovelace",
		Why: &views.Trouble{App: "telegram", Label: "Telegram", Cause: "chat",
			Raw: "Forbidden: bot was blocked"}, At: now()}}}
}
