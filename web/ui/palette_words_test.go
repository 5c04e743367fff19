package ui_test

import (
	"net/url"
	"regexp"
	"strings"
	"testing"
)

// phrase is what a person types, and the entry that is meant.
type phrase struct{ query, want string }

func englishWords() []phrase {
	return []phrase{
		{"skills", "Skills"}, {"install skill", "Install a skill"}, {"add a skill", "Install a skill"},
		{"usage", "Usage of this chat"}, {"cost", "Usage of this chat"}, {"billing", "Usage of all chats"},
		{"tokens", "Usage of this chat"}, {"compact", "Compact this chat"}, {"compress", "Compact this chat"},
		{"free up context", "Compact this chat"}, {"branch", "Branch from here"}, {"fork", "Branch from here"},
		{"web search", "Settings: Tools and web"}, {"google", "Settings: Tools and web"},
		{"tavily", "Settings: Tools and web"}, {"mcp", "Settings: MCP servers"}, {"connectors", "Settings: MCP servers"},
		{"mcp servers", "Settings: MCP servers"}, {"retry", "Regenerate"}, {"try again", "Regenerate"},
		{"clipboard", "Copy the answer"}, {"copy answer", "Copy the answer"}, {"abort", "Stop the run"},
		{"stop", "Stop the run"}, {"trash", "Delete"}, {"delete chat", "Delete"}, {"favourite", "Pin to the top"},
		{"pin", "Pin to the top"}, {"change title", "Rename"}, {"rename chat", "Rename"}, {"public link", "Share"},
		{"share", "Share"}, {"print", "Export as PDF"}, {"pdf", "Export as PDF"}, {"markdown", "Export as Markdown"},
		{"download json", "Export as JSON"}, {"download all files", "Download the files (.zip)"},
		{"zip", "Download the files (.zip)"}, {"dark mode", "Theme: dark"}, {"night", "Theme: dark"},
		{"light theme", "Theme: light"}, {"language", "Switch to Chinese (简体中文)"},
		{"chinese", "Switch to Chinese (简体中文)"}, {"cron", "Scheduled tasks"}, {"automation", "Scheduled tasks"},
		{"create a task", "New task"}, {"create agent", "New agent"}, {"assistants", "Agents"}, {"agents", "Agents"},
		{"switch model", "Model"}, {"add model", "Settings: Models"}, {"api key", "Settings: Models"},
		{"ollama", "Settings: Models"}, {"deep research", "Mode"}, {"hotkeys", "Keyboard shortcuts"},
		{"text size", "Settings: Appearance"}, {"telegram", "Settings: Channels"}, {"slack", "Settings: Channels"},
		{"security", "Settings: Sandbox"}, {"custom instructions", "Settings: Personalization"},
		{"memories", "Settings: Memory"}, {"temporary", "Temporary chat"}, {"incognito", "Temporary chat"}, {"archive", "Archive"}, {"archived", "Archived chats"}, {"label", "Tags"}, {"beginning", "First message"}, {"quote", "Ask about this"},
		{"export everything", "Settings: Data"}, {"backup", "Settings: Data"}, {"import", "Settings: Data"},
		{"alerts", "Settings: Notifications"}, {"licence", "Settings: About"}, {"version", "Settings: About"},
		{"upload", "Attach files"}, {"debug", "Inspect run"}, {"history", "All chats"}, {"swagger", "API reference"},
		{"restart sandbox", "Restart sandbox"}, {"new conversation", "New chat"}, {"preferences", "Settings"},
		{"dislike", "Bad answer"}, {"thinking", "Show or hide the steps"}, {"artifacts", "Show or hide the files"},
		{"edit message", "Edit your last message"}, {"sidebar", "Show or hide the sidebar"},
	}
}

func chineseWords() []phrase {
	return []phrase{
		{"技能", "技能"}, {"安装技能", "安装技能"}, {"添加技能", "安装技能"}, {"用量", "此对话的用量"}, {"费用", "此对话的用量"},
		{"账单", "全部对话的用量"}, {"压缩", "压缩此对话"}, {"上下文满了", "压缩此对话"}, {"分支", "从此处创建分支"},
		{"网络搜索", "设置: 工具与网络"}, {"搜索引擎", "设置: 工具与网络"}, {"mcp", "设置: MCP 服务器"}, {"插件", "技能"},
		{"重试", "重新生成"}, {"重新回答", "重新生成"}, {"复制回答", "复制回答"}, {"停止", "停止运行"}, {"停止生成", "停止运行"},
		{"删掉", "删除"}, {"删除对话", "删除"}, {"收藏", "置顶"}, {"修改标题", "重命名"}, {"分享链接", "分享"},
		{"打印", "导出为 PDF"}, {"pdf", "导出为 PDF"}, {"打包", "下载文件 (.zip)"}, {"夜间模式", "主题：深色"}, {"浅色", "主题：浅色"},
		{"english", "切换到 English（英文）"}, {"切换语言", "切换到 English（英文）"}, {"计划任务", "定时任务"}, {"创建任务", "新建任务"},
		{"创建智能体", "新建智能体"}, {"助手", "智能体"}, {"切换模型", "模型"}, {"添加模型", "设置: 模型"}, {"密钥", "设置: 模型"},
		{"深度研究", "模式"}, {"快捷键", "键盘快捷键"}, {"字号", "设置: 外观"}, {"飞书", "设置: 聊天应用"}, {"微信", "设置: 聊天应用"},
		{"隔离", "设置: 沙箱"}, {"自定义指令", "设置: 个性化"}, {"记忆", "设置: 记忆"}, {"备份", "设置: 数据"}, {"通知", "设置: 通知"},
		{"版本", "设置: 关于"}, {"上传文件", "添加附件"}, {"历史记录", "全部对话"}, {"无痕", "临时对话"}, {"归档", "归档"}, {"标签", "标签"},
	}
}

// TestThePaletteFindsWhatPeopleAskFor: of a table of phrases in both languages, all but two find the right entry first.
func TestThePaletteFindsWhatPeopleAskFor(t *testing.T) {
	w := open(t, says("One."))
	first := regexp.MustCompile(`<span class="grow">([^<]*)</span>`)
	all, missed := 0, 0
	for lang, list := range map[string][]phrase{"en": englishWords(), "zh-CN": chineseWords()} {
		for _, a := range list {
			all++
			found := w.get("/ui/palette?chat=1&q="+url.QueryEscape(a.query), "X-Fawn", "1", "Accept-Language", lang).body
			if m := first.FindStringSubmatch(found); m == nil || m[1] != a.want {
				missed++
				t.Logf("%q finds %q first, want %q", a.query, m, a.want)
			}
		}
	}
	if missed > 2 || all < 120 {
		t.Errorf("%d of %d phrases find something else first", missed, all)
	}
	if list := w.get("/ui/palette?q=retry", "X-Fawn", "1").body; strings.Contains(list, "Regenerate") {
		t.Error("a command of a chat is offered where there is none")
	}
	if list := w.get("/ui/palette?chat=1&q=", "X-Fawn", "1").body; strings.Contains(list, "Theme") {
		t.Error("without a query the list is long")
	}
}
