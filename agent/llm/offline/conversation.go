package offline

import (
	"encoding/json"
	"path"
	"slices"
	"strconv"
	"strings"

	"fawn/agent"
)

const (
	uploads = "/mnt/user-data/uploads"
	outputs = "/mnt/user-data/outputs"
)

// conversation is a request from the rules' point of view: the person's request, the known files, and the steps so far.
type conversation struct {
	text    string         // the user's message of the current turn
	said    []string       // the user's messages of all turns, oldest first
	zh      bool           // answer in Chinese
	fresh   []string       // paths of files that came with this turn
	known   []string       // paths of all files mentioned so far, oldest first
	sizes   map[string]int // sizes in bytes of files, where listed
	done    []step         // calls of this turn and their results
	reports int            // earlier turns that wrote a report
	sole    string         // the only file given to a helper
	lastID  string
	tools   map[string]bool
}

// step is a call with its result.
type step struct {
	tool   string
	args   args
	result string
	failed bool
}

// args are the arguments of the tools this model calls.
type args struct {
	Path      string       `json:"path"`
	Start     int          `json:"start_line"`
	End       int          `json:"end_line"`
	Page      int          `json:"page"`
	Prompt    string       `json:"prompt"`
	Filepaths []string     `json:"filepaths"`
	Todos     []agent.Todo `json:"todos"`
}

// read parses a request.
func read(req *agent.Request) *conversation {
	c := &conversation{tools: map[string]bool{}, sizes: map[string]int{}}
	for _, t := range req.Tools {
		c.tools[t.Name] = true
	}
	own := slices.DeleteFunc(slices.Clone(req.Messages),
		func(m *agent.Message) bool { return strings.HasPrefix(m.ID, "note:") })
	current := -1
	for i, m := range own {
		c.lastID = m.ID
		if m.Type != agent.TypeHuman || !m.Genuine() {
			continue
		}
		current = i
		c.text, c.fresh = c.split(m.Content.String())
		c.said = append(c.said, c.text)
		if before := asked(own, i); before != "" {
			before, _ = c.split(before)
			c.text = before + "\n" + c.text
		}
	}
	for _, m := range req.Messages { // notes next to a message count like those inside it
		if strings.HasPrefix(m.ID, "note:") {
			c.split(m.Content.String())
		}
	}
	c.zh = chinese(c.text)
	if current < 0 {
		return c
	}
	before, now := steps(own[:current]), steps(own[current:])
	c.done = now
	seen := map[string]bool{}
	for _, s := range before {
		if s.tool == "write_file" && strings.HasPrefix(s.args.Path, outputs+"/report") && !s.failed &&
			!seen[s.args.Path] {
			seen[s.args.Path] = true
			c.reports++
		}
	}
	return c
}

// steps pairs calls with their results.
func steps(msgs []*agent.Message) []step {
	var out []step
	at := map[string]int{}
	for _, m := range msgs {
		for _, call := range m.ToolCalls {
			s := step{tool: call.Name, failed: true, result: agent.InterruptedResult}
			if json.Unmarshal(call.Args, &s.args) != nil {
				continue
			}
			at[call.ID] = len(out)
			out = append(out, s)
		}
		if i, ok := at[m.ToolCallID]; ok && m.Type == agent.TypeTool {
			out[i].result = m.Content.String()
			out[i].failed = m.Status == "error" || strings.HasPrefix(out[i].result, "Error")
		}
	}
	return out
}

// split separates a message from the server's blocks before it, and reads the files of a list of uploads. It drops the
// marker lines.
func (c *conversation) split(s string) (text string, files []string) {
	for {
		s = strings.TrimLeft(s, " \t\r\n")
		name, rest, ok := strings.Cut(strings.TrimPrefix(s, "<"), ">")
		if !strings.HasPrefix(s, "<") || !ok || name == "" || strings.ContainsAny(name, " \n</") {
			return agent.UnmarkInput(s), files
		}
		inside, after, ok := strings.Cut(rest, "</"+name+">")
		if !ok {
			return agent.UnmarkInput(s), files
		}
		if name == "uploaded_files" || name == "current_uploads" {
			files = append(files, c.learn(inside)...)
		}
		s = after
	}
}

