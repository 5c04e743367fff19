package offline

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Suggest returns up to n suggestions that this model can handle, based on the user's messages. said is ordered oldest
// first.
func Suggest(said []string, n int) []string {
	if len(said) == 0 {
		return nil
	}
	last := said[len(said)-1]
	c := &conversation{text: last, zh: chinese(last)}
	var list []string
	switch {
	case c.command() != "":
		list = []string{"run: ls -la", "run: df -h .", "run: env"}
	case c.asksForWork() && !c.mentions("summar", "outline", "概括", "总结", "摘要", "大纲"): // there are no charts for text
		list = []string{
			c.pick("Show the distribution as a histogram.", "用直方图显示分布。"),
			c.pick("Compare the groups as bars.", "用柱状图比较各组。"),
			c.pick("Show the trend as a line chart.", "用折线图显示趋势。"),
			c.pick("Summarise the uploaded files.", "总结已上传的文件。"),
		}
	default:
		list = []string{
			c.pick("What can you do without a model?", "没有连接模型时你能做什么？"),
			c.pick("Which files did I upload?", "我上传了哪些文件？"),
			"run: uname -a",
		}
	}
	list = slices.DeleteFunc(list, func(s string) bool { return slices.Contains(said, s) })
	return list[:min(len(list), n)]
}

// Polish tidies a draft: spaces, empty lines, a leading capital and a full stop at the end. Code, lists and commands
// are unchanged.
func Polish(text string) string {
	lines := strings.Split(strings.ReplaceAll(strings.TrimSpace(text), "\r\n", "\n"), "\n")
	var out []string
	fenced := false
	for _, line := range lines {
		fence := strings.HasPrefix(strings.TrimSpace(line), "```")
		switch {
		case fence || fenced || strings.HasPrefix(line, "    ") || strings.HasPrefix(line, "\t"):
			out = append(out, strings.TrimRight(line, " \t"))
		case strings.TrimSpace(line) == "" && len(out) > 0 && out[len(out)-1] == "":
		default:
			out = append(out, strings.Join(strings.Fields(line), " "))
		}
		fenced = fenced != fence
	}
	tidy := strings.Join(out, "\n")
	if tidy == "" || fenced || strings.Contains(tidy, "```") || (&conversation{text: tidy}).command() != "" {
		return tidy
	}
	first, size := utf8.DecodeRuneInString(tidy)
	if end, _, _ := strings.Cut(tidy, " "); unicode.IsLower(first) && !strings.ContainsAny(end, "/.:_-") {
		tidy = string(unicode.ToUpper(first)) + tidy[size:]
	}
	end, _ := utf8.DecodeLastRuneInString(tidy)
	if len(out) > 1 || !unicode.IsLetter(end) && !unicode.IsDigit(end) || strings.Contains(out[len(out)-1], "://") {
		return tidy
	}
	if chinese(tidy) {
		return tidy + "。"
	}
	return tidy + "."
}
