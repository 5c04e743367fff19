package offline

import (
	"slices"
	"strings"

	"fawn/agent"
)

const setupTool = "setup_agent"

// setup creates an agent from the person's description, verbatim. If the first message has no description after its
// first paragraph, it asks for one. It returns nil outside of agent creation.
func (c *conversation) setup() *action {
	at := slices.IndexFunc(c.done, func(s step) bool { return s.tool == setupTool })
	switch {
	case at >= 0 && c.done[at].failed:
		return &action{text: c.pick("The agent could not be saved:", "无法保存智能体：") + "\n\n" +
			quoteText(c.done[at].result)}
	case at >= 0:
		return &action{text: c.pick("The agent is saved, with your words as its instructions. Talk to it right here from the next message on, or edit it on the Agents page.",
			"智能体已保存，你的原话就是它的指令。从下一条消息起就可以在这里与它对话，也可以在“智能体”页面修改。")}
	case !c.tools[setupTool] || len(c.said) == 0:
		return nil
	}
	_, first, _ := strings.Cut(c.said[0], "\n\n")
	soul := strings.TrimSpace(strings.Join(append([]string{first}, c.said[1:]...), "\n\n"))
	if soul == "" {
		return &action{text: c.pick("What should the agent do, and how should it work and sound? I'm not an AI: your answer becomes its instructions as it is.",
			"这个智能体要做什么？应该怎样工作、用什么语气？我不是 AI：你的回答会原样成为它的指令。")}
	}
	line, _, _ := strings.Cut(soul, "\n")
	var a action
	a.call(c, setupTool, map[string]any{"soul": soul, "description": agent.Head(line, 200)})
	return &a
}