// learn reads a list of uploads: a line with name and size, then one with the path.
func (c *conversation) learn(list string) (files []string) {
	size := 0
	for line := range strings.Lines(list) {
		line = strings.TrimSpace(line)
		if strings.HasPrefix(line, "- ") {
			size = sizeIn(line)
		}
		p, ok := strings.CutPrefix(line, "Path: ")
		if p = agent.Unescape(strings.TrimSpace(p)); !ok || p == "" {
			continue
		}
		files = append(files, p)
		if size > 0 {
			c.sizes[p] = size
		}
		if !slices.Contains(c.known, p) {
			c.known = append(c.known, p)
		}
	}
	return files
}

// sizeIn reads a size such as (123.4 KB) at the end of a line, in bytes; 0 without one.
func sizeIn(line string) int {
	at := strings.LastIndexByte(line, '(')
	if at < 0 {
		return 0
	}
	number, unit, _ := strings.Cut(strings.TrimSuffix(line[at+1:], ")"), " ")
	v, err := strconv.ParseFloat(number, 64)
	if err != nil || v < 0 || v > 1e6 {
		return 0
	}
	switch unit {
	case "KB":
		return int(v*(1<<10)) + 1<<10
	case "MB":
		return int(v*(1<<20)) + 1<<18
	}
	return 0
}

// wanted selects the files of the request: those named in the message, else those attached to it, else all if the
// request is about files.
func (c *conversation) wanted() []string {
	switch named := c.named(); {
	case len(named) > 0:
		return named
	case len(c.fresh) > 0:
		return c.fresh
	case c.asksForWork():
		return c.known
	}
	return nil
}

// named returns the known files whose names occur in the message.
func (c *conversation) named() (named []string) {
	lower := strings.ToLower(c.text)
	for _, p := range c.known {
		if strings.Contains(c.text, p+" ") || strings.Contains(c.text, p+"，") { // the file of a helper, and no other
			c.sole = p
			return []string{p}
		}
	}
	for _, p := range c.known {
		base := strings.ToLower(path.Base(p))
		stem := strings.TrimSuffix(base, path.Ext(base))
		if strings.Contains(lower, base) || len(stem) >= 4 && strings.Contains(lower, stem) {
			named = append(named, p)
		}
	}
	return named
}

// asksForWork reports whether the words request work on files.
func (c *conversation) asksForWork() bool {
	lower := strings.ToLower(c.text)
	for _, w := range []string{"analy", "summar", "report", "chart", "plot", "graph", "histogram", "statistic",
		"describe", "compare", "distribution", "average", "median", "trend", "upload", " file", "csv", "tsv", "table",
		"dataset", "outline", "分析", "总结", "摘要", "报告", "图", "统计", "文件", "表", "数据", "概括", "大纲", "比较", "对比", "分布",
		"平均", "趋势"} {
		if strings.Contains(lower, w) {
			return true
		}
	}
	return false
}

// listed reads the files from an ls of the uploads, if there was one.
func (c *conversation) listed() (files []string, asked bool) {
	for _, s := range c.done {
		if s.tool != "ls" || s.args.Path != uploads {
			continue
		}
		asked = true
		for line := range strings.Lines(s.result) {
			p := strings.TrimSpace(line)
			if !s.failed && strings.HasPrefix(p, uploads+"/") && !strings.HasSuffix(p, "/") {
				files = append(files, p)
			}
		}
	}
	return files, asked
}

// pick returns en or zh, by the language of the turn.
func (c *conversation) pick(en, zh string) string {
	if c.zh {
		return zh
	}
	return en
}

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
