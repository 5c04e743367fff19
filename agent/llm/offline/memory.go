package offline

import "strings"

// noted confirms a fact to remember. Package memory stores it once the chat has been quiet for a while,
// unless memory is off; the model can't know.
func (c *conversation) noted(wishes []string) string {
	var b strings.Builder
	b.WriteString(c.pick("Noted. Unless memory is off, these words are kept when this chat has been quiet for a moment:",
		"好的。只要记忆功能已开启，这个对话安静片刻后，就会把这些话记下来："))
	b.WriteString("\n")
	for _, w := range wishes {
		b.WriteString("\n- " + quoteText(w))
	}
	b.WriteString(c.pick("\n\nSettings → Memory shows what is remembered; you can change and delete it there.",
		"\n\n在“设置 → 记忆”中可以查看、修改和删除已记住的内容。"))
	return b.String()
}
