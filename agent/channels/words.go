package channels

import (
	"strings"
	"unicode/utf8"

	"fawn/agent/channels/chat"
)

// placeholder is the first text of a message that is edited later.
const placeholder = "…"

// Notes about a message for the model.
const (
	refusedFile = "(The file %s was not taken: %s)"
	sentFile    = "(Sent a file: %s)"
	forwarded   = "[Forwarded from %s]"
	unheard     = "(Sent a voice message, but %s)"
)

// words are the replies besides answers, in one language.
type words struct {
	stranger, tooLong, voice, sticker, unreadable, tooMany, allowed, notAllowed, guest, connected, badCode, codeGroup,
	fresh, nothing, noAnswer, noWeb, noModel, busy, goalSet, goalGone, noGoal, help string

	facts, model, models, more, goal                             string // with a parameter
	conversation, thread, modelIs, state, idle, working, waiting string // of /status
	lastError                                                    string

	filesOnly, noText, taskFailed, taskStopped, stopped, failed, failedAlone, notSent, tooLarge, mayMiss, moreComes, cutShort,
	inTheFile, queued, searching, reading, writing, doing, noReason, stop string
}

// wordsOf returns the texts for a language tag, English by default.
func wordsOf(tag string) words {
	base, _, _ := strings.Cut(strings.ToLower(strings.ReplaceAll(tag, "_", "-")), "-")
	if base == "zh" {
		return chinese()
	}
	return english()
}

// unread returns the answer to a message that contains only unsupported content.
func (w words) unread(c chat.Content) string {
	switch c {
	case chat.Voice:
		return w.voice
	case chat.Sticker:
		return w.sticker
	}
	return w.unreadable
}

// ended returns a sentence with an end.
func (w words) ended(text string) string {
	if r, _ := utf8.DecodeLastRuneInString(text); strings.ContainsRune(".。!?！？", r) {
		return text
	}
	return text + w.stop
}

// tool describes a running tool.
func (w words) tool(name string) string {
	switch {
	case name == "present_files" || name == "ask_clarification" || name == "write_todos":
		return ""
	case strings.Contains(name, "search"):
		return w.searching
	case strings.Contains(name, "fetch") || strings.HasPrefix(name, "read"):
		return w.reading
	case strings.HasPrefix(name, "write") || strings.Contains(name, "replace") || strings.Contains(name, "edit"):
		return w.writing
	}
	return w.doing
}

func english() words {
	return words{
		stranger:   "I only answer people with a connected account. Open Fawn, go to Settings → Channels, and connect yours.",
		tooLong:    "That message is too long for me. Please send it in parts, or as a file.",
		voice:      "I can't listen to voice messages. Please write to me, or send the recording as a file.",
		sticker:    "I can't make out stickers. Please tell me in words.",
		unreadable: "I can't read this kind of message. Please send it as text or as a file.",
		tooMany:    "That was a lot of messages. Please wait a few minutes before you write again.",
		allowed:    "I can answer in this group now. Mention me, or reply to one of my messages.",
		notAllowed: "I don't answer in this group yet. Someone with a connected account can let me: /allow",
		guest:      "Only people with a connected account can use this command.",
		connected:  "Your account is connected. Write to me, or send /help.",
		badCode:    "This code is not valid. It may have expired; get a new one in Fawn under Settings → Channels.",
		codeGroup:  "Never send a code to a group. This one can no longer be used; get a new one and send it to me in private.",
		fresh:      "This is a new conversation.",
		nothing:    "Nothing is running.",
		noAnswer:   "There is no answer yet that I could send again.",
		noWeb:      "This server has no public address.",
		noModel:    "There is no model of that name. Send /models to see which you can use.",
		busy:       "I am still working. Try again when I have answered.",
		goalSet:    "The goal is set. It counts from your next message on.",
		goalGone:   "There is no goal any more.",
		noGoal:     "There is no goal. Set one with /goal and what I should reach.",
		help: `/new – start a new conversation
/stop – stop what I am doing
/again – send the last answer again
/status – what I am doing
/models – the models, or choose one: /models NAME
/memory – how much I remember about you
/goal – set a goal: /goal TEXT, or /goal clear
/bootstrap – make an agent of your own
/link – this conversation in the browser
/allow – let me answer in a group
/help – this list`,

		facts:  "I remember %d facts about you.",
		model:  "This chat uses %s now.",
		models: "Several models match. Send /models and one of these names:",
		more:   "… and %d more. Send /models and part of a name to find them.",
		goal:   "Goal: %s",

		conversation: "Conversation: %s", thread: "Thread: %s", modelIs: "Model: %s", state: "State: %s", idle: "idle",
		working: "working", waiting: "Waiting messages: %d", lastError: "Last error: %s",

		filesOnly:   "Here are the files.",
		noText:      "I have no answer to that.",
		taskFailed:  "The task “%s” failed: %s",
		taskStopped: "The task “%s” was stopped.",
		stopped:     "Stopped.",
		failed:      "Something went wrong: %s Send /again to see the answer again, or just write.",
		failedAlone: "Something went wrong. Send /again to see the answer again, or just write.",
		notSent:     "%s could not be sent here.",
		tooLarge:    "%s is too large to send here.",
		mayMiss:     "My last message may be missing: /again",
		moreComes:   "The answer goes on. The rest comes when it is complete.",
		cutShort:    "The whole answer is in the file.",
		inTheFile:   "The whole answer is in the file. Its parts:",
		queued:      "Waiting for other conversations to end…",
		searching:   "Searching…", reading: "Reading…", writing: "Writing…", doing: "Working…",
		noReason: "no reason was given", stop: ".",
	}
}

