package offline

import (
	"slices"
	"strings"
)

// shownOutput limits the characters of a command's output in the answer; the step above shows all of it.
const shownOutput = 4000

// command returns the command of a message that begins with "run:", without a fence around it, or "".
func (c *conversation) command() string {
	text := strings.TrimSpace(c.text)
	if len(text) < 4 || !strings.EqualFold(text[:3], "run") {
		return ""
	}
	rest, ok := strings.CutPrefix(text[3:], ":")
	if !ok {
		if rest, ok = strings.CutPrefix(text[3:], "："); !ok {
			return ""
		}
	}
	rest = strings.TrimSpace(rest)
	if inside, ok := strings.CutPrefix(rest, "```"); ok {
		_, inside, _ = strings.Cut(inside, "\n")
		rest = strings.TrimSpace(strings.TrimSuffix(strings.TrimSpace(inside), "```"))
	}
	return rest
}

// perform runs the command once and repeats its output.
func (c *conversation) perform(command string) action {
	var a action
	at := slices.IndexFunc(c.done, func(s step) bool { return s.tool == "bash" })
	switch {
	case at >= 0:
		said := c.pick("The command ran in the sandbox:", "命令已在沙箱中运行：")
		if c.done[at].failed {
			said = c.pick("The command failed:", "命令执行失败：")
		}
		a.text = said + "\n\n" + fenced(clip(c.done[at].result, shownOutput))
	case !c.tools["bash"]:
		a.text = c.pick("Commands are disabled on this server: there's no `bash` tool. Run `fawn doctor` to see why.",
			"此服务器已禁用命令：没有 `bash` 工具。运行 `fawn doctor` 可查看原因。")
	default:
		a.text = c.pick("Running it in the sandbox…", "正在沙箱中运行…")
		a.call(c, "bash", map[string]any{"description": c.pick("run the command as given", "按原样运行命令"),
			"command": command})
	}
	return a
}

// fenced returns a code block with a fence longer than any inside.
func fenced(s string) string {
	fence := "```"
	for strings.Contains(s, fence) {
		fence += "`"
	}
	return fence + "\n" + strings.TrimRight(s, "\n") + "\n" + fence
}
