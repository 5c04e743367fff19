package offline

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"fawn/agent"
)

const (
	askTool    = "ask_clarification"
	maxChoices = 6
)

// question asks which file is meant if that is unclear: the task needs a file, and none of several is named, or none
// exists. It returns nil if everything is clear, if it was asked in this turn, or if no person can answer.
func (c *conversation) question(files []string) *action {
	if !c.tools[askTool] || slices.ContainsFunc(c.done, func(s step) bool { return s.tool == askTool }) {
		return nil
	}
	args := map[string]any{"clarification_type": "ambiguous_requirement"}
	switch {
	case len(files) == 0 && c.mentions("csv", "tsv", " file", "upload", "dataset", "文件", "表格"):
		args["clarification_type"] = "missing_info"
		args["context"] = c.pick("There are no files in this conversation yet.", "此对话中还没有文件。")
		args["question"] = c.pick("Which file should I work on? Upload it with your answer.", "要处理哪个文件？请在回答时上传。")
	case len(files) > 1 && len(c.fresh) == 0 && len(c.named()) == 0 &&
		!c.mentions("all", "both", "every", "each", "files", "compare", "全部", "所有", "都", "每", "比较", "对比"):
		choices := []string{}
		for _, p := range files {
			if len(choices) == maxChoices-1 {
				break
			}
			choices = append(choices, path.Base(p))
		}
		args["options"] = append(choices, c.pick("All of them", "全部"))
		args["context"] = fmt.Sprintf(c.pick("There are %d files.", "共有 %d 个文件。"), len(files))
		args["question"] = c.pick("Which file do you mean?", "你指的是哪个文件？")
	default:
		return nil
	}
	a := &action{}
	a.call(c, askTool, args)
	return a
}

func (c *conversation) mentions(words ...string) bool {
	lower := strings.ToLower(" " + c.text)
	return slices.ContainsFunc(words, func(w string) bool { return strings.Contains(lower, w) })
}

// asked returns the request that the question answered by the message at i was about, or "".
func asked(msgs []*agent.Message, i int) string {
	if i == 0 || msgs[i-1].Type != agent.TypeTool || msgs[i-1].Name != askTool {
		return ""
	}
	for _, m := range slices.Backward(msgs[:i]) {
		if m.Type == agent.TypeHuman && m.Genuine() {
			return m.Content.String()
		}
	}
	return ""
}