func chinese() words {
	return words{
		stranger:   "我只回复已绑定账号的用户。请打开 Fawn，在“设置 → 聊天应用”中绑定你的账号。",
		tooLong:    "这条消息太长了，请分成几条发送，或以文件形式发送。",
		voice:      "我暂时无法收听语音消息。请发送文字，或将录音作为文件发送。",
		sticker:    "我看不懂表情贴纸，请用文字告诉我。",
		unreadable: "我无法读取这类消息，请以文字或文件形式发送。",
		tooMany:    "消息发送过于频繁，请过几分钟再试。",
		allowed:    "现在我可以在本群回复了。请 @ 我，或回复我的消息。",
		notAllowed: "我尚未获准在本群回复。已绑定账号的成员可发送 /allow 开启。",
		guest:      "只有已绑定账号的用户才能使用此命令。",
		connected:  "账号已绑定。直接给我发消息即可，发送 /help 查看命令。",
		badCode:    "绑定码无效，可能已过期。请在 Fawn 的“设置 → 聊天应用”中重新获取。",
		codeGroup:  "请勿在群里发送绑定码。此绑定码已失效，请重新获取并私聊发给我。",
		fresh:      "已开始新对话。",
		nothing:    "当前没有正在运行的任务。",
		noAnswer:   "还没有可以重发的回答。",
		noWeb:      "此服务器没有公开地址。",
		noModel:    "没有这个模型。发送 /models 查看可用模型。",
		busy:       "我正在处理中，请等我回答后再试。",
		goalSet:    "目标已设定，从你的下一条消息开始生效。",
		goalGone:   "目标已清除。",
		noGoal:     "尚未设定目标。发送 /goal 加目标内容即可设定。",
		help: `/new – 开始新对话
/stop – 停止当前任务
/again – 重发上一条回答
/status – 查看当前状态
/models – 查看可用模型；/models 名称 切换模型
/memory – 查看我记住了多少关于你的信息
/goal – 设定目标：/goal 内容；/goal clear 清除
/bootstrap – 创建自己的智能体
/link – 在浏览器中打开此对话
/allow – 允许我在群里回复
/help – 显示此列表`,

		facts:  "我记住了 %d 条关于你的信息。",
		model:  "此聊天现在使用 %s。",
		models: "有多个模型符合，请发送 /models 加以下名称之一：",
		more:   "… 还有 %d 个。发送 /models 加部分名称可查找。",
		goal:   "目标：%s",

		conversation: "对话：%s", thread: "对话 ID：%s", modelIs: "模型：%s", state: "状态：%s", idle: "空闲",
		working: "处理中", waiting: "排队消息：%d", lastError: "上次错误：%s",

		filesOnly:   "文件如下。",
		noText:      "我没有可以回答的内容。",
		taskFailed:  "任务“%s”失败：%s",
		taskStopped: "任务“%s”已停止。",
		stopped:     "已停止。",
		failed:      "出错了：%s发送 /again 可重新查看回答，也可以直接发消息。",
		failedAlone: "出错了。发送 /again 可重新查看回答，也可以直接发消息。",
		notSent:     "%s 无法发送到这里。",
		tooLarge:    "%s 太大，无法发送到这里。",
		mayMiss:     "我的上一条消息可能没有送达，发送 /again 可重新查看。",
		moreComes:   "回答尚未结束，完成后会发送其余部分。",
		cutShort:    "完整回答见文件。",
		inTheFile:   "完整回答见文件，内容包括：",
		queued:      "正在等待其他对话结束…",
		searching:   "正在搜索…", reading: "正在阅读…", writing: "正在写入…", doing: "正在处理…",
		noReason: "未说明原因", stop: "。",
	}
}
