package offline

import (
	"cmp"
	"encoding/json"
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"
	"unicode"
)

const (
	searchTool = "search_documents"
	readTool   = "read_file"
)

// lookup answers a question about documents with quoted passages. It returns nil without such a question.
func (c *conversation) lookup() *action {
	if !c.asksQuestion() {
		return nil
	}
	files := c.named()
	if len(files) == 0 {
		files = c.fresh
	}
	if len(files) == 0 {
		files = c.known
	}
	files = slices.DeleteFunc(slices.Clone(files), isTable)
	switch n := pageIn(c.text); {
	case len(files) == 0:
		return nil
	case n > 0 && len(files) == 1 && c.tools[readTool]:
		return c.page(files[0], n)
	case c.tools[searchTool]:
		return c.passages(files)
	}
	return nil
}

// asksQuestion reports whether the message is a question rather than a request for a summary or chart.
func (c *conversation) asksQuestion() bool {
	text := strings.TrimSpace(c.text)
	if c.mentions("summar", "outline", "analy", "chart", "plot", "histogram", "describe", "概括", "总结", "摘要", "分析", "大纲",
		"图表") {
		return false
	}
	first, _, _ := strings.Cut(strings.ToLower(text), " ")
	return strings.HasSuffix(text, "?") || strings.HasSuffix(text, "？") ||
		slices.Contains([]string{"what", "which", "who", "when", "where", "how", "why", "find", "search"}, first) ||
		c.zh && c.mentions("什么", "哪", "谁", "多少", "怎么", "如何", "为什么", "何时", "查找", "搜索")
}

// pageIn returns the page that a text speaks of: "page 7", "p. 7", "slide 7", "第7页"; 0 when it speaks of none.
func pageIn(text string) int {
	words := strings.FieldsFunc(strings.ToLower(text),
		func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) })
	for i, w := range words {
		if _, rest, ok := strings.Cut(w, "第"); ok {
			digits := rest[:len(rest)-len(strings.TrimLeft(rest, "0123456789"))]
			if n, err := strconv.Atoi(digits); err == nil && strings.HasPrefix(rest[len(digits):], "页") {
				return n
			}
		}
		if i > 0 && slices.Contains([]string{"page", "p", "slide", "sheet", "chapter"}, words[i-1]) {
			if n, err := strconv.Atoi(w); err == nil && n > 0 {
				return n
			}
		}
	}
	return 0
}

// page reads one page of a document and repeats its weightiest sentences.
func (c *conversation) page(file string, n int) *action {
	a := &action{}
	at := slices.IndexFunc(c.done,
		func(s step) bool { return s.tool == readTool && s.args.Path == file && s.args.Page == n })
	if at < 0 {
		a.text = fmt.Sprintf(c.pick("Reading page %d…", "正在读取第 %d 页…"), n)
		a.call(c, readTool, map[string]any{"description": fmt.Sprintf(c.pick("read page %d", "读取第 %d 页"), n),
			"path": file, "page": n})
		return a
	}
	text := c.done[at].result
	if c.done[at].failed || strings.HasPrefix(text, "(") {
		a.text = c.closing(fmt.Sprintf(c.pick("`%s` has nothing to read there: %s", "`%s` 无法读取：%s"),
			code(path.Base(file)), quoteText(strings.TrimPrefix(text, "Error: "))))
		return a
	}
	where := placesOf(text)
	_, sentences, _ := scanText(text)
	var b strings.Builder
	fmt.Fprintf(&b, "**%s**\n", fmt.Sprintf(c.pick("From page %d, word for word", "第 %d 页（原文）"), n))
	for _, s := range best(sentences, 6) {
		fmt.Fprintf(&b, "\n- %s %s", quoteText(s.text), where.cite(file, s.line))
	}
	if len(sentences) == 0 {
		b.WriteString("\n" + fenced(clip(strings.TrimSpace(text), shownOutput)))
	}
	a.text = c.closing(b.String())
	return a
}

// passages searches documents for the words of the question and quotes the best matches.
func (c *conversation) passages(files []string) *action {
	a := &action{}
	at := slices.IndexFunc(c.done, func(s step) bool { return s.tool == searchTool })
	if at < 0 {
		names := []string{}
		for _, p := range files {
			names = append(names, path.Base(p))
		}
		a.text = c.pick("Searching the documents…", "正在搜索文档…")
		a.call(c, searchTool, map[string]any{"description": c.pick("search the documents", "搜索文档"),
			"query": clip(c.text, 500), "files": names, "limit": 4})
		return a
	}
	var found struct {
		Passages []struct{ Cite, File, Text string }
		Left     []struct{ File, Why string } `json:"files_not_searched"`
	}
	if c.done[at].failed || json.Unmarshal([]byte(c.done[at].result), &found) != nil {
		a.text = c.closing(fmt.Sprintf(c.pick("The documents couldn't be searched: %s", "无法搜索文档：%s"),
			quoteText(c.done[at].result)))
		return a
	}
	var b strings.Builder
	if len(found.Passages) == 0 {
		b.WriteString(c.pick("None of these words is in the documents.", "文档中没有这些词。"))
	} else {
		fmt.Fprintf(&b, "**%s**\n", c.pick("Passages that fit best, word for word", "最相关的段落（原文）"))
	}
	for _, p := range found.Passages {
		where, _ := strings.CutPrefix(p.Cite, p.File)
		fmt.Fprintf(&b, "\n- %s [%s%s]", quoteText(about(p.Text, c.text)), citable(p.File), where)
	}
	for _, l := range found.Left {
		fmt.Fprintf(&b, c.pick("\n\n`%s` couldn't be searched: %s.", "\n\n无法搜索 `%s`：%s。"), code(l.File),
			quoteText(l.Why))
	}
	a.text = c.closing(b.String())
	return a
}

// about returns the part of a passage that has most of the words of a question: up to two sentences, or a row of a
// table.
func about(passage, question string) string {
	_, sentences, _ := scanText(passage)
	for line := range strings.Lines(passage) {
		if line = strings.TrimSpace(line); strings.HasPrefix(line, "|") && !strings.HasPrefix(line, "| ---") {
			sentences = append(sentences, sentence{text: strings.ReplaceAll(strings.Trim(line, "| "), " | ", ", "),
				order: len(sentences)})
		}
	}
	if len(sentences) == 0 {
		return strings.Join(strings.Fields(passage), " ")
	}
	wanted := terms(question)
	for i, s := range sentences {
		lower := strings.ToLower(s.text)
		for w := range wanted {
			if strings.Contains(lower, w) {
				sentences[i].score++
			}
		}
	}
	slices.SortStableFunc(sentences, func(a, b sentence) int { return cmp.Compare(b.score, a.score) })
	best := sentences[:1]
	if len(sentences) > 1 && sentences[1].score > 0 && sentences[1].score == best[0].score {
		best = sentences[:2]
	}
	var text []string
	for _, s := range best {
		text = append(text, s.text)
	}
	return strings.Join(text, " … ")
}

// closing ends an answer with the sentence naming its author.
func (c *conversation) closing(text string) string {
	return text + "\n\n" + c.pick("*Found with fixed rules by the offline model, which isn't an AI. For an answer in its own words, connect a model.*",
		"*以上由离线模型按固定规则查找，它不是 AI。如需用自己的话作答，请接入一个模型。*")
}
