package ui_test

import (
	"net/url"
	"regexp"
	"testing"

	"fawn/web/webtest"
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
		{"find a chat", "All chats"}, {"search history", "All chats"}, {"old chats", "All chats"},
		{"rag", "Knowledge"}, {"handbook", "Knowledge"}, {"new collection", "New collection"},
		{"workspace", "Projects"}, {"new project", "New project"}, {"move chat to folder", "Move to project"},
		{"snippets", "Prompts"}, {"prompt library", "Prompts"}, {"save a prompt", "New prompt"},
		{"reminders", "Scheduled tasks"}, {"every morning", "New task"}, {"gpt", "Model"}, {"change model", "Model"},
		{"use claude", "Model"}, {"openai key", "Settings: Models"}, {"connect a model", "Settings: Models"},
		{"local llm", "Settings: Models"}, {"side by side", "Compare models"}, {"compare answers", "Compare models"},
		{"think harder", "Mode"}, {"reasoning effort", "Mode"}, {"turn off memory", "Settings: Memory"},
		{"forget me", "Settings: Memory"}, {"what do you know about me", "Settings: Memory"},
		{"personality", "Settings: Personalization"}, {"system prompt", "Settings: Personalization"},
		{"whatsapp", "Settings: Channels"}, {"discord bot", "Settings: Channels"},
		{"import chatgpt", "Settings: Data"}, {"restore backup", "Settings: Data"},
		{"desktop notifications", "Settings: Notifications"}, {"font size", "Settings: Appearance"},
		{"bigger text", "Settings: Appearance"}, {"password", "Settings: Accounts"},
		{"network access", "Settings: Sandbox"}, {"image generation", "Settings: Tools and web"},
		{"text to speech", "Settings: Tools and web"}, {"duplicate chat", "Branch from here"},
		{"send link", "Share"}, {"save all files", "Download the files (.zip)"},
		{"summarize chat", "Compact this chat"}, {"how much did it cost", "Usage of this chat"},
		{"statistics", "Usage of all chats"}, {"logs", "Inspect run"}, {"report bad answer", "Bad answer"},
		{"jump to top", "First message"}, {"hide chat", "Archive"}, {"private chat", "Temporary chat"},
		{"kill process", "Restart sandbox"}, {"help", "Keyboard shortcuts"}, {"switch to dark", "Theme: dark"},
		{"auto theme", "Theme: system"}, {"rest api", "API reference"}, {"report a bug", "Settings: About"},
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
		{"搜索对话", "全部对话"}, {"查找历史", "全部对话"}, {"文档检索", "知识库"},
		{"新建知识库", "新建文档集"}, {"文件夹", "项目"}, {"新建项目", "新建项目"},
		{"提示词模板", "提示词"}, {"新建提示词", "新建提示词"}, {"提醒", "定时任务"},
		{"换模型", "模型"}, {"对比", "对比模型"}, {"并排", "对比模型"}, {"推理强度", "模式"},
		{"关闭记忆", "此对话的记忆"}, {"忘掉我", "设置: 记忆"}, {"人设", "设置: 个性化"},
		{"钉钉", "设置: 聊天应用"}, {"导入", "设置: 数据"}, {"导出全部", "设置: 数据"},
		{"桌面通知", "设置: 通知"}, {"字体大小", "设置: 外观"}, {"密码", "设置: 账户"},
		{"网络权限", "设置: 沙箱"}, {"画图", "设置: 工具与网络"},
		{"语音", "设置: 工具与网络"}, {"公开链接", "分享"}, {"总结对话", "压缩此对话"},
		{"花了多少钱", "此对话的用量"}, {"统计", "全部对话的用量"}, {"日志", "运行详情"},
		{"回到顶部", "第一条消息"}, {"隐藏对话", "归档"}, {"无痕模式", "临时对话"},
		{"重启", "重启沙箱"}, {"帮助", "键盘快捷键"}, {"跟随系统", "主题：跟随系统"},
		{"接口文档", "API 参考"}, {"报告问题", "设置: 关于"},
	}
}

// TestThePaletteFindsWhatPeopleAskFor: of a table of phrases in both languages, all but two in a hundred find the right entry first.
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
	if missed > all/50 || all < 230 {
		t.Errorf("%d of %d phrases find something else first", missed, all)
	}
	webtest.Holds(t, "a command of a chat is offered where there is none", w.get("/ui/palette?q=retry", "X-Fawn", "1").body, "!Regenerate")
	webtest.Holds(t, "without a query the list is long", w.get("/ui/palette?chat=1&q=", "X-Fawn", "1").body, "!Theme")
}
